import { ConflictError } from "../contracts/errors.ts";
import type { ItemId, SourceId, VectorStoreId } from "../contracts/ids.ts";
import type {
  Indexed,
  ItemLabel,
  ItemState,
  Ledger,
  LedgerEntry,
  ListingCheckpoint,
  MeasuredFile,
} from "../contracts/ledger.ts";
import type { Sighting } from "../contracts/source.ts";
import { slicesOf } from "../lib/slices-of.ts";
import { isListed, listsOf, readPages, replacing, type Sql, type SqlDatabase, type SqlValue } from "../lib/sql/sql.ts";
import { describeVersions, type EmbeddedFile, embeddedFile } from "./embedded-files.ts";
import {
  belowRoot,
  type EntryRow,
  type FetchedRow,
  FILE_INTO,
  fromRoot,
  INDEXED_INTO,
  ITEM_INTO,
  indexedValues,
  isAsFetched,
  type LabelRow,
  labelOf,
  mirroredValues,
  numbersOf,
  SELECT_ENTRIES,
  SELECT_FETCHED,
  SELECT_LABELS,
  SELECT_STATES,
  type StateRow,
  seenValues,
  stateOf,
  toEntryRow,
  toLabel,
  toMeasured,
  toState,
  UPDATE_FILE,
  UPDATE_INDEXED,
  UPDATE_SEEN,
} from "./entry-rows.ts";
import type { Row } from "./exports/map-codec.ts";
import { exportMaps, type MapAppender } from "./exports/map-exports.ts";
import { FACETS, rowOf } from "./exports/map-files.ts";
import { emptyLog } from "./ledger-databases.ts";
import { findSource, NO_SOURCE, openSource, type SourceKey, type SourceRow } from "./source-row.ts";
import { HAS_NO_FACET, SqlManifest } from "./sql-manifest.ts";

export type Facets = Partial<Omit<LedgerEntry, "itemId">>;
/** Facets of an item, and the version that its facet `indexed` describes. */
type Put = Facets & { readonly embedded?: EmbeddedFile };
export type Facet = keyof Omit<LedgerEntry, "itemId">;

/** Columns of the source row that a run updates. */
type Notes = Partial<
  Omit<SourceRow, "source_no" | "birth" | "imported" | "rev" | "seen_rev" | "mirrored_rev" | "indexed_rev">
>;

export interface SqlLedgerOptions extends SourceKey {
  /** The store of the index rows, if not the domain's own. */
  readonly vectorStoreId?: VectorStoreId | undefined;
  /** The source's folder, absolute, for kinds that keep map files. */
  readonly mapFolder?: string | undefined;
  /** Appends rows to the map files while the step runs. */
  readonly appender?: MapAppender | undefined;
  /** Called on close. */
  readonly release?: (() => Promise<void>) | undefined;
  /** Read-only with puts that only this ledger sees. */
  readonly isScratch?: boolean | undefined;
}

const PAGE = 1000;
/** Small pages: their objects die young, which makes garbage collection cheap. */
const STATES_AT_ONCE = 250;
/** For fewer items, looking up the ends of the range costs as much as it saves. */
const WORTH_A_RANGE = 50;
/**
 * Whether item `i` has a facet; its row may only be there for another store. `source_no` keeps PostgreSQL from reading
 * rows of other sources.
 */
const HAS_FACET = `(i.listed = 1 OR EXISTS (SELECT 1 FROM file f WHERE f.item_no = i.item_no AND f.source_no = $1)
  OR EXISTS (SELECT 1 FROM indexed x WHERE x.item_no = i.item_no AND x.store = $2 AND x.source_no = $1))`;
const COUNT_FILES = "SELECT count(*) FROM file WHERE source_no = $1 AND path > ''";
/** Flushing after every item takes longer than downloading it. */
const NOW_AND_THEN_MS = 200;

