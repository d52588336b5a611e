import { join } from "node:path";
import type { VectorStoreId } from "../../contracts/ids.ts";
import { readFileIfExists, writeFileAtomic } from "../../lib/atomic-file.ts";
import { encodeCsvRow } from "../../lib/csv.ts";
import { withFileLock } from "../../lib/file-lease.ts";
import { namesIn } from "../../lib/names-in.ts";
import { CsvTable } from "./csv-table.ts";
import { foldTails } from "./fold-tails.ts";
import { KeyIndex } from "./key-index.ts";
import { INDEXED_TABLE, MIRRORED_TABLE } from "./map-codec.ts";
import type { RowChange } from "./map-journal.ts";
import { CorruptTableError, type Row, type TableShape } from "./row-table.ts";
import { TableBytes } from "./table-bytes.ts";

export interface PathChange {
  /** The first folder of every path. */
  readonly from: string;
  readonly to: string;
}

const STORE_MAP = /^vectorstore_map_(.+)\.csv$/;
const WRITTEN_AT_ONCE = 1024 * 1024;

/**
 * The domain that the source in `folder` belongs to has another id: the paths in its map files, and in changes that a
 * killed run left for them, begin with the new one. Doing it twice changes nothing. A map that cannot be read is left to
 * the next crawl, which sets it aside.
 */
export async function renamePaths(folder: string, change: PathChange): Promise<void> {
  await foldTails(folder);
  await withFileLock(join(folder, ".lockstep", "maps.lock"), async () => {
    // Journals first: a change is applied to the row it says it was made from.
    for (const name of await namesIn(join(folder, ".lockstep"))) {
      if (/^journal-.*\.jsonl$/.test(name)) await renameInJournal(join(folder, ".lockstep", name), change);
    }
    for (const name of await namesIn(folder)) {
      if (name === "files_map.csv") await renameInTable(join(folder, name), MIRRORED_TABLE, change);
      if (name === "vectorstore_map.csv" || STORE_MAP.test(name)) {
        await renameInTable(join(folder, name), INDEXED_TABLE, change);
      }
    }
  });
}

/** Stores beside the domain's own of which the source has a map. */
export async function mappedStores(folder: string): Promise<VectorStoreId[]> {
  const names = (await namesIn(folder)).flatMap((name) => STORE_MAP.exec(name)?.[1] ?? []);
  return names.map((name) => decodeURIComponent(name) as VectorStoreId);
}

async function renameInTable(path: string, shape: TableShape, change: PathChange): Promise<void> {
  const table = readTable(path, shape);
  if (!table) return;
  for (const key of table.keys()) {
    const row = table.get(key);
    if (row === null || renamed(row, shape, change) === row) continue;
    await writeFileAtomic(path, encodeRenamed(table, change));
    return;
  }
}

/** As it is written: rows as objects would weigh several times the file. */
function* encodeRenamed(table: CsvTable, change: PathChange): Generator<Buffer, void> {
  let text = `${encodeCsvRow(table.shape.columns)}\r\n`;
  for (const key of table.keys()) {
    const row = table.get(key);
    if (row) text += `${encodeCsvRow(renamed(row, table.shape, change))}\r\n`;
    if (text.length < WRITTEN_AT_ONCE) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(text);
}

async function renameInJournal(path: string, change: PathChange): Promise<void> {
  const text = (await readFileIfExists(path))?.toString("utf8");
  if (!text) return;
  const lines = text.split("\n").map((line) => {
    const row = parse(line);
    if (row?.table !== "mirrored" && row?.table !== "indexed") return line;
    const shape = row.table === "mirrored" ? MIRRORED_TABLE : INDEXED_TABLE;
    const [before, after] = [row.before, row.after].map((each) => each && renamed(each, shape, change));
    return JSON.stringify({ ...row, before, after });
  });
  const after = lines.join("\n");
  if (after !== text) await writeFileAtomic(path, after);
}

/** The very same row when nothing is to be changed. */
function renamed(row: Row, shape: TableShape, { from, to }: PathChange): Row {
  const at = shape.columns.indexOf("file_relative_path");
  const file = row[at] ?? "";
  return file.startsWith(`${from}\\`) ? row.with(at, to + file.slice(from.length)) : row;
}

function readTable(path: string, shape: TableShape): CsvTable | undefined {
  const bytes = TableBytes.open(path);
  try {
    return bytes && new CsvTable(shape, bytes, new KeyIndex());
  } catch (error) {
    if (error instanceof CorruptTableError) return undefined;
    throw error;
  }
}

/** undefined for a line that a crash cut: it was never acknowledged. */
function parse(line: string): RowChange | undefined {
  try {
    return JSON.parse(line) as RowChange;
  } catch {
    return undefined;
  }
}
