import type { JsonObject } from "../../lib/json-object.ts";
import { textOf } from "./text-of.ts";

/** "3 added, 1 changed, 2 failed" of one source, or of all of them together. */
export function sayItems(counts: Readonly<JsonObject>): string {
  if (typeof counts["items_total"] !== "number") return "";
  const parts = ["added", "changed", "removed", "failed"].flatMap((word) => {
    const count = counts[`items_${word}`];
    return typeof count === "number" && count > 0 ? [`${count} ${word}`] : [];
  });
  return parts.length > 0 ? parts.join(", ") : "nothing changed";
}

export function countOf(counts: Readonly<JsonObject>, name: string): string {
  return textOf(counts[name]) || "–";
}

export function reportAddress(action: "get" | "download" | "delete", reportId: unknown): string {
  return `/v2/reports/${action}?report_id=${encodeURIComponent(textOf(reportId))}`;
}

export function fileAddress(reportId: unknown, path: string): string {
  return `/v2/reports/file?report_id=${encodeURIComponent(textOf(reportId))}&file_path=${encodeURIComponent(path)}`;
}