/** The part of one source in the ledger of its domain. */
export class SqlLedger implements Ledger {
  readonly sourceId: SourceId;
  /** Map files that could not be read, one sentence each. They were set aside and count as empty. */
  readonly problems: string[] = [];
  readonly edits: string[] = [];
  readonly manifest: SqlManifest;
  wasLost = false;
  readonly #db: Sql | undefined;
  /** undefined: read-only. */
  readonly #writer: SqlDatabase | undefined;
  readonly #key: SourceKey;
  readonly #store: VectorStoreId | "";
  readonly #mapFolder: string | undefined;
  readonly #appender: MapAppender | undefined;
  readonly #release: (() => Promise<void>) | undefined;
  readonly #isScratch: boolean;
  #source: SourceRow;
  /** Puts that are not written yet, and those that the current transaction writes. */
  #pending = new Map<ItemId, Put>();
  #writing: ReadonlyMap<ItemId, Put> = new Map();
  #notes: Notes = {};
  #queue: Promise<void> = Promise.resolve();
  #hasWritten = false;
  #flushedAtMs = Number.NEGATIVE_INFINITY;

  private constructor(
    db: Sql | undefined,
    writer: SqlDatabase | undefined,
    source: SourceRow,
    options: SqlLedgerOptions,
  ) {
    this.sourceId = options.sourceId;
    this.#db = db;
    this.#writer = writer;
    this.#key = options;
    this.#store = options.vectorStoreId ?? "";
    this.#mapFolder = options.mapFolder;
    this.#appender = options.appender;
    this.#release = options.release;
    this.#isScratch = options.isScratch ?? false;
    this.#source = source;
    this.manifest = new SqlManifest({
      sql: db,
      source: () => this.#source,
      flush: () => this.flush(),
      puts: writer ? "written" : this.#isScratch ? "seen" : "refused",
    });
  }

  static async open(db: SqlDatabase, options: SqlLedgerOptions): Promise<SqlLedger> {
    return new SqlLedger(db, db, await openSource(db, options), options);
  }

  /** Opens it read-only. Without a database (a domain that was never crawled) it is empty. */
  static async read(sql: Sql | undefined, options: SqlLedgerOptions): Promise<SqlLedger> {
    const source = sql && (await findSource(sql, options));
    return new SqlLedger(sql, undefined, source ?? NO_SOURCE, options);
  }

  /** The source row as last read. */
  get source(): SourceRow {
    return this.#source;
  }

  /** The source's folder below `crawler/`. */
  get root(): string {
    return this.#key.root;
  }

