import { rename } from "node:fs/promises";
import { join } from "node:path";
import type { ItemId, VectorStoreId } from "../../contracts/ids.ts";
import { readFileIfExists } from "../../lib/atomic-file.ts";
import { namesIn, pathExists } from "../../lib/file-system.ts";
import { parseJson } from "../../lib/json-object.ts";
import { copyAside, putAside } from "../../lib/put-aside.ts";
import { toFileStamp } from "../../lib/time.ts";
import { decodeIndexed, decodeMirrored, decodeSeen, type Row, type TableShape } from "../exports/map-codec.ts";
import { CorruptMapError, mapFile, readMap, SHAPES } from "../exports/map-files.ts";
import type { Facet, Facets, SqlLedger } from "../sql-ledger.ts";

/** `.lockstep/observed.csv` of earlier releases: what the three specified files have no column for. */
const OBSERVED: TableShape = {
  columns: [
    "sharepoint_unique_file_id",
    "etag",
    "content_version",
    "observed_size",
    "observed_mtime_ms",
    "observed_sha256",
    "embedded_sha256",
  ],
  key: 0,
};

/** Files that earlier releases kept beside the map files. They are not read any more once they are in the ledger. */
const LEFT_BEHIND = /^(observed\.csv|journal-.*\.jsonl|tail-.*\.jsonl|.*\.csv\.index|manifest\.(journal|index))$/;
/** What earlier releases kept so that something need not be compared. Nothing of it is taken over: the first look compares everything. */
const MEMO = /^(last-look|settled|purge)\.json$/;
const MAP = /^(sharepoint|files|vectorstore)_map(_.+)?\.csv$/;

type TableName = Facet | "observed";

/** One row of one map file, as it was and as it is to be; null: no row. */
interface RowChange {
  readonly table: TableName;
  readonly key: string;
  readonly before: Row | null;
  readonly after: Row | null;
}

/** Stores beside the domain's own of which the source has a map file, or a killed run left rows for one. */
export async function mappedStores(folder: string): Promise<VectorStoreId[]> {
  const names = [...(await namesIn(folder)), ...(await namesIn(join(folder, ".lockstep")))];
  const stores = names.flatMap((name) => {
    const store = /^vectorstore_map_(.+)\.csv$/.exec(name)?.[1] ?? /^journal-embed-(.+)\.jsonl$/.exec(name)?.[1];
    return store === undefined ? [] : [decodeURIComponent(store) as VectorStoreId];
  });
  return [...new Set(stores)];
}

/**
 * Takes over the map files of an earlier release, with what a killed run left in journals and tails, and what it had observed. Puts
 * everything into a ledger that has nothing of the source yet; repeated after a kill, it puts the same.
 */
export async function migrateCsvMaps(
  ledger: SqlLedger,
  folder: string,
  { readOnly, store = "" }: { readonly readOnly: boolean; readonly store?: VectorStoreId | "" },
): Promise<void> {
  // Nothing of the source is in the ledger yet: what is the same for all stores comes first.
  if (readOnly && store !== "") {
    await migrateCsvMaps(ledger, folder, { readOnly });
    for await (const items of ledger.items()) for (const item of items) ledger.overlay(item, { indexed: null });
  }
  const journals = await readJournals(folder, store);
  const facets: readonly Facet[] = store === "" ? ["seen", "mirrored", "indexed"] : ["indexed"];
  for (const facet of facets) {
    const table = { folder, name: facet, file: mapFile(facet, store), shape: SHAPES[facet], journals };
    await putAll(ledger, table, readOnly, (row) => decode(facet, row));
  }
  if (store !== "") return;
  const observed = { folder, name: "observed", file: ".lockstep/observed.csv", shape: OBSERVED, journals } as const;
  const known = new Map<ItemId, Row>();
  const join = async (): Promise<void> => {
    const entries = await ledger.getMany([...known.keys()]);
    for (const entry of entries) {
      const row = entry && known.get(entry.itemId);
      if (row) ledger.overlay(entry.itemId, withObserved(entry, row));
    }
    known.clear();
    if (!readOnly) await ledger.flush();
  };
  for await (const [item, row] of rowsOf(ledger, observed, readOnly)) {
    known.set(item, row);
    if (known.size >= ROWS_AT_ONCE) await join();
  }
  await join();
}

/** What is indexed has an entry of `files_metadata.json`, with its name and place, also if that file was lost. */
export async function describeIndexed(ledger: SqlLedger): Promise<void> {
  for await (const entries of ledger.entries()) {
    for (const entry of entries) if (entry.indexed?.fileId) ledger.putEmbedded(entry, entry.indexed);
    await ledger.flush();
  }
}

const ROWS_AT_ONCE = 5000;

export async function hasCsvMaps(folder: string): Promise<boolean> {
  return (await mapsIn(folder)).length > 0 || (await hasOldFiles(folder));
}

/** What no release writes any more. */
export async function hasOldFiles(folder: string): Promise<boolean> {
  return (await namesIn(join(folder, ".lockstep"))).some((name) => LEFT_BEHIND.test(name));
}

/** Copies the map files before the migration, which rewrites them. */
export async function copyMapsAside(folder: string): Promise<void> {
  await copyAside(await mapsIn(folder), join(folder, ".lockstep"));
}

/** Everything is in the ledger: what only earlier releases read is moved away. Repeated after a kill, it moves the rest. */
export async function putOldFilesAside(folder: string, options: { readonly maps: boolean }): Promise<void> {
  const own = join(folder, ".lockstep");
  const isOld = (name: string): boolean => LEFT_BEHIND.test(name) || MEMO.test(name);
  const left = (await namesIn(own)).filter(isOld).map((name) => join(own, name));
  for (const memo of [join(own, "tree", "look.json"), join(folder, "knowledge_base", "kept.json")]) {
    if (await pathExists(memo)) left.push(memo);
  }
  await putAside([...left, ...(options.maps ? await mapsIn(folder) : [])], own);
}

