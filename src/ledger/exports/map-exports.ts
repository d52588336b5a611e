import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { appendFile, mkdir, rename, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import type { ItemId, VectorStoreId } from "../../contracts/ids.ts";
import { encodeCsvRow } from "../../lib/csv.ts";
import { withFileLock } from "../../lib/file-lease.ts";
import { fileStamp, pathExists } from "../../lib/file-system.ts";
import { isListed, listsOf, readPages, type Sql, type SqlDatabase } from "../../lib/sql/sql.ts";
import { plural } from "../../lib/text.ts";
import { toFileStamp } from "../../lib/time.ts";
import type { EntryRow } from "../entry-rows.ts";
import type { SourceRow } from "../source-row.ts";
import type { Facet, Facets, SqlLedger } from "../sql-ledger.ts";
import { type ExportRow, NEVER_EXPORTED, noteExport, readExports, recognise, replaceExport } from "./export-file.ts";
import { decodeIndexed, decodeMirrored, decodeSeen, type Row } from "./map-codec.ts";
import { CorruptMapError, encodeMap, FACETS, mapFile, readMap, rowOf, SHAPES } from "./map-files.ts";

/** The location of a source's map files. */
export interface MapPlace {
  /** The source's folder, absolute. */
  readonly folder: string;
  readonly store: VectorStoreId | "";
  /** undefined: read-only. */
  readonly writer?: SqlDatabase | undefined;
}

const FACET_REV = { seen: "seen_rev", mirrored: "mirrored_rev", indexed: "indexed_rev" } as const;
const FACET_ROWS = { seen: "item", mirrored: "file", indexed: "indexed" } as const;
const ROWS_PER_FLUSH = 5000;

/** Whether the map files are unchanged since they were written. Users may edit, restore or delete them. */
export async function areMapsUntouched(sql: Sql, sourceNo: number, { folder, store }: MapPlace): Promise<boolean> {
  const exported = await readExports(sql, sourceNo);
  for (const facet of FACETS) {
    const name = mapFile(facet, store);
    if ((await fileStamp(join(folder, name))) !== (exported.get(name)?.stamp ?? "")) return false;
  }
  return true;
}

/** Imports users' edits of the map files, unless the ledger has newer data. */
export async function readMapsBack(ledger: SqlLedger, db: Sql, place: MapPlace): Promise<void> {
  const readAll = async (): Promise<void> => {
    const exported = await readExports(db, ledger.source.source_no);
    for (const facet of FACETS) {
      const name = mapFile(facet, place.store);
      await readMapBack(ledger, db, { ...place, facet, name, exported: exported.get(name) });
    }
  };
  if (!place.writer) return await readAll();
  // Wait for a writer: a half-written file would look like an edit.
  if (!(await areMapsUntouched(db, ledger.source.source_no, place))) await withMapsLock(place.folder, readAll);
}

/** Exclusive for writers and importers of map files. */
export async function withMapsLock(folder: string, work: () => Promise<void>): Promise<void> {
  await mkdir(join(folder, ".lockstep"), { recursive: true });
  await withFileLock(join(folder, ".lockstep", "maps.lock"), work);
}

interface MapToRead extends MapPlace {
  readonly facet: Facet;
  readonly name: string;
  /** undefined: never written by us. */
  readonly exported: ExportRow | undefined;
}

async function readMapBack(ledger: SqlLedger, db: Sql, map: MapToRead): Promise<void> {
  const { folder, name, facet, exported, writer } = map;
  const path = join(folder, name);
  let stamp = await fileStamp(path);
  if (exported ? stamp === exported.stamp : stamp === "") return;
  // Appended rows are in the ledger, and a partial row of a killed run is no edit.
  if (exported?.appending && stamp !== "" && (await isBehind(path, exported))) return;
  const clear = (): Promise<number> => removeUnless(() => false, ledger, db, map);
  if (stamp === "") {
    const fewer = await clear();
    if (fewer > 0) ledger.edits.push(`${name} is missing: ${plural(fewer, "row")} fewer`);
  } else {
    const ours = await recognise(path, exported);
    if (ours) return await noteExport(writer, ledger.source.source_no, ours);
    try {
      for await (const _ of readMap(path, SHAPES[facet])) {
        // Only to see whether all of it can be read.
      }
      const { fewer, more, other } = await takeRows(ledger, db, map);
      if (fewer + more + other > 0) {
        const rows = `${plural(fewer, "row")} fewer, ${more} more, ${other} other`;
        ledger.edits.push(`${name} was edited since it was written: ${rows}`);
      }
    } catch (error) {
      if (!(error instanceof CorruptMapError)) throw error;
      const aside = `${name}.corrupt-${toFileStamp(new Date())}`;
      if (writer) await rename(path, join(folder, aside));
      stamp = "";
      ledger.problems.push(`${name} cannot be used (${error.message}); it is set aside as ${aside}`);
      await clear();
    }
  }
  ledger.distrust();
  if (!writer) return;
  await ledger.flush();
  // Its content is in the ledger now. Write it again at once, so that it can be edited again.
  const anew = { ...map, exported: exported && { ...exported, stamp: "", appending: 0 } };
  if (!(await exportMap(ledger, writer, anew, stamp))) await readMapBack(ledger, db, map);
}

/** Whether the file begins with what we wrote last. */
async function isBehind(path: string, { size, sha256 }: ExportRow): Promise<boolean> {
  if (!(await stat(path)).isFile()) return false;
  if (size === 0) return true;
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { end: size - 1 })) hash.update(chunk as Buffer);
  return hash.digest("hex") === sha256;
}

