import { createHash } from "node:crypto";
import { close, createReadStream, open, read, write } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isErrno } from "../../../lib/atomic-file.ts";
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

/**
 * The columns of an export: ID, Title, the list's own in alphabetical order, Created, Modified, Author, Editor. The six
 * are found by their places, because their titles are in the language of the site.
 */
export const ID_AT = 0;
export const TITLE_AT = 1;
export const OWN_FROM = 2;
/** Created, Modified, Author and Editor, counted from the end. */
export const TAIL = 4;
export const MIN_COLUMNS = OWN_FROM + TAIL;

/** At the end of the title of a column of moments: SharePoint shows them in the time of the site, we write them in UTC. */
export const UTC_MARK = "[UTC]";

/** undefined when the row is not that of an item. */
export function rowId(cells: readonly string[]): number | undefined {
  const id = Number(cells[ID_AT]);
  return Number.isSafeInteger(id) && id > 0 ? id : undefined;
}

const openFile = promisify(open);
const readFile = promisify(read);
const writeFile = promisify(write);
const closeFile = promisify(close);
const PIECE_BYTES = 256 * 1024;

/**
 * Rows on their way from a listing to its export, on disk because they may be many. The file has no name any more once
 * it is open, so that it is gone with the process, however that ends. A spool nobody closes is closed when it is
 * forgotten: a dry run lists and never exports.
 */
export class RowSpool {
  readonly #file: number;
  readonly #ids = new Set<number>();
  #length = 0;
  #closed = false;

  private constructor(file: number) {
    this.#file = file;
    forgotten.register(this, file, this);
  }

  static async open(): Promise<RowSpool> {
    const folder = await mkdtemp(join(tmpdir(), "lockstep-list-"));
    try {
      return new RowSpool(await openFile(join(folder, "rows"), "wx+", 0o600));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Encoded rows, and the items they are of. */
  async append(rows: string, ids: Iterable<number>): Promise<void> {
    for (const id of ids) this.#ids.add(id);
    const bytes = Buffer.from(rows);
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await writeFile(this.#file, bytes, at, bytes.length - at, this.#length);
      at += bytesWritten;
      this.#length += bytesWritten;
    }
  }

  has(id: number): boolean {
    return this.#ids.has(id);
  }

  /** Everything appended so far, as it was. */
  async *read(): AsyncGenerator<Uint8Array, void> {
    for (let at = 0; at < this.#length; ) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, this.#length - at));
      const { bytesRead } = await readFile(this.#file, piece, 0, piece.length, at);
      if (bytesRead === 0) throw new Error(`read listed rows: the file ends after ${at} of ${this.#length} bytes`);
      at += bytesRead;
      yield piece.subarray(0, bytesRead);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    forgotten.unregister(this);
    await closeFile(this.#file);
  }
}

const forgotten = new FinalizationRegistry((file: number) => close(file));

const ENDING = ".csv";
/** As much as fits on every disk, with room for what the mirror may append. */
const MAX_NAME_BYTES = 200;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be kept out.
const NOT_IN_NAMES = /[\u0000-\u001f\u007f"*:<>?|\\/%]|^[. ]|[. ]$/g;
const RESERVED_ON_WINDOWS = /^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/** The file of a list's export. Characters no disk allows are percent-encoded, so that the title can be read back. */
export function listFileName(title: string): string {
  const name = title
    .toWellFormed()
    .replaceAll(NOT_IN_NAMES, percent)
    .replace(RESERVED_ON_WINDOWS, (word) => percent(word.charAt(0)) + word.slice(1));
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name + ENDING;
  const letters = Array.from(name);
  while (Buffer.byteLength(letters.join("")) > MAX_NAME_BYTES) letters.pop();
  const hash = createHash("sha256").update(title).digest("hex").slice(0, 8);
  return `${letters.join("").replace(/%.?$/, "")}~${hash}${ENDING}`;
}

/** The title a file is named after; shortened if it had to be. */
export function listTitleOf(fileName: string): string {
  const name = fileName.endsWith(ENDING) ? fileName.slice(0, -ENDING.length) : fileName;
  return name.replaceAll(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/**
 * The rows of a listing as one file in the order of their ids, those to be kept from an earlier export among them. A row
 * that was listed comes from the listing, whatever is to be kept.
 */
export async function* exportTable(
  titles: readonly string[],
  spool: RowSpool,
  earlier: { readonly path: string | undefined; readonly keep: ReadonlySet<number> },
): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(encodeTableRow(titles));
  const missing = new Set([...earlier.keep].filter((id) => !spool.has(id)));
  if (earlier.path === undefined || missing.size === 0) {
    yield* spool.read();
    return;
  }
  const retained = readRetained(earlier.path, missing, titles);
  let next = await retained.next();
  for await (const rows of readTable(spool.read())) {
    let text = "";
    for (const cells of rows) {
      for (; !next.done && next.value.id < (rowId(cells) ?? 0); next = await retained.next()) text += next.value.text;
      text += encodeTableRow(cells);
    }
    yield Buffer.from(text);
  }
  for (; !next.done; next = await retained.next()) yield Buffer.from(next.value.text);
}

interface RetainedRow {
  readonly id: number;
  readonly text: string;
}

/**
 * The wanted rows of an earlier export, their values below the titles of now. An export that is not there or makes no
 * sense has none: their documents are made already, and processing says so where they are not.
 */
async function* readRetained(
  path: string,
  wanted: Set<number>,
  titles: readonly string[],
): AsyncGenerator<RetainedRow, void> {
  let before: readonly string[] | undefined;
  let remap = (cells: readonly string[]): readonly string[] => cells;
  try {
    for await (const rows of readTableFile(path)) {
      for (const cells of rows) {
        if (!before) {
          if (cells.length < MIN_COLUMNS) return;
          before = cells;
          remap = columnMapper(cells, titles);
          continue;
        }
        const id = cells.length === before.length ? rowId(cells) : undefined;
        if (id !== undefined && wanted.delete(id)) yield { id, text: encodeTableRow(remap(cells)) };
      }
    }
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}

/** SharePoint's own columns by place, because their titles follow the site's language; the list's own by title. */
function columnMapper(before: readonly string[], now: readonly string[]): (cells: readonly string[]) => string[] {
  const byTitle = new Map(before.slice(OWN_FROM, -TAIL).map((title, at) => [title, at + OWN_FROM]));
  const positions = now.map((title, at) => {
    if (at < OWN_FROM) return at;
    if (at >= now.length - TAIL) return at - now.length + before.length;
    return byTitle.get(title);
  });
  return (cells) => positions.map((position) => (position === undefined ? "" : (cells[position] ?? "")));
}
