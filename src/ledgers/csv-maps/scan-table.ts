import { decodeCsvRow, encodeCsvRow } from "../../lib/csv.ts";
import { RecordScanner } from "./record-scanner.ts";
import { CorruptTableError, type TableShape } from "./row-table.ts";
import type { TableBytes } from "./table-bytes.ts";

const CR = 13;
const SCANNED_AT_ONCE = 1024 * 1024;

/** Hears of every row: where it begins and ends, without its line end, and whether that is one as we write them. */
export type HearRow = (key: string, start: number, end: number, endsWell: boolean) => void;

/** One pass over the bytes, window by window: record borders, field counts, keys. No bytes are an empty table. Throws CorruptTableError. */
export function scanTable(shape: TableShape, bytes: TableBytes, hear: HearRow): void {
  let row = -1;
  let at = startsWithBom(bytes) ? 3 : 0;
  for (let size = SCANNED_AT_ONCE; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + size);
    const window = bytes.view(at, end).subarray(bytes.offset, bytes.offset + end - at);
    const scanner = new RecordScanner(window, shape.key);
    let start = 0;
    for (; scanner.next < window.length; start = scanner.next) {
      scanner.scan();
      if (!scanner.closed) break;
      if (row < 0) checkHeader(window.toString("utf8", start, scanner.end), shape);
      else {
        const key = readKey(row, start, scanner, window, shape);
        hear(key, at + start, at + scanner.end, window[scanner.end] === CR);
      }
      row += 1;
    }
    if (!scanner.closed && end === bytes.length) throw new CorruptTableError("the last row is cut");
    // A record that is longer than the window.
    size = start === 0 ? size * 2 : SCANNED_AT_ONCE;
    at += start;
  }
  if (row < 0 && bytes.length > 0) throw new CorruptTableError("the header is missing");
}

function checkHeader(text: string, { columns }: TableShape): void {
  const found = decodeCsvRow(text);
  if (found.length === columns.length && found.every((name, i) => name === columns[i])) return;
  throw new CorruptTableError(`the header is not '${encodeCsvRow(columns)}'`);
}

function readKey(row: number, start: number, record: RecordScanner, window: Buffer, shape: TableShape): string {
  if (record.fields !== shape.columns.length) {
    throw new CorruptTableError(`row ${row + 2} has ${record.fields} fields instead of ${shape.columns.length}`);
  }
  const key = record.quoted
    ? (decodeCsvRow(window.toString("utf8", start, record.end))[shape.key] ?? "")
    : window.toString("utf8", record.keyStart, record.keyEnd);
  if (key === "") throw new CorruptTableError(`row ${row + 2} has no ${shape.columns[shape.key]}`);
  return key;
}

function startsWithBom(bytes: TableBytes): boolean {
  if (bytes.length < 3) return false;
  const [a, b, c] = bytes.view(0, 3).subarray(bytes.offset);
  return a === 0xef && b === 0xbb && c === 0xbf;
}
