import { closeSync, fsyncSync, openSync, statSync, writeSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/atomic-file.ts";
import { fileStamp } from "../../lib/file-stamp.ts";
import { CsvTable } from "./csv-table.ts";
import type { KeyIndex } from "./key-index.ts";
import { LargeTable } from "./large-table.ts";
import { indexFile, SHAPES, tableStamp, tailFile } from "./map-files.ts";
import { type RowChange, readJsonLines, type TableName } from "./map-journal.ts";
import type { Row, RowTable } from "./row-table.ts";
import { TableBytes } from "./table-bytes.ts";
import { TableIndex } from "./table-index.ts";

export interface OpenTable {
  table: RowTable;
  /** Identity of the files the table was read from or last written to; "" when there were none. */
  stamp: string;
  changes: RowChange[];
}

/** One map file of a source. */
export interface TablePlace {
  /** The source's folder. */
  readonly folder: string;
  readonly name: TableName;
  /** Below that folder. */
  readonly file: string;
  /** Changes of a large file may wait beside it in a tail. */
  readonly mayLag: boolean;
  readonly readOnly: boolean;
  /** A larger file is left on disk. */
  readonly heldBytes: number;
}

/** A tail that has grown to this part of its file is put into it: what is written then is paid for by what changed. */
const TAIL_PART = 1 / 8;
const SMALL_TAIL_BYTES = 64 * 1024;
/** As many at once are no few changes of a large file. */
const MOST_IN_TAIL = 20_000;
const NO_BYTES = TableBytes.of(Buffer.alloc(0));

/** Throws CorruptTableError. A file that is not there is an empty table. */
export async function readTable(place: TablePlace, keys: KeyIndex): Promise<OpenTable> {
  for (;;) {
    const stamp = await stampOf(place);
    const table = await readFile(place, keys);
    for (const { key, row } of await readTail(place)) table.set(key, row);
    // Somebody may have put the tail into the file between the two.
    if (stamp === (await stampOf(place))) return { table, stamp, changes: [] };
  }
}

export function emptyTable({ name }: TablePlace, keys: KeyIndex): OpenTable {
  return { table: new CsvTable(SHAPES[name], NO_BYTES, keys), stamp: "", changes: [] };
}

export function stampOf({ folder, file, name }: TablePlace): Promise<string> {
  return tableStamp(folder, file, name);
}

/** Of such a file, only the places of its rows are held. */
export function isLarge({ folder, file, heldBytes }: TablePlace): boolean {
  return sizeOf(join(folder, file)) > heldBytes;
}

/**
 * Brings the changes, which the table has already, to disk: behind the tail of a large file, where that is allowed, and otherwise
 * into the file. Killed between the file and its tail, the tail is applied once more, which changes nothing.
 */
export async function writeTable(
  open: OpenTable,
  changes: readonly RowChange[],
  place: TablePlace,
): Promise<"file" | "tail"> {
  if (place.mayLag && open.table instanceof LargeTable && changes.length < MOST_IN_TAIL) {
    const lines = toLines(new Set(changes.map(({ key }) => key)), open.table);
    const room = Math.max(sizeOf(join(place.folder, place.file)) * TAIL_PART, SMALL_TAIL_BYTES);
    if (sizeOf(tailOf(place)) + lines.length <= room) {
      append(tailOf(place), lines);
      return "tail";
    }
  }
  await writeFileAtomic(join(place.folder, place.file), open.table.encode());
  await rm(tailOf(place), { force: true });
  return "file";
}

async function readFile(place: TablePlace, keys: KeyIndex): Promise<RowTable> {
  const { folder, file, name, heldBytes } = place;
  const shape = SHAPES[name];
  const stamp = await fileStamp(join(folder, file));
  const bytes = TableBytes.open(join(folder, file), heldBytes) ?? NO_BYTES;
  if (!bytes.isOnDisk) return new CsvTable(shape, bytes, keys);
  const path = join(folder, indexFile(file));
  const known = TableIndex.load(path, stamp);
  const index = known ?? TableIndex.scan(shape, bytes);
  if (!index) return new CsvTable(shape, bytes, keys);
  const isSame = stamp === (await fileStamp(join(folder, file)));
  if (!known && isSame && !place.readOnly) await index.save(path, stamp);
  return new LargeTable(shape, bytes, index);
}

function tailOf({ folder, name }: TablePlace): string {
  return join(folder, tailFile(name));
}

/** What a row is now, whatever the file says; null: there is none. Of several lines with one key the last one counts. */
interface TailLine {
  readonly key: string;
  readonly row: Row | null;
}

/** A line that a crash cut off says nothing: whoever wrote it still has it in its journal. */
async function readTail(place: TablePlace): Promise<readonly TailLine[]> {
  return (await readJsonLines<TailLine>(tailOf(place))) ?? [];
}

/** They begin a line of their own: a crash may have cut off the last one. */
function toLines(keys: Iterable<string>, table: RowTable): Buffer {
  const lines = Array.from(keys, (key) => JSON.stringify({ key, row: table.get(key) } satisfies TailLine));
  return Buffer.from(["", ...lines, ""].join("\n"));
}

function append(path: string, bytes: Buffer): void {
  const fd = openSync(path, "a");
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