async function mapsIn(folder: string): Promise<string[]> {
  return (await namesIn(folder)).filter((name) => MAP.test(name)).map((name) => join(folder, name));
}

interface OldTable {
  readonly folder: string;
  readonly name: TableName;
  readonly file: string;
  readonly shape: TableShape;
  readonly journals: readonly RowChange[];
}

async function putAll(
  ledger: SqlLedger,
  table: OldTable,
  readOnly: boolean,
  decodeRow: (row: Row) => Facets,
): Promise<void> {
  let put = 0;
  for await (const [item, row] of rowsOf(ledger, table, readOnly)) {
    ledger.overlay(item, decodeRow(row));
    if (++put % ROWS_AT_ONCE === 0 && !readOnly) await ledger.flush();
  }
  if (!readOnly) await ledger.flush();
}

/** Every row as the earlier release would have read it: file, then tail, then journals. */
async function* rowsOf(ledger: SqlLedger, table: OldTable, readOnly: boolean): AsyncGenerator<[ItemId, Row], void> {
  const { folder, file, name, shape } = table;
  const tail = new Map(
    (await readJsonLines<{ key: string; row: Row | null }>(join(folder, ".lockstep", `tail-${name}.jsonl`))).map(
      ({ key, row }) => [key, row],
    ),
  );
  const changes = new Map<string, RowChange[]>();
  for (const change of table.journals) {
    if (change.table === name) changes.set(change.key, [...(changes.get(change.key) ?? []), change]);
  }
  const settle = (key: string, row: Row | null): Row | null => {
    const start = tail.has(key) ? (tail.get(key) ?? null) : row;
    const settled = (changes.get(key) ?? []).reduce(applyChange, start);
    tail.delete(key);
    changes.delete(key);
    return settled;
  };
  for await (const row of readOld(ledger, join(folder, file), file, shape, readOnly)) {
    const key = row[shape.key] ?? "";
    const settled = settle(key, row);
    if (settled) yield [key as ItemId, settled];
  }
  for (const key of new Set([...tail.keys(), ...changes.keys()])) {
    const settled = settle(key, null);
    if (settled) yield [key as ItemId, settled];
  }
}

async function* readOld(
  ledger: SqlLedger,
  path: string,
  file: string,
  shape: TableShape,
  readOnly: boolean,
): AsyncGenerator<Row, void> {
  if (!(await pathExists(path))) return;
  try {
    for await (const _ of readMap(path, shape)) {
      // Only to see whether all of it can be read.
    }
  } catch (error) {
    if (!(error instanceof CorruptMapError)) throw error;
    const aside = `${file}.corrupt-${toFileStamp(new Date())}`;
    if (!readOnly) await rename(path, join(path, "..", aside.replace(/^.*\//, "")));
    ledger.problems.push(`${file} cannot be used (${error.message}); it is set aside as ${aside}`);
    return;
  }
  for await (const page of readMap(path, shape)) yield* page;
}

function decode(facet: Facet, row: Row): Facets {
  if (facet === "seen") return { seen: decodeSeen(row, null) };
  if (facet === "mirrored") return { mirrored: decodeMirrored(row, null) };
  return { indexed: decodeIndexed(row, null) };
}

function withObserved(
  { mirrored, indexed }: { readonly mirrored: Facets["mirrored"]; readonly indexed: Facets["indexed"] },
  row: Row,
): Facets {
  const [, etag = "", contentVersion = "", size = "", mtimeMs = "", sha256 = "", embedded = ""] = row;
  return {
    ...(mirrored && {
      mirrored: {
        ...mirrored,
        fingerprint: { ...mirrored.fingerprint, etag: decodeEtag(etag), contentVersion },
        observed: sha256 ? { size: Number(size), mtimeMs: Number(mtimeMs), sha256 } : null,
      },
    }),
    ...(indexed && { indexed: { ...indexed, sha256: embedded } }),
  };
}

/** SharePoint's ETags, `"{GUID},3"`, were kept as `{GUID};3`. */
function decodeEtag(text: string): string {
  return text.startsWith("{") ? `"${text.replace(";", ",")}"` : text;
}

/** Applies a change to a row. Columns and rows that something else has changed since stay as they are. */
function applyChange(current: Row | null, { before, after }: RowChange): Row | null {
  if (isSame(current, before)) return after;
  if (!current || !before || !after) return current;
  return current.map((field, i) => (field === before[i] ? (after[i] ?? "") : field));
}

function isSame(a: Row | null, b: Row | null): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((field, i) => field === b[i]);
}

async function readJournals(folder: string, store: VectorStoreId | ""): Promise<RowChange[]> {
  const names =
    store === ""
      ? ["journal-download.jsonl", "journal-process.jsonl", "journal-embed.jsonl"]
      : [`journal-embed-${encodeURIComponent(store)}.jsonl`];
  const all = await Promise.all(names.map((name) => readJsonLines<RowChange>(join(folder, ".lockstep", name))));
  return all.flat();
}

/** A line that a crash cut says nothing: it was never acknowledged. */
async function readJsonLines<T>(path: string): Promise<T[]> {
  const text = (await readFileIfExists(path))?.toString("utf8") ?? "";
  return text.split("\n").flatMap((line) => {
    const parsed = parseJson(line);
    return parsed === undefined ? [] : [parsed as T];
  });
}
