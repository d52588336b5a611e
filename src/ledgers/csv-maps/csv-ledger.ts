import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ItemId, SourceId, VectorStoreId } from "../../contracts/ids.ts";
import type { Ledger, LedgerEntry, Seen } from "../../contracts/ledger.ts";
import { encodeCsvRow } from "../../lib/csv.ts";
import { withFileLock } from "../../lib/file-lease.ts";
import { toFileStamp } from "../../lib/time.ts";
import { CsvEntry, type Tables } from "./csv-entry.ts";
import { KeyIndex } from "./key-index.ts";
import {
  decodeFile,
  encodeIndexed,
  encodeMirrored,
  encodeObserved,
  encodeSeen,
  FILE_COLUMN,
  isSeenRow,
} from "./map-codec.ts";
import { mapFiles, nameOfOriginal, TABLE_NAMES, tailFile } from "./map-files.ts";
import { applyChange, MapJournal, type RowChange, type TableName } from "./map-journal.ts";
import { emptyTable, isLarge, type OpenTable, readTable, stampOf, type TablePlace, writeTable } from "./open-table.ts";
import { inPages, keysOfAll } from "./pages-of-keys.ts";
import { keepRecent, takeRecent } from "./recent-tables.ts";
import { CorruptTableError, type Row } from "./row-table.ts";

/** While a run is on, the map files are at most about this old. */
const MERGE_EVERY_MS = 3000;
/** ... unless writing them takes long: at most one part in twenty of the run goes into it. */
const MERGE_COST_FACTOR = 20;

/** Up to this a map file is held in memory: that is faster, and weighs little. Less where changes may wait beside it. */
const HELD_BYTES = 40 * 1024 * 1024;
const HELD_BESIDE_TAIL_BYTES = 4 * 1024 * 1024;

export interface CsvLedgerOptions {
  /** The source's folder, where the map files are. */
  readonly folder: string;
  readonly sourceId: SourceId;
  /** Names the journal: every step has its own, guarded by the step's lease. */
  readonly step: "download" | "process" | "embed";
  /** For dry runs: nothing on disk is touched, and puts are refused. With a `scratchId`, copies of its own are read. */
  readonly readOnly?: boolean;
  readonly scratchId?: string | undefined;
  /** What is indexed in this store, which is not the domain's own, is kept in `vectorstore_map_[ID].csv`. */
  readonly vectorStoreId?: VectorStoreId | undefined;
  /**
   * Nobody else reads `sharepoint_map.csv` and `files_map.csv` of this source: while they are large, what changes in them waits
   * beside them, in a tail, until it is worth writing them.
   */
  readonly mayLag?: boolean;
  /** As HELD_BYTES. */
  readonly heldBytes?: number;
}

/** The three map files of a source and `.lockstep/observed.csv`, as one ledger. */
export class CsvLedger implements Ledger {
  readonly sourceId: SourceId;
  /** Map files that could not be read, one sentence each. They were set aside and count as empty. */
  readonly problems: string[] = [];
  readonly #folder: string;
  readonly #readOnly: boolean;
  readonly #places: Readonly<Record<TableName, TablePlace>>;
  readonly #isOwnStore: boolean;
  readonly #journal: MapJournal;
  #keys = new KeyIndex();
  readonly #tables = new Map<TableName, OpenTable>();
  #current: Tables | undefined;
  #mergedAtMs = Date.now();
  #mergeCostMs = 0;
  #queue: Promise<void> = Promise.resolve();
  /** Somebody else wrote map files while this ledger was open, so it cannot vouch for all that is in them. */
  #disturbed = false;