/**
 * Appends rows to the map files while a step runs, so that users see its progress: the first one at once, then in
 * batches. Of several rows of one item the last one counts; the end of the step writes the whole file again.
 */
export class MapAppender {
  readonly #folder: string;
  readonly #every: number;
  readonly #waiting = new Map<Facet, string[]>();
  readonly #begun = new Map<Facet, string>();

  constructor(folder: string, facets: readonly Facet[], every: number) {
    this.#folder = folder;
    this.#every = every;
    for (const facet of facets) this.#waiting.set(facet, []);
  }

  /** Whether this run appended to the file, and it was not changed since. */
  isOurs(facet: Facet, stamp: string): boolean {
    return this.#waiting.has(facet) && this.#begun.get(facet) === stamp;
  }

  async add(facet: Facet, rows: readonly Row[], ledger: SqlLedger, db: SqlDatabase): Promise<void> {
    const waiting = this.#waiting.get(facet);
    if (!waiting || rows.length === 0) return;
    for (const row of rows) waiting.push(`${encodeCsvRow(row)}\r\n`);
    if (this.#begun.has(facet) && waiting.length < this.#every) return;
    const path = join(this.#folder, mapFile(facet));
    try {
      if (!this.#begun.has(facet)) waiting.unshift(...(await this.#begin(facet, path, ledger, db)));
      if ((await fileStamp(path)) !== this.#begun.get(facet)) throw new Error("it is not as we left it");
      await appendFile(path, waiting.splice(0).join(""));
      this.#begun.set(facet, await fileStamp(path));
    } catch {
      // The rows are in the ledger; users see them at the end of the step.
      this.#waiting.delete(facet);
    }
  }

  /** Truncates what a killed run appended; returns the header if there was no file. */
  async #begin(facet: Facet, path: string, ledger: SqlLedger, db: SqlDatabase): Promise<string[]> {
    const name = mapFile(facet);
    const known = (await readExports(db, ledger.source.source_no)).get(name) ?? { ...NEVER_EXPORTED, name };
    let { stamp } = known;
    if (known.appending && (await pathExists(path)) && (await isBehind(path, known))) {
      await truncate(path, known.size);
      stamp = await fileStamp(path);
    }
    // It was edited meanwhile: the end of the step imports that, and writes the file again.
    if ((await fileStamp(path)) !== stamp) throw new Error("it is not as we left it");
    await noteExport(db, ledger.source.source_no, { ...known, appending: 1 });
    this.#begun.set(facet, stamp);
    return known.size === 0 ? [`${encodeCsvRow(SHAPES[facet].columns)}\r\n`] : [];
  }
}

/** Takes the last of several rows of an item. Returns how many rows differed from the ledger. */
async function takeRows(
  ledger: SqlLedger,
  db: Sql,
  map: MapToRead,
): Promise<{ readonly fewer: number; readonly more: number; readonly other: number }> {
  const { facet, folder, name, exported } = map;
  const { columns, key } = SHAPES[facet];
  /**
   * Whether the ledger has newer data of the item. Computed once: an earlier row of the item may be in the ledger by
   * then.
   */
  const found = new Map<ItemId, boolean>();
  let [more, other] = [0, 0];
  for await (const page of readMap(join(folder, name), { columns, key })) {
    const rows = new Map(page.map((row) => [row[key] as ItemId, row]));
    const known = await ledger.rows([...rows.keys()]);
    const gone = await readCleared(db, ledger, map, [...rows.keys()]);
    for (const [item, row] of rows) {
      if (gone.has(item)) continue;
      const before = known.get(item);
      const isRepeated = found.has(item);
      const isNewer = found.get(item) ?? (before !== undefined && revOf(before, facet) > (exported?.rev ?? 0));
      found.set(item, isNewer);
      const facets = isNewer ? undefined : takeRow(row, facet, before, isRepeated);
      if (facets) ledger.overlay(item, facets);
      if (!facets || isRepeated) continue;
      if (before && rowOf(before.entry, facet)) other += 1;
      else more += 1;
    }
    if (found.size % ROWS_PER_FLUSH < page.length) await ledger.flush();
  }
  return { fewer: exported ? await removeUnless((item) => found.has(item), ledger, db, map) : 0, more, other };
}

/** Items whose facet was cleared after the map was written. */
async function readCleared(
  db: Sql,
  ledger: SqlLedger,
  { facet, exported, store }: MapToRead,
  items: readonly ItemId[],
): Promise<ReadonlySet<ItemId>> {
  if (store !== "") return new Set();
  const gone = new Set<ItemId>();
  const text = `SELECT item_id FROM cleared WHERE source_no = $1 AND facet = $2 AND rev > $3 AND ${isListed(db, "item_id", "$4", "text")}`;
  for (const list of listsOf(items)) {
    const values = [ledger.source.source_no, facet, exported?.rev ?? 0, list];
    for (const { item_id } of await db.all<{ item_id: ItemId }>(text, values)) gone.add(item_id);
  }
  return gone;
}

/** undefined: no change. */
function takeRow(row: Row, facet: Facet, known: EntryRow | undefined, isRepeated: boolean): Facets | undefined {
  const entry = known?.entry;
  const before = entry && rowOf(entry, facet);
  if (before && !isRepeated && row.every((field, at) => field === before[at])) return undefined;
  if (facet === "seen") return { seen: decodeSeen(row, entry?.seen) };
  if (facet === "mirrored") return { mirrored: decodeMirrored(row, entry?.mirrored) };
  return { indexed: decodeIndexed(row, entry?.indexed) };
}

/** 0 if the facet is missing. */
function revOf(row: EntryRow, facet: Facet): number {
  if (facet === "seen") return row.entry.seen ? row.rev : 0;
  return (facet === "mirrored" ? row.f_rev : row.x_rev) ?? 0;
}

/** Clears the facet of items that had a row when the map was written, and have none now. Returns how many. */
async function removeUnless(
  isThere: (item: ItemId) => boolean,
  ledger: SqlLedger,
  db: Sql,
  { facet, exported, store }: MapToRead,
): Promise<number> {
  const table = FACET_ROWS[facet];
  const select =
    facet === "seen"
      ? "SELECT t.item_no, t.item_id FROM item t WHERE t.source_no = $1 AND t.listed = 1"
      : `SELECT t.item_no, i.item_id FROM ${table} t JOIN item i ON i.item_no = t.item_no WHERE t.source_no = $1`;
  const condition = facet === "indexed" ? "AND t.store = $4" : "";
  const text = `${select} AND t.rev <= $2 AND t.item_no > $3 ${condition} ORDER BY t.item_no LIMIT ${ROWS_PER_FLUSH}`;
  const read = (after: number): Promise<Pick<EntryRow, "item_no" | "item_id">[]> =>
    db.all(text, [ledger.source.source_no, exported?.rev ?? 0, after, ...(condition ? [store] : [])]);
  let removed = 0;
  for await (const rows of readPages(ROWS_PER_FLUSH, ({ item_no }) => item_no, read)) {
    const gone = rows.filter(({ item_id }) => !isThere(item_id));
    for (const { item_id } of gone) ledger.overlay(item_id, { [facet]: null });
    removed += gone.length;
    await ledger.flush();
  }
  return removed;
}

/** Writes outdated map files, after importing edits made meanwhile. */
export async function exportMaps(
  ledger: SqlLedger,
  db: SqlDatabase,
  place: MapPlace,
  appender: MapAppender | undefined,
): Promise<void> {
  await withMapsLock(place.folder, async () => {
    for (const facet of FACETS) {
      const map = { ...place, writer: db, facet, name: mapFile(facet, place.store) };
      for (let isWritten = false; !isWritten; ) isWritten = await bringUpToDate(ledger, db, map, appender);
    }
  });
}

/** false: the file was edited meanwhile. */
async function bringUpToDate(
  ledger: SqlLedger,
  db: SqlDatabase,
  map: Omit<MapToRead, "exported">,
  appender: MapAppender | undefined,
): Promise<boolean> {
  const path = join(map.folder, map.name);
  const readExport = async (): Promise<ExportRow | undefined> =>
    (await readExports(db, ledger.source.source_no)).get(map.name);
  const exported = await readExport();
  const stamp = await fileStamp(path);
  if (stamp === (exported?.stamp ?? "") || appender?.isOurs(map.facet, stamp)) {
    return await exportMap(ledger, db, { ...map, exported }, stamp);
  }
  await readMapBack(ledger, db, { ...map, exported });
  return await exportMap(ledger, db, { ...map, exported: await readExport() }, await fileStamp(path));
}

/** Replaces the files, whose content was imported. The caller holds the lock. */
export async function replaceMaps(ledger: SqlLedger, db: SqlDatabase, place: MapPlace): Promise<void> {
  for (const facet of FACETS) {
    const name = mapFile(facet, place.store);
    await exportMap(ledger, db, { ...place, facet, name, exported: undefined });
  }
}

/** false: the file's stamp changed since it was last read, and it was left as it is. */
async function exportMap(ledger: SqlLedger, db: SqlDatabase, map: MapToRead, stampBefore?: string): Promise<boolean> {
  const { folder, name, facet, exported, store } = map;
  const path = join(folder, name);
  const revNow = async (): Promise<number> => facetRev(await ledger.readSource(), facet, store);
  const rev = await revNow();
  if (exported && exported.rev === rev && exported.stamp !== "" && !exported.appending) return true;
  const pieces = (): AsyncIterable<Buffer> => encodeMap(facet, ledger.entries());
  const content = { revNow, pieces, stampBefore };
  const written = await replaceExport(db, ledger.source.source_no, path, exported, content);
  if (written === undefined) return false;
  if (store === "") {
    const values = [ledger.source.source_no, facet, written];
    await db.run("DELETE FROM cleared WHERE source_no = $1 AND facet = $2 AND rev <= $3", values);
  }
  return true;
}

function facetRev(source: SourceRow, facet: Facet, store: string): number {
  return facet === "indexed" && store !== "" ? source.rev : source[FACET_REV[facet]];
}
