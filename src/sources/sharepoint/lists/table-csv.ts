import { createReadStream } from "node:fs";
import { decodeCsvRow } from "../../../lib/csv.ts";

/**
 * The export of a list: UTF-8, LF, a header of column titles. Unlike a map file it is opened in spreadsheets, so a text
 * that could be taken for a formula is quoted.
 */

const NEEDS_QUOTES = /[",\r\n]|^[=+\-@\t]/;
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;
/** SharePoint allows 2 GB in a multiline column; nobody writes a row of this length. */
const MAX_RECORD_LENGTH = 64 * 1024 * 1024;

/** With its line end. */
export function encodeTableRow(cells: readonly string[]): string {
  return `${cells.map(encodeCell).join(",")}\n`;
}

function encodeCell(cell: string): string {
  return NEEDS_QUOTES.test(cell) && !NUMBER.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** The rows of a file in its order, the header first, in handfuls. Also reads what a spreadsheet made of it (BOM, CRLF). */
export async function* readTableFile(path: string, signal?: AbortSignal): AsyncGenerator<string[][], void> {
  yield* readTable(createReadStream(path, signal ? { signal } : {}));
}

export async function* readTable(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string[][], void> {
  const decoder = new TextDecoder();
  const records = new RecordReader();
  for await (const piece of pieces) {
    const rows = records.take(decoder.decode(piece, { stream: true }));
    if (rows.length > 0) yield rows;
  }
  const rest = [...records.take(decoder.decode()), ...records.end()];
  if (rest.length > 0) yield rest;
}

/** Cuts text into records. A line end inside quotes is part of the value, and quotes inside quotes are doubled. */
class RecordReader {
  #unread = "";
  /** Where the search for the next line end goes on, and whether that is inside quotes. */
  #at = 0;
  #quoted = false;

  take(text: string): string[][] {
    this.#unread += text;
    const rows: string[][] = [];
    let start = 0;
    for (; this.#at < this.#unread.length; this.#at += 1) {
      const code = this.#unread.charCodeAt(this.#at);
      if (code === QUOTE) this.#quoted = !this.#quoted;
      if (code !== FEED || this.#quoted) continue;
      rows.push(...toRow(this.#unread.slice(start, this.#at)));
      start = this.#at + 1;
    }
    this.#unread = this.#unread.slice(start);
    this.#at -= start;
    if (this.#unread.length > MAX_RECORD_LENGTH) throw new Error("a row is too long, or a quote is missing");
    return rows;
  }

  end(): string[][] {
    return toRow(this.#unread);
  }
}

const QUOTE = 0x22;
const FEED = 0x0a;

function toRow(record: string): string[][] {
  const text = record.endsWith("\r") ? record.slice(0, -1) : record;
  return text === "" ? [] : [decodeCsvRow(text)];
}
