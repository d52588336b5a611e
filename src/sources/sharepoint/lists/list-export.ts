import { close, createReadStream, open, read, write } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isErrno } from "../../../lib/atomic-file.ts";
import { decodeCsvRow } from "../../../lib/csv.ts";
import { sha256Of } from "../../../lib/hash.ts";

/**
 * The CSV export of a list: UTF-8, LF, column titles as header. Users open it in spreadsheets, so a text that looks like a
 * formula is quoted.
 */

const NEEDS_QUOTES = /[",\r\n]|^[=+\-@\t]/;
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;
/** SharePoint allows 2 GB in a multiline column; a longer record means a damaged file. */
const MAX_RECORD_LENGTH = 64 * 1024 * 1024;

/** Returns the row with its line end. */
export function encodeTableRow(cells: readonly string[]): string {
  return `${cells.map(encodeCell).join(",")}\n`;
}

function encodeCell(cell: string): string {
  return NEEDS_QUOTES.test(cell) && !NUMBER.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** Yields the rows of a file in batches, header first. Also reads files saved by a spreadsheet (BOM, CRLF). */
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

/** Splits text into records. A line end inside quotes belongs to the value; quotes inside quotes are doubled. */
class RecordReader {
  #unread = "";
  /** Offset at which the search for the next line end continues, and whether it is inside quotes. */
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
 * Columns of an export: ID, Title, the list's own in alphabetical order, Created, Modified, Author, Editor. Those six are
 * found by position, because their titles depend on the site's language.
 */
export const ID_AT = 0;
export const TITLE_AT = 1;
export const OWN_FROM = 2;
/** Number of columns at the end: Created, Modified, Author and Editor. */
export const TAIL = 4;
export const MIN_COLUMNS = OWN_FROM + TAIL;

/** Suffix of the titles of time columns: SharePoint displays the site's time, the export has UTC. */
export const UTC_MARK = "[UTC]";

/** Returns undefined if the row is no item. */
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
 * Holds the rows of a listing until the export, on disk because there may be many. The file is unlinked once it is open, so
 * it disappears with the process, also after a crash. A spool that is never closed (a dry run does not export) is closed
 * by the garbage collector.
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

  /** `rows`: encoded; `ids`: their items. */
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

  /** Yields everything appended so far. */
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
/** Fits every file system, with room for suffixes of the mirror. */
const MAX_NAME_BYTES = 200;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be kept out.
const NOT_IN_NAMES = /[\u0000-\u001f\u007f"*:<>?|\\/%]|^[. ]|[. ]$/g;
const RESERVED_ON_WINDOWS = /^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/** Returns the file name of a list's export. Forbidden characters are percent-encoded, so that the title can be restored. */
export function listFileName(title: string): string {
  const name = title
    .toWellFormed()
    .replaceAll(NOT_IN_NAMES, percent)
    .replace(RESERVED_ON_WINDOWS, (word) => percent(word.charAt(0)) + word.slice(1));
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name + ENDING;
  const letters = Array.from(name);
  while (Buffer.byteLength(letters.join("")) > MAX_NAME_BYTES) letters.pop();
  const hash = sha256Of(title).slice(0, 8);
  return `${letters.join("").replace(/%.?$/, "")}~${hash}${ENDING}`;
}

/** Returns the title for a file name; truncated if the name was. */
export function listTitleOf(fileName: string): string {
  const name = fileName.endsWith(ENDING) ? fileName.slice(0, -ENDING.length) : fileName;
  return name.replaceAll(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/**
 * Yields the export: listed rows and rows retained from an earlier export, in order of ids. A listed row replaces a
 * retained one.
 */
export async function* exportTable(
  titles: readonly string[],
  spool: RowSpool,
  earlier: {
    readonly path: string | undefined;
    readonly keep: ReadonlySet<number>;
    readonly without?: ReadonlySet<number> | undefined;
  },
): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(encodeTableRow(titles));
  const { without = new Set() } = earlier;
  const missing = new Set([...earlier.keep].filter((id) => !spool.has(id) && !without.has(id)));
  if (without.size === 0 && (earlier.path === undefined || missing.size === 0)) {
    yield* spool.read();
    return;
  }
  const retained = readRetained(earlier.path ?? "", missing, titles);
  let next = await retained.next();
  for await (const rows of readTable(spool.read())) {
    let text = "";
    for (const cells of rows) {
      if (without.has(rowId(cells) ?? -1)) continue;
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
 * Yields the requested rows of an earlier export under the current titles. A missing or invalid export yields none: their
 * documents exist already, or the process step reports that they do not.
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

/** Maps system columns by position, because their titles depend on the site's language, and the list's own by title. */
function columnMapper(before: readonly string[], now: readonly string[]): (cells: readonly string[]) => string[] {
  const byTitle = new Map(before.slice(OWN_FROM, -TAIL).map((title, at) => [title, at + OWN_FROM]));
  const positions = now.map((title, at) => {
    if (at < OWN_FROM) return at;
    if (at >= now.length - TAIL) return at - now.length + before.length;
    return byTitle.get(title);
  });
  return (cells) => positions.map((position) => (position === undefined ? "" : (cells[position] ?? "")));
}
