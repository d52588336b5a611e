import { decodeCsvRow } from "../../lib/csv.ts";
import type { TableBytes } from "./table-bytes.ts";

const COMMA = 44;
const QUOTE = 34;

/** One field of the record from `start` up to `end`, "" when it has not so many. */
export function fieldInRow(bytes: TableBytes, start: number, end: number, column: number): string {
  const view = bytes.view(start, end);
  let from = bytes.offset;
  const to = from + end - start;
  let [at, inQuotes, fields] = [from, false, 0];
  for (; at < to; at++) {
    const byte = view[at];
    if (byte === QUOTE) inQuotes = !inQuotes;
    if (byte !== COMMA || inQuotes) continue;
    if (fields === column) break;
    fields += 1;
    from = at + 1;
  }
  if (fields < column) return "";
  const text = view.toString("utf8", from, at);
  return view[from] === QUOTE ? (decodeCsvRow(text)[0] ?? "") : text;
}
