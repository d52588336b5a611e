import { createHash } from "node:crypto";
import type { IngestItem } from "../../../contracts/registry.ts";
import type { VisitorParts } from "./create-page-visitor.ts";

/** What an answer was read with, beside the reader. */
export type ReadWith =
  /** Nothing else matters. */
  | "reader"
  /** Its scripts did not run: with a browser there is more to read. */
  | "no browser"
  /** Nobody read it, because its type was not accepted. */
  | "accepted types"
  /** It was refused for what its headers said alone. */
  | "headers";

const ALL_WAYS: readonly ReadWith[] = ["reader", "no browser", "accepted types", "headers"];

/** Changes when the same answer would be read otherwise; "" when it may say something else each time it is read. */
export function readingRevision(parts: VisitorParts, how: ReadWith): string {
  const { revision } = parts.reader;
  if (how === "reader") return revision;
  if (how === "no browser") return parts.renderer ? "" : `${revision} without a browser`;
  if (how === "headers") return `${revision} by its headers`;
  return `${revision} for ${digestOf(parts.acceptedTypes)}`;
}

/** Would it be read again as it was? */
export function isReadAlike({ content }: IngestItem, parts: VisitorParts): boolean {
  const now = ALL_WAYS.map((how) => readingRevision(parts, how));
  return content.readerRevision !== "" && now.includes(content.readerRevision);
}

/** Then the page may be indexed as soon as they do not say so any more. */
export function isRefusedByHeader({ content }: IngestItem, parts: VisitorParts): boolean {
  return content.readerRevision === readingRevision(parts, "headers");
}

const digests = new WeakMap<ReadonlySet<string>, string>();

function digestOf(types: ReadonlySet<string>): string {
  const known = digests.get(types);
  if (known) return known;
  const digest = createHash("sha256")
    .update([...types].sort().join())
    .digest("hex")
    .slice(0, 8);
  digests.set(types, digest);
  return digest;
}