  async readSource(): Promise<SourceRow> {
    return (this.#db && (await findSource(this.#db, this.#key))) ?? NO_SOURCE;
  }

  /** Returns the stored rows, with the revisions of their facets. */
  async rows(items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, EntryRow>> {
    return this.#db ? await this.#select(this.#db, items) : new Map();
  }

  async get(item: ItemId): Promise<LedgerEntry | undefined> {
    return (await this.getMany([item]))[0];
  }

  async getMany(items: readonly ItemId[]): Promise<(LedgerEntry | undefined)[]> {
    // A flush may end in between: remember what was put before it.
    const before = new Map<ItemId, Facets>();
    for (const item of this.#pending.size + this.#writing.size > 0 ? items : []) {
      const put = this.#put(item);
      if (put) before.set(item, put);
    }
    const rows = await this.rows(items);
    const putOf = (item: ItemId): Facets | undefined =>
      before.has(item) ? { ...before.get(item), ...this.#put(item) } : this.#put(item);
    return items.map((item) => merged(item, rows.get(item)?.entry, putOf(item)));
  }

  async unchangedFiles(sightings: readonly Sighting[]): Promise<(MeasuredFile | undefined)[]> {
    const items = sightings.map(({ itemId }) => itemId);
    const rows = await this.#rowsOf<FetchedRow>(SELECT_FETCHED, items, []);
    return rows.map((row, at) => {
      const sighting = sightings[at];
      const isSame = row && sighting && !this.#put(sighting.itemId) && isAsFetched(row, sighting);
      return isSame ? toMeasured(row, this.#key.root) : undefined;
    });
  }

  /** In the given order; the first column is the item's id. `values`: those behind `$1`, the source. */
  async #rowsOf<Row extends readonly [ItemId, ...unknown[]]>(
    select: string,
    items: readonly ItemId[],
    values: readonly SqlValue[],
  ): Promise<(Row | undefined)[]> {
    const db = this.#db;
    // Before the first listing, there is nothing to be found.
    if (!db || this.#source.rev === 0) return items.map(() => undefined);
    const all = [this.#source.source_no, ...values];
    const [next, after] = [`$${all.length + 1}`, `$${all.length + 2}`];
    const range = await this.#rangeOf(db, items);
    const nearby = range
      ? await db.rows(`${select} AND i.item_no BETWEEN ${next} AND ${after}`, [...all, ...range])
      : [];
    const found = inOrder(items, nearby as unknown as Row[]);
    const others = items.filter((_, at) => !found[at]);
    const text = `${select} AND ${isListed(db, "i.item_id", next, "text")}`;
    for (const list of listsOf(others)) nearby.push(...(await db.rows(text, [...all, list])));
    return others.length > 0 ? inOrder(items, nearby as unknown as Row[]) : found;
  }

  async *items(): AsyncGenerator<ItemId[], void> {
    await this.flush();
    const fresh = new Set(this.#pending.keys());
    for await (const rows of this.#pages<{ item_id: ItemId; item_no: number }>(
      `SELECT i.item_no, i.item_id FROM item i WHERE i.source_no = $1 AND ${HAS_FACET}`,
      [this.#store],
    )) {
      for (const { item_id } of rows) fresh.delete(item_id);
      yield rows.map(({ item_id }) => item_id);
    }
    if (fresh.size > 0) yield [...fresh];
  }

  async *states(): AsyncGenerator<ItemState[], void> {
    await this.flush();
    const { root } = this.#key;
    const fresh = new Set(this.#pending.keys());
    const statesOf = async (items: readonly ItemId[]): Promise<ItemState[]> =>
      (await this.getMany(items)).flatMap((entry) => (entry?.seen || entry?.mirrored ? [stateOf(entry)] : []));
    const text = `${SELECT_STATES} AND i.item_no > $2 ORDER BY i.item_no LIMIT ${STATES_AT_ONCE}`;
    const read = async (after: number): Promise<StateRow[]> =>
      ((await this.#db?.rows(text, [this.#source.source_no, after])) ?? []) as unknown as StateRow[];
    for await (const rows of readPages(STATES_AT_ONCE, ([item_no]) => item_no, read)) {
      const page: ItemState[] = [];
      const put: ItemId[] = [];
      for (const row of rows) {
        const [, item] = row;
        fresh.delete(item);
        if (this.#put(item)) put.push(item);
        else page.push(toState(row, root));
      }
      yield put.length > 0 ? [...page, ...(await statesOf(put))] : page;
    }
    if (fresh.size > 0) yield await statesOf([...fresh]);
  }

  async labels(items: readonly ItemId[]): Promise<(ItemLabel | undefined)[]> {
    if (this.#pending.size > 0) {
      const entries = await this.getMany(items);
      return entries.map((entry) => (entry?.indexed ? labelOf(entry) : undefined));
    }
    const rows = await this.#rowsOf<LabelRow>(SELECT_LABELS, items, [this.#store]);
    return rows.map((row) => row && toLabel(row, this.#key.root));
  }

  async countFiles(): Promise<number> {
    await this.flush();
    if (this.#pending.size > 0) return (await this.count()).files;
    const row = await this.#db?.get<{ files: number }>(`SELECT (${COUNT_FILES}) AS files`, [this.#source.source_no]);
    return row?.files ?? 0;
  }

  async filesAmong(files: Iterable<string>): Promise<ReadonlySet<string>> {
    await this.flush();
    const { root } = this.#key;
    const wanted = new Set(files);
    const found = new Set<string>();
    const add = (file: string | null): void => void (file && wanted.has(file) && found.add(file));
    if (this.#pending.size > 0) {
      for await (const page of this.states()) for (const { file } of page) add(file);
    } else if (this.#db) {
      const text = `SELECT path FROM file WHERE source_no = $1 AND ${isListed(this.#db, "path", "$2", "text")}`;
      for (const list of listsOf([...wanted].map((file) => belowRoot(file, root)))) {
        for (const [path] of await this.#db.rows(text, [this.#source.source_no, list])) {
          add(fromRoot(path as string, root));
        }
      }
    }
    return found;
  }

  async count(): Promise<{ items: number; files: number; indexed: number }> {
    await this.flush();
    const counts = { items: 0, files: 0, indexed: 0 };
    if (this.#pending.size > 0) {
      for await (const page of this.entries()) {
        counts.items += page.length;
        for (const { mirrored, indexed } of page) {
          if (mirrored?.file) counts.files += 1;
          if (indexed?.fileId) counts.indexed += 1;
        }
      }
      return counts;
    }
    const items = `SELECT count(*) FROM item i WHERE i.source_no = $1 AND ${HAS_FACET}`;
    const indexed = "SELECT count(*) FROM indexed WHERE source_no = $1 AND store = $2 AND file_id <> ''";
    const values = [this.#source.source_no, this.#store];
    const text = `SELECT (${items}) AS items, (${COUNT_FILES}) AS files, (${indexed}) AS indexed`;
    return (await this.#db?.get(text, values)) ?? counts;
  }

  async changedSince(revision: number, folders: readonly string[]): Promise<ItemId[]> {
    await this.flush();
    const below = folders.map(
      (_, at) => `SELECT item_no FROM file WHERE source_no = $1 AND path >= $${2 * at + 4} AND path < $${2 * at + 5}`,
    );
    const changed = [
      "SELECT item_no FROM item WHERE source_no = $1 AND rev > $3",
      "SELECT item_no FROM file WHERE source_no = $1 AND rev > $3",
      "SELECT item_no FROM indexed WHERE source_no = $1 AND store = $2 AND rev > $3",
      ...below,
    ].join(" UNION ");
    // '0' is the character after '/'.
    const ranges = folders.flatMap((folder) => [`${folder}/`, `${folder}0`]);
    const rows = await this.#db?.all<{ item_id: ItemId }>(`SELECT item_id FROM item WHERE item_no IN (${changed})`, [
      this.#source.source_no,
      this.#store,
      revision,
      ...ranges,
    ]);
    return [...new Set([...(rows ?? []).map(({ item_id }) => item_id), ...this.#pending.keys()])];
  }

  get revision(): number {
    return this.#source.rev;
  }

  get listing(): ListingCheckpoint | undefined {
    const row = { ...this.#source, ...this.#notes };
    if (row.listed_at === "") return undefined;
    return {
      policy: row.policy,
      cursor: row.change_mark,
      listedAt: row.listed_at,
      checkedAt: row.checked_at,
      runsByFeed: row.runs_by_mark,
      hiddenRows: row.hidden_rows,
      hashesOwed: row.hashes_owed,
      nextHashes: row.hash_next,
    };
  }

  noteListing(listing: ListingCheckpoint): void {
    this.#notes = {
      ...this.#notes,
      policy: listing.policy,
      change_mark: listing.cursor,
      listed_at: listing.listedAt,
      checked_at: listing.checkedAt,
      runs_by_mark: listing.runsByFeed,
      hidden_rows: listing.hiddenRows,
      hashes_owed: listing.hashesOwed,
      hash_next: listing.nextHashes,
    };
  }

  indexedUpTo(rules: string): number {
    const { embedded_rules, embedded_rev } = { ...this.#source, ...this.#notes };
    return this.#store === "" && embedded_rules === rules ? embedded_rev : 0;
  }

  noteIndexed(rules: string, revision: number): void {
    if (this.#store === "") this.#notes = { ...this.#notes, embedded_rules: rules, embedded_rev: revision };
  }

  get textsBy(): string {
    return { ...this.#source, ...this.#notes }.texts_by;
  }

  noteTexts(revision: string): void {
    this.#notes = { ...this.#notes, texts_by: revision };
  }

  /** After an edit of a map file: everything is compared again. */
  distrust(): void {
    this.#notes = { ...this.#notes, policy: "", change_mark: "", embedded_rules: "" };
  }

  async *entries(): AsyncGenerator<LedgerEntry[], void> {
    await this.flush();
    const fresh = new Set(this.#pending.keys());
    const text = `${SELECT_ENTRIES} AND i.item_no > $3 ORDER BY i.item_no LIMIT ${PAGE}`;
    const read = async (after: number): Promise<EntryRow[]> =>
      this.#db ? await this.#entryRows(this.#db, text, after) : [];
    for await (const rows of readPages(PAGE, ({ item_no }) => item_no, read)) {
      const page: LedgerEntry[] = [];
      for (const { item_id: item, entry: written } of rows) {
        fresh.delete(item);
        const entry = merged(item, written, this.#put(item));
        if (entry) page.push(entry);
      }
      yield page;
    }
    const rest = (await this.getMany([...fresh])).filter((entry) => entry !== undefined);
    if (rest.length > 0) yield rest;
  }

  put(item: ItemId, facets: Put): void {
    if (!this.#writer && !this.#isScratch) throw new Error(`put ${item}: the ledger was opened for reading only`);
    this.overlay(item, facets);
  }

  putEmbedded(entry: LedgerEntry, indexed: Indexed): void {
    const embedded = this.#store === "" ? { embedded: embeddedFile(this.#key, entry, indexed) } : {};
    this.put(entry.itemId, { indexed, ...embedded });
  }

  /** Like put, but allowed on a read-only ledger, where it is never written. */
  overlay(item: ItemId, facets: Put): void {
    this.#pending.set(item, { ...this.#pending.get(item), ...facets });
  }

  flush(): Promise<void> {
    const run = this.#queue.then(() => this.#flush());
    this.#queue = run.catch(() => undefined);
    return run;
  }

  async flushNowAndThen(): Promise<void> {
    if (performance.now() - this.#flushedAtMs > NOW_AND_THEN_MS) await this.flush();
  }

  async close(): Promise<void> {
    await this.#release?.();
    await this.flush();
    const writer = this.#writer;
    if (!writer) return;
    if (this.#mapFolder !== undefined) {
      await exportMaps(this, writer, { folder: this.#mapFolder, store: this.#store }, this.#appender);
    }
    if (this.#hasWritten) await emptyLog(writer);
  }

  async #flush(): Promise<void> {
    const notes = this.#changedNotes();
    if (!this.#writer || (this.#pending.size + notes.length === 0 && !this.manifest.hasChanges)) return;
    this.#writing = this.#pending;
    this.#pending = new Map();
    this.#flushedAtMs = performance.now();
    const noted = this.#notes;
    this.manifest.beginWriting();
    const before = this.#source;
    let isWritten = false;
    try {
      const written = await this.#writer.write(async (sql) => {
        const changes = await this.#write(sql, this.#writing, before);
        await this.#writeNotes(sql, notes);
        return changes;
      });
      isWritten = true;
      // Write notes once: the next flush must not undo a `distrust` of another process.
      if (this.#notes === noted) this.#notes = {};
      this.manifest.endWriting("written");
      await this.#append(written);
    } catch (error) {
      this.manifest.endWriting("failed");
      if (!isWritten) this.#source = before;
      const later = this.#pending;
      this.#pending = new Map(this.#writing);
      for (const [item, facets] of later) this.overlay(item, facets);
      throw error;
    } finally {
      this.#writing = new Map();
    }
  }

  #changedNotes(): [column: string, value: SqlValue][] {
    const before: Readonly<Record<string, unknown>> = { ...this.#source };
    return Object.entries(this.#notes).filter(([column, value]) => value !== before[column]);
  }

  /** In the transaction of the puts: a checkpoint must not be newer than the changes of its listing. */
  async #writeNotes(sql: Sql, notes: readonly [column: string, value: SqlValue][]): Promise<void> {
    if (notes.length === 0) return;
    const sets = notes.map(([column], at) => `${column} = $${at + 2}`).join(", ");
    const values = notes.map(([, value]) => value);
    await sql.run(`UPDATE source SET ${sets} WHERE source_no = $1`, [this.#source.source_no, ...values]);
    this.#source = { ...this.#source, ...Object.fromEntries(notes) };
  }

  async #append(written: FacetChanges): Promise<void> {
    if (!this.#appender || !this.#writer) return;
    for (const facet of FACETS) {
      const rows: Row[] = [];
      for (const { item } of written[facet]) {
        const { seen = null, mirrored = null, indexed = null } = this.#writing.get(item) ?? {};
        const row = rowOf({ itemId: item, seen, mirrored, indexed }, facet);
        if (row) rows.push(row);
      }
      await this.#appender.add(facet, rows, this, this.#writer);
    }
  }

  async #write(sql: Sql, puts: ReadonlyMap<ItemId, Put>, before: SourceRow): Promise<FacetChanges> {
    const source = await findSource(sql, this.#key);
    if (!source) throw new Error(`write the ledger of source '${this.sourceId}': the source was removed meanwhile`);
    const { isWriting: tracks } = this.manifest;
    if (tracks && source.tracked_rev !== before.tracked_rev) {
      throw new ConflictError(`The manifest of source '${this.sourceId}' was written by another process meanwhile.`);
    }
    this.#source = source;
    const rows = await this.#select(sql, [...puts.keys()]);
    const versions = [...puts.values()].flatMap(({ embedded }) => embedded ?? []);
    if (versions.length > 0) await describeVersions(sql, this.#key.domainId, versions);
    const changes = new FacetChanges(this.#key.root);
    for (const [item, facets] of puts) changes.add(item, facets, rows.get(item));
    if (changes.isEmpty && !tracks) return changes;
    this.#hasWritten = true;
    const next = await nextRevision(sql, source, changes, { isOwnStore: this.#store === "", tracks });
    await writeChanges(sql, changes, next, this.#store);
    if (tracks) await this.manifest.write(sql, next);
    if (this.#mapFolder !== undefined && this.#store === "") await noteCleared(sql, changes, next);
    this.#source = { ...next, ...(tracks && this.manifest.scanColumns) };
    return changes;
  }

  async #select(sql: Sql, items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, EntryRow>> {
    const text = `${SELECT_ENTRIES} AND ${isListed(sql, "i.item_id", "$3", "text")}`;
    const found = new Map<ItemId, EntryRow>();
    for (const page of slicesOf(items, PAGE)) {
      for (const row of await this.#selectRange(sql, page)) found.set(row.item_id, row);
      const others = page.filter((item) => !found.has(item));
      for (const list of listsOf(others)) {
        for (const row of await this.#entryRows(sql, text, list)) found.set(row.item_id, row);
      }
    }
    return found;
  }

  /**
   * Sources list most items in the order in which they came, which is that of their numbers. Then the rows lie side by
   * side, and reading them takes two thirds of the time of looking each up. May return rows of other items.
   */
  async #selectRange(sql: Sql, items: readonly ItemId[]): Promise<readonly EntryRow[]> {
    const range = await this.#rangeOf(sql, items);
    return range ? await this.#entryRows(sql, `${SELECT_ENTRIES} AND i.item_no BETWEEN $3 AND $4`, ...range) : [];
  }

  /** undefined: their numbers are too far apart. */
  async #rangeOf(sql: Sql, items: readonly ItemId[]): Promise<readonly [from: number, to: number] | undefined> {
    const [first, last] = [items.at(0), items.at(-1)];
    if (!first || !last || items.length < WORTH_A_RANGE) return undefined;
    const numbers = await numbersOf(sql, this.#source.source_no, [first, last]);
    const [from, to] = [numbers.get(first) ?? 0, numbers.get(last) ?? 0];
    return from === 0 || to < from || to - from >= 2 * items.length ? undefined : [from, to];
  }

  async #entryRows(sql: Sql, text: string, ...values: readonly SqlValue[]): Promise<EntryRow[]> {
    const rows = await sql.rows(text, [this.#source.source_no, this.#store, ...values]);
    return rows.map((cells) => toEntryRow(cells, this.#key.root));
  }

  /** Ordered by item number: an item added meanwhile comes last, or not at all. */
  #pages<Row extends { readonly item_no: number }>(
    select: string,
    values: readonly SqlValue[] = [],
  ): AsyncGenerator<Row[], void> {
    const text = `${select} AND i.item_no > $${values.length + 2} ORDER BY i.item_no LIMIT ${PAGE}`;
    const read = async (after: number): Promise<Row[]> =>
      (await this.#db?.all<Row>(text, [this.#source.source_no, ...values, after])) ?? [];
    return readPages(PAGE, ({ item_no }) => item_no, read);
  }

  /** Puts of an item that are not written yet. */
  #put(item: ItemId): Facets | undefined {
    const [writing, pending] = [this.#writing.get(item), this.#pending.get(item)];
    return writing && pending ? { ...writing, ...pending } : (pending ?? writing);
  }
}

/** Most rows come in the order of the items: as long as they do, no table of them is needed. */
function inOrder<Row extends readonly [ItemId, ...unknown[]]>(
  items: readonly ItemId[],
  rows: readonly Row[],
): (Row | undefined)[] {
  let places: Map<ItemId, number> | undefined;
  let next = 0;
  return items.map((item) => {
    if (rows[next]?.[0] === item) return rows[next++];
    places ??= new Map(rows.map(([id], at) => [id, at]));
    const at = places.get(item);
    if (at === undefined) return undefined;
    next = at + 1;
    return rows[at];
  });
}

/** Merges stored facets and puts; undefined if there is no facet: a row may only be there for another store. */
function merged(itemId: ItemId, written: LedgerEntry | undefined, put?: Facets): LedgerEntry | undefined {
  if (!put) return written?.seen || written?.mirrored || written?.indexed ? written : undefined;
  const seen = put.seen === undefined ? (written?.seen ?? null) : put.seen;
  const mirrored = put.mirrored === undefined ? (written?.mirrored ?? null) : put.mirrored;
  const indexed = put.indexed === undefined ? (written?.indexed ?? null) : put.indexed;
  return seen || mirrored || indexed ? { itemId, seen, mirrored, indexed } : undefined;
}

async function nextRevision(
  sql: Sql,
  source: SourceRow,
  changes: FacetChanges,
  { isOwnStore, tracks }: { readonly isOwnStore: boolean; readonly tracks: boolean },
): Promise<SourceRow> {
  const rev = source.rev + 1;
  const next = {
    ...source,
    rev,
    seen_rev: changes.seen.length > 0 ? rev : source.seen_rev,
    mirrored_rev: changes.mirrored.length > 0 ? rev : source.mirrored_rev,
    indexed_rev: isOwnStore && changes.indexed.length > 0 ? rev : source.indexed_rev,
    tracked_rev: tracks ? rev : source.tracked_rev,
  };
  const { source_no, seen_rev, mirrored_rev, indexed_rev, tracked_rev } = next;
  await sql.run(
    "UPDATE source SET rev = $2, seen_rev = $3, mirrored_rev = $4, indexed_rev = $5, tracked_rev = $6 WHERE source_no = $1",
    [source_no, rev, seen_rev, mirrored_rev, indexed_rev, tracked_rev],
  );
  return next;
}

interface FacetChange {
  readonly item: ItemId;
  /** null: delete the facet. */
  readonly values: readonly SqlValue[] | null;
}

/** The puts that change something. */
class FacetChanges {
  readonly seen: FacetChange[] = [];
  readonly mirrored: FacetChange[] = [];
  readonly indexed: FacetChange[] = [];
  /** Items that need a new row. */
  readonly fresh: ItemId[] = [];
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  get isEmpty(): boolean {
    return this.seen.length + this.mirrored.length + this.indexed.length === 0;
  }

  add(item: ItemId, { seen, mirrored, indexed }: Facets, row: EntryRow | undefined): void {
    const before = row?.entry;
    const root = this.#root;
    let isNew = row === undefined;
    if (seen !== undefined && differs(seen, before?.seen, (one) => seenValues(one))) {
      this.seen.push({ item, values: seenValues(seen) });
      isNew = false;
    }
    if (mirrored !== undefined && differs(mirrored, before?.mirrored, (one) => mirroredValues(one, root))) {
      this.mirrored.push({ item, values: mirrored && mirroredValues(mirrored, root) });
      if (isNew) this.fresh.push(item);
      isNew = false;
    }
    if (indexed !== undefined && differs(indexed, before?.indexed, (one) => indexedValues(one, root))) {
      this.indexed.push({ item, values: indexed && indexedValues(indexed, root) });
      if (isNew) this.fresh.push(item);
    }
  }
}

function differs<T>(
  after: T | null,
  before: T | null | undefined,
  valuesOf: (facet: T) => readonly SqlValue[],
): boolean {
  if (!after || !before) return Boolean(after) !== Boolean(before);
  const [a, b] = [valuesOf(after), valuesOf(before)];
  return a.some((value, at) => value !== b[at]);
}

async function writeChanges(
  sql: Sql,
  { seen, mirrored, indexed, fresh }: FacetChanges,
  { source_no: source, rev }: SourceRow,
  store: string,
): Promise<void> {
  const unlisted = seenValues(null);
  await sql.insert(
    ITEM_INTO,
    fresh.map((item) => [source, item, rev, ...unlisted]),
    "ON CONFLICT DO NOTHING",
  );
  await sql.insert(
    ITEM_INTO,
    seen.map(({ item, values }) => [source, item, rev, ...(values ?? unlisted)]),
    UPDATE_SEEN,
  );
  const numbers = await numbersOf(
    sql,
    source,
    [...mirrored, ...indexed, ...seen].map(({ item }) => item),
  );
  const numberOf = (item: ItemId): number => numbers.get(item) ?? 0;
  const rowsOf = (changes: readonly FacetChange[], head: (item: ItemId) => SqlValue[]): SqlValue[][] =>
    changes.flatMap(({ item, values }) => (values ? [[...head(item), ...values]] : []));
  const goneOf = (changes: readonly FacetChange[]): number[] =>
    changes.flatMap(({ item, values }) => (values ? [] : [numberOf(item)]));
  await sql.insert(
    FILE_INTO,
    rowsOf(mirrored, (item) => [numberOf(item), source, rev]),
    UPDATE_FILE,
  );
  await sql.insert(
    INDEXED_INTO,
    rowsOf(indexed, (item) => [numberOf(item), store, source, rev]),
    UPDATE_INDEXED,
  );
  const listed = isListed(sql, "item_no", "$1", "integer");
  for (const list of listsOf(goneOf(mirrored))) await sql.run(`DELETE FROM file WHERE ${listed}`, [list]);
  for (const list of listsOf(goneOf(indexed))) {
    await sql.run(`DELETE FROM indexed WHERE ${listed} AND store = $2`, [list, store]);
  }
  const unseen = seen.filter(({ values }) => values?.[0] === 0).map(({ item }) => numberOf(item));
  for (const list of listsOf([...goneOf(mirrored), ...goneOf(indexed), ...unseen])) {
    await sql.run(`DELETE FROM item WHERE ${listed} AND ${HAS_NO_FACET}`, [list]);
  }
}

/** Records deleted facets until the map files are written. */
async function noteCleared(sql: Sql, changes: FacetChanges, { source_no, rev }: SourceRow): Promise<void> {
  for (const facet of FACETS) {
    const gone = changes[facet].filter(({ values }) => values === null || (facet === "seen" && values[0] === 0));
    await sql.insert(
      "cleared (source_no, facet, item_id, rev)",
      gone.map(({ item }) => [source_no, facet, item, rev]),
      replacing("source_no, facet, item_id", "rev"),
    );
  }
}