  private constructor(options: CsvLedgerOptions) {
    this.sourceId = options.sourceId;
    this.#folder = options.folder;
    this.#readOnly = options.readOnly ?? false;
    const store = options.vectorStoreId;
    this.#isOwnStore = store === undefined;
    const { tables, journal } = mapFiles(options.step, store, options.scratchId);
    this.#places = {
      seen: placeOf("seen", tables.seen, options),
      mirrored: placeOf("mirrored", tables.mirrored, options),
      indexed: placeOf("indexed", tables.indexed, options),
      observed: placeOf("observed", tables.observed, options),
    };
    this.#journal = new MapJournal(join(options.folder, journal));
  }

  static async open(options: CsvLedgerOptions): Promise<CsvLedger> {
    if (!options.readOnly) await mkdir(join(options.folder, ".lockstep"), { recursive: true });
    const ledger = new CsvLedger(options);
    const recent = ledger.#isOwnStore && options.scratchId === undefined ? takeRecent(options.folder) : undefined;
    if (recent) ledger.#keys = recent.keys;
    await Promise.all(
      TABLE_NAMES.map(async (name) => {
        ledger.#tables.set(name, await ledger.#readOrReuse(name, recent?.tables.get(name)));
      }),
    );
    const left = await ledger.#journal.read();
    if (left) await ledger.#recover(left);
    return ledger;
  }

  /** Brings what a killed run acknowledged into the map files before anything is asked of them. */
  async #recover(left: readonly RowChange[]): Promise<void> {
    for (const change of left) {
      const open = this.#open(change.table);
      applyChange(open.table, change);
      open.changes.push(change);
    }
    if (!this.#readOnly) await this.#merge();
  }

  async get(item: ItemId): Promise<LedgerEntry | undefined> {
    return this.#entry(item);
  }

  async getMany(items: readonly ItemId[]): Promise<(LedgerEntry | undefined)[]> {
    return items.map((item) => this.#entry(item));
  }

  async *items(): AsyncGenerator<ItemId[], void> {
    for await (const entries of this.entries()) yield entries.map(({ itemId }) => itemId);
  }

  async *files(): AsyncGenerator<{ itemId: ItemId; file: string }[], void> {
    const { table } = this.#open("mirrored");
    yield* inPages(table.keys(), (key) => {
      const file = decodeFile(this.#open("mirrored").table.field(key, FILE_COLUMN));
      return file === "" ? undefined : { itemId: key as ItemId, file };
    });
  }

  async *entries(): AsyncGenerator<LedgerEntry[], void> {
    const tables = (["seen", "mirrored", "indexed"] as const).map((name) => this.#open(name).table);
    yield* inPages(keysOfAll(tables), (key) => this.#entry(key as ItemId));
  }

  put(item: ItemId, facets: Partial<Omit<LedgerEntry, "itemId">>): void {
    if (this.#readOnly) throw new Error(`put ${item}: the ledger was opened for reading only`);
    const { seen, mirrored, indexed } = facets;
    if (seen !== undefined) this.#writeSeen(item, seen);
    if (mirrored === undefined && indexed === undefined) return;
    const current = this.#entry(item);
    if (mirrored !== undefined) this.#write("mirrored", item, mirrored && encodeMirrored(item, mirrored));
    if (indexed !== undefined) this.#write("indexed", item, indexed && encodeIndexed(item, indexed));
    const both = {
      mirrored: mirrored === undefined ? (current?.mirrored ?? null) : mirrored,
      indexed: indexed === undefined ? (current?.indexed ?? null) : indexed,
    };
    if (this.#isOwnStore) this.#write("observed", item, encodeObserved(item, both.mirrored, both.indexed));
  }

  version(): string {
    const open = TABLE_NAMES.map((name) => this.#open(name));
    if (this.#disturbed || !this.#isOwnStore) return "";
    if (open.some(({ changes, stamp }) => changes.length > 0 || stamp === "")) return "";
    return open.map(({ stamp }) => stamp).join(" ");
  }

  flush(): Promise<void> {
    return this.#inOrder(async () => {
      this.#journal.flush();
      const dueAtMs = this.#mergedAtMs + Math.max(MERGE_EVERY_MS, this.#mergeCostMs * MERGE_COST_FACTOR);
      if (Date.now() >= dueAtMs) await this.#merge();
    });
  }

  settle(): Promise<void> {
    return this.#readOnly ? Promise.resolve() : this.#inOrder(() => this.#merge());
  }

  close(): Promise<void> {
    if (this.#readOnly) return Promise.resolve();
    return this.#inOrder(async () => {
      await this.#merge();
      if (this.#isOwnStore) keepRecent(this.#folder, { keys: this.#keys, tables: this.#tables });
    });
  }

  #entry(item: ItemId): LedgerEntry | undefined {
    this.#current ??= {
      seen: this.#open("seen").table,
      mirrored: this.#open("mirrored").table,
      indexed: this.#open("indexed").table,
      observed: this.#open("observed").table,
    };
    const entry = new CsvEntry(item, this.#current, { isOwnStore: this.#isOwnStore });
    return entry.isKnown ? entry : undefined;
  }

  /** Of every item in every run, and mostly to no effect: told from the row as it stands, without encoding another. */
  #writeSeen(item: ItemId, seen: Seen | null): void {
    const row = this.#open("seen").table.encoded(item);
    if (!seen || !isSeenRow(row, item, seen)) this.#write("seen", item, seen && encodeSeen(item, seen));
  }

  #write(name: TableName, key: string, after: Row | null): void {
    const open = this.#open(name);
    if (open.table.encoded(key) === (after ? encodeCsvRow(after) : "")) return;
    const before = open.table.get(key);
    const change: RowChange = { table: name, key, before, after };
    open.table.set(key, after);
    open.changes.push(change);
    this.#journal.append(change);
  }

  #open(name: TableName): OpenTable {
    const open = this.#tables.get(name);
    if (!open) throw new Error(`open table ${name}: not read yet`);
    return open;
  }

  async #readOrReuse(name: TableName, recent: OpenTable | undefined): Promise<OpenTable> {
    const unchanged = recent && recent.stamp !== "" && recent.stamp === (await stampOf(this.#places[name]));
    return unchanged ? { table: recent.table, stamp: recent.stamp, changes: [] } : await this.#read(name);
  }

  async #read(name: TableName): Promise<OpenTable> {
    const place = this.#places[name];
    try {
      return await readTable(place, this.#keys);
    } catch (error) {
      if (!(error instanceof CorruptTableError)) throw error;
      const file = nameOfOriginal(place.file);
      const aside = `${file}.corrupt-${toFileStamp(new Date())}`;
      if (!this.#readOnly) await this.#setAside(place, aside);
      this.problems.push(`${file} cannot be used (${error.message}); it is set aside as ${aside}`);
      return emptyTable(place, this.#keys);
    }
  }

  /** With its tail, which says what changed in rows that nobody can read. */
  async #setAside({ file, name }: TablePlace, aside: string): Promise<void> {
    await rename(join(this.#folder, file), join(this.#folder, aside));
    await rm(join(this.#folder, tailFile(name)), { force: true });
  }

  /** Short and exclusive: read again what others may have written, put our rows in, rename over. */
  async #merge(): Promise<void> {
    const startedAtMs = Date.now();
    const due = TABLE_NAMES.filter((name) => this.#open(name).changes.length > 0 || this.#open(name).stamp === "");
    try {
      if (due.length > 0) {
        await withFileLock(join(this.#folder, ".lockstep", "maps.lock"), async () => {
          for (const name of due) await this.#mergeTable(name);
        });
      }
    } catch (error) {
      this.#journal.flush();
      this.#journal.close();
      throw error;
    }
    await this.#journal.restart(() => TABLE_NAMES.flatMap((name) => this.#open(name).changes));
    this.#mergedAtMs = Date.now();
    this.#mergeCostMs = this.#mergedAtMs - startedAtMs;
  }

  async #mergeTable(name: TableName): Promise<void> {
    const open = this.#open(name);
    const place = this.#places[name];
    const moved = (await stampOf(place)) !== open.stamp;
    const fresh = moved ? await this.#read(name) : undefined;
    if (moved && open.stamp !== "") this.#disturbed = true;
    // No await between here and what is written: rows put meanwhile belong to the next merge.
    const changes = open.changes;
    open.changes = [];
    if (fresh) {
      for (const change of changes) applyChange(fresh.table, change);
      open.table = fresh.table;
    }
    let written: "file" | "tail";
    try {
      written = await writeTable(open, changes, place);
    } catch (error) {
      open.changes = [...changes, ...open.changes];
      throw error;
    }
    open.stamp = await stampOf(place);
    if (written === "file" && (open.table.isHeavy || isLarge(place))) {
      open.table = (await readTable(place, this.#keys)).table;
      for (const { key, after } of open.changes) open.table.set(key, after);
    }
    this.#current = undefined;
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    const run = this.#queue.then(work);
    this.#queue = run.catch(() => undefined);
    return run;
  }
}

function placeOf(name: TableName, file: string, { folder, readOnly, ...options }: CsvLedgerOptions): TablePlace {
  const mayLag = options.mayLag === true && name !== "indexed";
  const heldBytes = options.heldBytes ?? (options.mayLag ? HELD_BESIDE_TAIL_BYTES : HELD_BYTES);
  return { folder, name, file, mayLag, readOnly: readOnly ?? false, heldBytes };
}
