import type { JsonObject } from "../../lib/json-object.ts";
import { textOf } from "./text-of.ts";

/** "3 added, 1 moved, 2 failed" of one source, or of all of them together; "" where nobody knows whether anything changed. */
export function sayItems(counts: Readonly<JsonObject>): string {
  if (typeof counts["items_total"] !== "number") return "";
  const parts = ["added", "changed", "moved", "removed", "failed"].flatMap((word) => {
    const count = counted(counts, `items_${word}`);
    return typeof count === "number" && count > 0 ? [`${count} ${word}`] : [];
  });
  if (parts.length > 0) return parts.join(", ");
  return counts["complete"] === false || counts["ok"] === false ? "" : "nothing changed";
}

export function countOf(counts: Readonly<JsonObject>, name: string): string {
  return textOf(counted(counts, name)) || "–";
}

/** Reports count what moved among what changed, too; early ones tell no moves apart. */
function counted(counts: Readonly<JsonObject>, name: string): unknown {
  const { [name]: count, items_moved: moved } = counts;
  const isBoth = name === "items_changed" && typeof count === "number" && typeof moved === "number";
  return isBoth ? count - moved : count;
}

export function reportAddress(action: "get" | "download" | "delete", reportId: unknown): string {
  return `/v2/reports/${action}?report_id=${encodeURIComponent(textOf(reportId))}`;
}

export function fileAddress(reportId: unknown, path: string): string {
  return `/v2/reports/file?report_id=${encodeURIComponent(textOf(reportId))}&file_path=${encodeURIComponent(path)}`;
}
