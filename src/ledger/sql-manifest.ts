import type { ItemId } from "../contracts/ids.ts";
import type {
  FileStatus,
  FilesOfFolder,
  FileVersion,
  KnownFile,
  LineageEvent,
  ListedFile,
  Manifest,
  ManifestEntry,
  ScanRecord,
  TrackedFile,
} from "../contracts/manifest.ts";
import { slicesOf } from "../lib/slices-of.ts";
import { isListed, listOf, listsOf, readPages, replacing, type Sql, type SqlValue } from "../lib/sql/sql.ts";
import { folderOf, nameOf } from "../lib/tree-path.ts";
import { ITEM_INTO, numbersOf, seenValues } from "./entry-rows.ts";
import type { SourceRow } from "./source-row.ts";

const PAGE = 1000;
/** Small pages: their objects die young, which makes garbage collection four times as fast. */
const LISTED_AT_ONCE = 250;
/** The conditions of the partial indexes: the planner needs them verbatim. */
const IS_PRESENT = "t.status IN ('active', 'error')";
const IS_ABSENT = "t.status IN ('missing', 'deleted')";
const TRACKED =
  "status, folder, name, size, modified_at, stamp, node, content_hash, last_seen_at, retry_count, error, missing_since_at, missing_runs, deleted_at";
const SELECT = `SELECT t.item_no, i.item_id, t.rev, ${TRACKED.split(", ")
  .map((column) => `t.${column}`)
  .join(", ")}`;
const JOINED = "FROM tracked t JOIN item i ON i.item_no = t.item_no WHERE t.source_no = $1";
const INTO = `tracked (item_no, source_no, rev, kept_hash, ${TRACKED})`;
const UPDATE = replacing("item_no", `rev, kept_hash, ${TRACKED}`);

interface TrackedRow {
  readonly item_no: number;
  readonly item_id: ItemId;
  readonly rev: number;
  readonly status: FileStatus;
  readonly folder: string;
  readonly name: string;
  readonly size: number;
  readonly modified_at: string;
  readonly stamp: string;
  readonly node: string;
  readonly content_hash: string;
  readonly last_seen_at: string;
  readonly retry_count: number;
  readonly error: string;
  readonly missing_since_at: string;
  readonly missing_runs: number;
  readonly deleted_at: string;
}

/** A row of SELECT_KNOWN. */
type KnownRow = readonly [
  item_id: ItemId,
  folder: string,
  name: string,
  status: FileStatus,
  stamp: string,
  node: string,
  content_hash: string,
];
const SELECT_KNOWN = "SELECT i.item_id, t.folder, t.name, t.status, t.stamp, t.node, t.content_hash";

type ActiveRow = readonly [
  item_no: number,
  item_id: ItemId,
  folder: string,
  name: string,
  size: number,
  modified_at: string,
  content_hash: string,
];

/** The ledger of the manifest. */
interface Owner {
  /** undefined: no database yet. */
  readonly sql: Sql | undefined;
  readonly source: () => SourceRow;
  readonly flush: () => Promise<void>;
  /** written: flush() writes puts. seen: they stay in memory (dry run). refused: puts throw (read-only). */
  readonly puts: "written" | "seen" | "refused";
}

type Puts = ReadonlyMap<ItemId, ManifestEntry | null>;

/** The rows of one source in `tracked`, overlaid with puts that are not written yet. */
export class SqlManifest implements Manifest {
  readonly #owner: Owner;
  /** null: dropped. In the order they were put. */
  #pending = new Map<ItemId, ManifestEntry | null>();
  #writing: Puts = new Map();
  #scan: ScanRecord | undefined;
  #writingScan: ScanRecord | undefined;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  get isKnown(): boolean {
    return this.#owner.source().tracked_rev > 0 || this.#pending.size > 0;
  }

  get lastScan(): ScanRecord | undefined {
    const { look_root: root, look_at: at, look_id: id, look_turn: turn } = this.#owner.source();
    return this.#scan ?? this.#writingScan ?? (root || at || id ? { root, at, id, turn } : undefined);
  }

  async count(): Promise<Record<FileStatus, number>> {
    const count = { active: 0, missing: 0, error: 0, deleted: 0 };
    const text = (condition: string): string =>
      `SELECT t.status, count(*) AS n FROM tracked t WHERE t.source_no = $1 AND ${condition} GROUP BY t.status`;
    for (const condition of [IS_PRESENT, IS_ABSENT]) {
      for (const { status, n } of await this.#all<{ status: FileStatus; n: number }>(text(condition), [])) {
        count[status] = Number(n);
      }
    }
    for (const [status, by] of await this.#unwrittenCounts()) count[status] += by;
    return count;
  }

  async countPresent(): Promise<{ present: number; absent: number }> {
    const countRows = async (condition: string): Promise<number> => {
      const text = `SELECT count(*) AS n FROM tracked t WHERE t.source_no = $1 ${condition}`;
      const [row] = await this.#all<{ n: number }>(text, []);
      return Number(row?.n ?? 0);
    };
    const absent = await countRows(`AND ${IS_ABSENT}`);
    const count = { present: (await countRows("")) - absent, absent };
    for (const [status, by] of await this.#unwrittenCounts()) count[isPresent({ status }) ? "present" : "absent"] += by;
    return count;
  }

  /** Returns by how much the puts change the count of each status. */
  async #unwrittenCounts(): Promise<readonly (readonly [status: FileStatus, by: 1 | -1])[]> {
    const put = this.#put();
    if (put.size === 0) return [];
    const before = (await this.#rows([...put.keys()])).map(({ status }) => [status, -1] as const);
    return [...before, ...[...put.values()].flatMap((entry) => (entry ? [[entry.status, 1] as const] : []))];
  }

  async at(paths: readonly string[]): Promise<ReadonlyMap<string, ManifestEntry>> {
    const found = await this.#atPaths<TrackedRow>(SELECT, paths, IS_PRESENT);
    found.push(...(await this.#atPaths<TrackedRow>(SELECT, paths, IS_ABSENT)));
    const wanted = new Set(paths);
    const owners = new Map<string, ManifestEntry>();
    const entries = await this.#overlaid(found.sort(oldestFirst), ({ path }) => wanted.has(path));
    for (const entry of entries) {
      const owner = owners.get(entry.path);
      if (!owner || isPresent(entry) || !isPresent(owner)) owners.set(entry.path, entry);
    }
    return owners;
  }

  async find(docIds: readonly ItemId[]): Promise<ReadonlyMap<ItemId, ManifestEntry>> {
    const wanted = new Set(docIds);
    const entries = await this.#overlaid(await this.#rows(docIds), ({ docId }) => wanted.has(docId));
    return new Map(entries.map((entry) => [entry.docId, entry]));
  }

  async file(docId: ItemId): Promise<TrackedFile | undefined> {
    const put = this.#overlay(docId);
    if (put !== undefined) return put ?? undefined;
    // Called for every fetched file: a list of one would take half as long again.
    const [cells] = await this.#cells<SqlValue[]>(`${SELECT} ${JOINED} AND i.source_no = $1 AND i.item_id = $2`, docId);
    return cells && toFile(toRow(cells), this.lastScan?.at ?? "");
  }

  /** Returns the stored entries, without puts, and their revisions. */
  async written(docIds: readonly ItemId[]): Promise<ReadonlyMap<ItemId, { entry: ManifestEntry; rev: number }>> {
    const rows = await this.#rows(docIds);
    const entries = await this.#entries(rows);
    return new Map(entries.map((entry, at) => [entry.docId, { entry, rev: rows[at]?.rev ?? 0 }]));
  }

  /** Returns entries whose path belongs to another entry. */
  async displaced(): Promise<readonly ManifestEntry[]> {
    await this.#owner.flush();
    const shared = `SELECT t.folder, t.name FROM tracked t WHERE t.source_no = $1 AND ${IS_PRESENT} GROUP BY t.folder, t.name HAVING count(*) > 1`;
    const absent = `SELECT DISTINCT t.folder, t.name FROM tracked t WHERE t.source_no = $1 AND ${IS_ABSENT}`;
    type PathRow = Pick<TrackedRow, "folder" | "name">;
    const rows = [...(await this.#all<PathRow>(shared, [])), ...(await this.#all<PathRow>(absent, []))];
    const paths = [...new Set(rows.map(({ folder, name }) => pathOf(folder, name)))];
    const owners = await this.at(paths);
    const found = [IS_PRESENT, IS_ABSENT].map((condition) => this.#atPaths<TrackedRow>(SELECT, paths, condition));
    const all = await this.#entries((await Promise.all(found)).flat());
    return all.filter(({ path, docId }) => owners.get(path)?.docId !== docId);
  }

  async *entries(): AsyncGenerator<ManifestEntry[], void> {
    for await (const { rows, fresh } of this.#pages("")) yield await this.#current(rows, fresh);
  }

  async *active(): AsyncGenerator<ListedFile[], void> {
    await this.#owner.flush();
    const fresh = new Set(this.#put().keys());
    const columns = "t.item_no, i.item_id, t.folder, t.name, t.size, t.modified_at, t.content_hash";
    const text = `SELECT ${columns} ${JOINED} AND t.status = 'active' AND t.item_no > $2 ORDER BY t.item_no LIMIT ${LISTED_AT_ONCE}`;
    const putOf = (docId: ItemId): ManifestEntry[] => {
      const put = this.#overlay(docId);
      return put?.status === "active" ? [put] : [];
    };
    const read = (after: number): Promise<ActiveRow[]> => this.#cells<ActiveRow>(text, after);
    for await (const rows of readPages(LISTED_AT_ONCE, ([item_no]) => item_no, read)) {
      for (const [, docId] of rows) fresh.delete(docId);
      yield rows.flatMap((row) => (this.#overlay(row[1]) === undefined ? toListed(row) : putOf(row[1])));
    }
    yield [...fresh].flatMap(putOf);
  }

  async *withStatus(...statuses: readonly FileStatus[]): AsyncGenerator<ManifestEntry[], void> {
    const list = statuses.map((status) => `'${status}'`).join(", ");
    const areAbsent = statuses.every((status) => !isPresent({ status }));
    const condition = `${areAbsent ? `AND ${IS_ABSENT}` : ""} AND t.status IN (${list})`;
    const isWanted = ({ status }: TrackedFile): boolean => statuses.includes(status);
    for await (const { rows, fresh } of this.#pages(condition)) {
      yield (await this.#current(rows, fresh)).filter(isWanted);
    }
  }

  async *withoutText(): AsyncGenerator<TrackedFile[], void> {
    const isUnkept = (entry: ManifestEntry): boolean =>
      entry.status === "active" && entry.versions.at(-1)?.hash !== entry.contentHash;
    for await (const { rows, fresh } of this.#pages("AND t.status = 'active' AND t.kept_hash <> t.content_hash")) {
      yield (await this.#current(rows, fresh)).filter(isUnkept);
    }
  }

  async *folders(below = ""): AsyncGenerator<string[], void> {
    await this.#owner.flush();
    // '0' is the character after '/'.
    const [end, ends] = below === "" ? ["", []] : ["AND t.folder < $3", [`${below}0`]];
    const isBelow = (folder: string): boolean => below === "" || folder === below || folder.startsWith(`${below}/`);
    const next = (after: string): string =>
      `(SELECT t.folder FROM tracked t WHERE t.source_no = $1 AND ${IS_PRESENT} AND t.folder ${after} ${end} ORDER BY t.folder LIMIT 1)`;
    const steps = `WITH RECURSIVE f (folder, n) AS (SELECT ${next(">= $2")}, 1 UNION ALL
      SELECT ${next("> f.folder")}, n + 1 FROM f WHERE f.folder IS NOT NULL AND n <= ${PAGE}) SELECT folder FROM f WHERE folder IS NOT NULL`;
    const seen = new Set<string>();
    if (below !== "" && ((await this.inFolders([below])).get(below)?.size ?? 0) > 0) {
      seen.add(below);
      yield [below];
    }
    for (let from = below === "" ? "" : `${below}/`; ; ) {
      const rows = await this.#all<{ folder: string }>(steps, [from, ...ends]);
      const page = rows.map(({ folder }) => folder).filter((folder) => !seen.has(folder));
      for (const folder of page) seen.add(folder);
      if (page.length > 0) yield page;
      if (rows.length <= PAGE) break;
      from = rows.at(-1)?.folder ?? "";
    }
    const fresh = new Set<string>();
    for (const entry of this.#put().values()) if (entry && isPresent(entry)) fresh.add(folderOf(entry.path));
    yield [...fresh].filter((folder) => isBelow(folder) && !seen.has(folder));
  }

  async *unknown(): AsyncGenerator<ItemId[], void> {
    await this.#owner.flush();
    // Both sides are read in index order.
    const numbers = `SELECT item_no FROM file WHERE source_no = $1 AND item_no > $2
      EXCEPT SELECT item_no FROM tracked WHERE source_no = $1 AND item_no > $2 ORDER BY item_no LIMIT ${PAGE}`;
    const text = `SELECT i.item_no, i.item_id FROM item i WHERE i.item_no IN (${numbers}) ORDER BY i.item_no`;
    const put = this.#put();
    for await (const rows of this.#byNumber<Pick<TrackedRow, "item_no" | "item_id">>(text)) {
      const page = rows.map(({ item_id }) => item_id).filter((docId) => !put.get(docId));
      if (page.length > 0) yield page;
    }
    const dropped = [...put].flatMap(([docId, entry]) => (entry === null ? [docId] : []));
    if (dropped.length > 0) yield dropped;
  }

  async lacking(docIds: readonly ItemId[]): Promise<readonly ItemId[]> {
    const { sql } = this.#owner;
    const lacking = new Set(docIds);
    const text =
      sql &&
      `SELECT i.item_id FROM item i JOIN tracked t ON t.item_no = i.item_no WHERE i.source_no = $1 AND ${isListed(sql, "i.item_id", "$2", "text")}`;
    for (const list of listsOf(docIds)) {
      const known = text ? await this.#all<Pick<TrackedRow, "item_id">>(text, [list]) : [];
      for (const { item_id } of known) lacking.delete(item_id);
    }
    for (const [docId, entry] of this.#put()) entry ? lacking.delete(docId) : lacking.add(docId);
    return docIds.filter((docId) => lacking.has(docId));
  }

  /** Compares one string per folder, so that no row becomes an object. */
  async differences(folders: readonly FilesOfFolder[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const { sql } = this.#owner;
    const differences = new Map<string, ReadonlySet<string>>();
    if (!sql || this.#put().size > 0) return differences;
    // In the order of the listing: strings in another order are split and compared file by file.
    const files = `SELECT t.folder, t.status, t.name || '/' || t.stamp || '/' || t.node || '/' AS file FROM tracked t
      WHERE t.source_no = $1 AND ${IS_PRESENT} AND ${isListed(sql, "t.folder", "$2", "text")} ORDER BY t.folder, t.name`;
    const text = `SELECT f.folder, min(f.status) AS one, max(f.status) AS other, count(*) AS n, string_agg(f.file, '') AS files
      FROM (${files}) f GROUP BY f.folder`;
    const rows = await this.#all<FolderRow>(text, [listOf(folders.map(({ folder }) => folder))]);
    const known = new Map(rows.map((row) => [row.folder, row]));
    for (const { folder, files } of folders) {
      const row = known.get(folder);
      const different = row ? differencesOf(files, row) : files.length === 0 ? NONE : undefined;
      if (different) differences.set(folder, different);
    }
    return differences;
  }

  async inFolders(folders: readonly string[]): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly KnownFile[]>>> {
    const sql = this.#owner.sql;
    const text = (db: Sql): string =>
      `${SELECT_KNOWN} ${JOINED} AND ${IS_PRESENT} AND ${isListed(db, "t.folder", "$2", "text")}`;
    const rows = sql ? await this.#cells<KnownRow>(text(sql), listOf(folders)) : [];
    const found = new Map<string, Map<string, KnownFile[]>>(folders.map((folder) => [folder, new Map()]));
    await this.#gatherKnown(rows, (file) => found.get(folderOf(file.path)));
    return found;
  }

  async knownAt(paths: readonly string[]): Promise<ReadonlyMap<string, KnownFile>> {
    type Known = Pick<TrackedRow, "item_id" | "folder" | "name" | "status" | "stamp" | "node" | "content_hash">;
    const known = await this.#atPaths<Known>(SELECT_KNOWN, paths, IS_PRESENT);
    const rows = known.map(
      (row): KnownRow => [row.item_id, row.folder, row.name, row.status, row.stamp, row.node, row.content_hash],
    );
    const wanted = new Set(paths);
    const found = new Map<string, KnownFile[]>();
    await this.#gatherKnown(rows, ({ path }) => (wanted.has(path) ? found : undefined));
    return new Map([...found].flatMap(([path, [file]]) => (file ? [[path, file]] : [])));
  }

  async countContent(hashes: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    const { sql } = this.#owner;
    if (!sql) return this.#countPut(hashes, counts);
    const text = `SELECT t.content_hash AS hash, count(*) AS n FROM tracked t WHERE t.source_no = $1 AND ${IS_PRESENT}
      AND ${isListed(sql, "t.content_hash", "$2", "text")} GROUP BY t.content_hash`;
    for (const list of listsOf([...new Set(hashes)])) {
      for (const { hash, n } of await this.#all<{ hash: string; n: number }>(text, [list])) counts.set(hash, Number(n));
    }
    for (const row of this.#put().size > 0 ? await this.#rows([...this.#put().keys()]) : []) {
      if (isPresent(row)) counts.set(row.content_hash, (counts.get(row.content_hash) ?? 0) - 1);
    }
    return this.#countPut(hashes, counts);
  }

  #countPut(hashes: readonly string[], counts: Map<string, number>): ReadonlyMap<string, number> {
    const wanted = new Set(hashes);
    for (const entry of this.#put().values()) {
      if (!entry || !isPresent(entry) || !wanted.has(entry.contentHash)) continue;
      counts.set(entry.contentHash, (counts.get(entry.contentHash) ?? 0) + 1);
    }
    return counts;
  }

  async withNodes(files: readonly Pick<TrackedFile, "contentHash" | "node">[]): Promise<readonly ManifestEntry[]> {
    const pairs = new Map(
      files.map(({ contentHash, node }) => [`${contentHash} ${node}`, [contentHash, node] as const]),
    );
    const rows = await this.#joined<TrackedRow>(SELECT, [...pairs.values()], ["content_hash", "node"], IS_PRESENT);
    return await this.#overlaid(rows, (entry) => isPresent(entry) && pairs.has(`${entry.contentHash} ${entry.node}`));
  }

  put(entry: ManifestEntry): void {
    this.#refuse(entry.docId);
    this.overlay(entry.docId, entry);
  }

  drop(docId: ItemId): void {
    this.#refuse(docId);
    this.overlay(docId, null);
  }

  recordScan(scan: ScanRecord): void {
    this.#refuse("the scan");
    this.overlayScan(scan);
  }

  /** Like put and drop, but allowed on a read-only ledger, where it is never written. */
  overlay(docId: ItemId, entry: ManifestEntry | null): void {
    this.#pending.delete(docId);
    this.#pending.set(docId, entry);
  }

  overlayScan(scan: ScanRecord): void {
    this.#scan = scan;
  }

  flush(): Promise<void> {
    return this.#owner.flush();
  }

  get hasChanges(): boolean {
    return this.#pending.size > 0 || this.#scan !== undefined;
  }

  /** Starts writing the current puts. */
  beginWriting(): void {
    [this.#writing, this.#writingScan] = [this.#pending, this.#scan];
    [this.#pending, this.#scan] = [new Map(), undefined];
  }

  /** Ends writing; after a failure the puts are pending again, below later ones. */
  endWriting(outcome: "written" | "failed"): void {
    if (outcome === "failed") {
      const later = this.#pending;
      this.#pending = new Map(this.#writing);
      for (const [docId, entry] of later) this.overlay(docId, entry);
      this.#scan ??= this.#writingScan;
    }
    [this.#writing, this.#writingScan] = [new Map(), undefined];
  }

  get isWriting(): boolean {
    return this.#writing.size > 0 || this.#writingScan !== undefined;
  }

  async write(sql: Sql, { source_no, rev }: SourceRow): Promise<void> {
    const dropped: ItemId[] = [];
    const entries: ManifestEntry[] = [];
    for (const [docId, entry] of this.#writing) entry ? entries.push(entry) : dropped.push(docId);
    for (const slice of slicesOf(entries, PAGE)) {
      await writeEntries(sql, source_no, rev, slice);
    }
    for (const list of listsOf(dropped)) {
      const numbers = `SELECT item_no FROM item WHERE source_no = $1 AND ${isListed(sql, "item_id", "$2", "text")}`;
      await sql.run(`DELETE FROM tracked WHERE item_no IN (${numbers})`, [source_no, list]);
      await sql.run(`DELETE FROM item WHERE item_no IN (${numbers}) AND ${HAS_NO_FACET}`, [source_no, list]);
    }
    const scan = this.scanColumns;
    if (!scan) return;
    const columns = "look_root = $2, look_at = $3, look_id = $4, look_turn = $5";
    const values = [source_no, scan.look_root, scan.look_at, scan.look_id, scan.look_turn];
    await sql.run(`UPDATE source SET ${columns} WHERE source_no = $1`, values);
  }

  /** The scan columns that are being written. */
  get scanColumns(): Pick<SourceRow, "look_root" | "look_at" | "look_id" | "look_turn"> | undefined {
    const scan = this.#writingScan;
    return scan && { look_root: scan.root, look_at: scan.at, look_id: scan.id, look_turn: scan.turn };
  }

  #refuse(what: string): void {
    if (this.#owner.puts === "refused") throw new Error(`put ${what}: the ledger was opened for reading only`);
  }

  #put(): Puts {
    return this.#writing.size === 0 ? this.#pending : new Map([...this.#writing, ...this.#pending]);
  }

  #overlay(docId: ItemId): ManifestEntry | null | undefined {
    const put = this.#pending.get(docId);
    const entry = put === undefined ? this.#writing.get(docId) : put;
    return entry && this.#withScanTime(entry);
  }

  async #all<Row>(text: string, values: readonly SqlValue[]): Promise<Row[]> {
    return (await this.#owner.sql?.all<Row>(text, [this.#owner.source().source_no, ...values])) ?? [];
  }

  /** Returns rows as arrays of cells. */
  async #cells<Row>(text: string, value: SqlValue): Promise<Row[]> {
    return ((await this.#owner.sql?.rows(text, [this.#owner.source().source_no, value])) ?? []) as Row[];
  }

  #byNumber<Row extends Pick<TrackedRow, "item_no">>(text: string): AsyncGenerator<Row[], void> {
    return readPages(
      PAGE,
      ({ item_no }) => item_no,
      (after) => this.#all<Row>(text, [after]),
    );
  }

  async #rows(docIds: readonly ItemId[]): Promise<TrackedRow[]> {
    const { sql } = this.#owner;
    if (!sql) return [];
    const text = `${SELECT} FROM item i JOIN tracked t ON t.item_no = i.item_no WHERE i.source_no = $1 AND ${isListed(sql, "i.item_id", "$2", "text")}`;
    const rows: TrackedRow[] = [];
    for (const list of listsOf(docIds)) rows.push(...(await this.#all<TrackedRow>(text, [list])));
    return rows;
  }

  #atPaths<Row>(select: string, paths: readonly string[], condition: string): Promise<Row[]> {
    const pairs = paths.map((path) => [folderOf(path), nameOf(path)] as const);
    return this.#joined<Row>(select, pairs, ["folder", "name"], condition);
  }

  /** Returns rows whose two columns match one of the pairs, each by an index lookup. */
  async #joined<Row>(
    select: string,
    pairs: readonly (readonly [string, string])[],
    [a, b]: readonly [string, string],
    condition: string,
  ): Promise<Row[]> {
    const { sql } = this.#owner;
    if (!sql) return [];
    const [list, first, second] =
      sql.dialect === "sqlite"
        ? ["json_each($2) p", "json_extract(p.value, '$[0]')", "json_extract(p.value, '$[1]')"]
        : ["jsonb_array_elements($2::jsonb) p", "p.value ->> 0", "p.value ->> 1"];
    const text = `${select} FROM ${list} CROSS JOIN tracked t JOIN item i ON i.item_no = t.item_no
      WHERE t.source_no = $1 AND t.${a} = ${first} AND t.${b} = ${second} AND ${condition}`;
    const rows: Row[] = [];
    for (const slice of slicesOf(pairs, PAGE)) {
      const json = JSON.stringify(slice.map((pair) => JSON.parse(listOf(pair)) as unknown));
      rows.push(...(await this.#all<Row>(text, [json])));
    }
    return rows;
  }

  /** Ordered by item number; at the end, puts without a row. */
  async *#pages(
    condition: string,
  ): AsyncGenerator<{ readonly rows: TrackedRow[]; readonly fresh: ManifestEntry[] }, void> {
    await this.#owner.flush();
    const fresh = new Set(this.#put().keys());
    const text = `${SELECT} ${JOINED} ${condition} AND t.item_no > $2 ORDER BY t.item_no LIMIT ${PAGE}`;
    const read = async (after: number): Promise<TrackedRow[]> =>
      (await this.#cells<SqlValue[]>(text, after)).map(toRow);
    for await (const rows of readPages(PAGE, ({ item_no }) => item_no, read)) {
      for (const { item_id } of rows) fresh.delete(item_id);
      yield { rows, fresh: [] };
    }
    const rest = [...fresh].flatMap((docId) => this.#overlay(docId) ?? []);
    if (rest.length > 0) yield { rows: [], fresh: rest };
  }

  async #current(rows: readonly TrackedRow[], fresh: readonly ManifestEntry[]): Promise<ManifestEntry[]> {
    const written = await this.#entries(rows);
    const entries = written.map((entry) => {
      const put = this.#overlay(entry.docId);
      return put === undefined ? entry : put;
    });
    return [...entries.filter((entry) => entry !== null), ...fresh];
  }

  /** Returns stored entries without puts, then matching puts in order. */
  async #overlaid(rows: readonly TrackedRow[], fits: (entry: ManifestEntry) => boolean): Promise<ManifestEntry[]> {
    const put = this.#put();
    const entries = await this.#entries(put.size === 0 ? rows : rows.filter(({ item_id }) => !put.has(item_id)));
    for (const entry of put.values()) if (entry && fits(entry)) entries.push(this.#withScanTime(entry));
    return entries;
  }

  /** In the order of the rows. */
  async #entries(rows: readonly TrackedRow[]): Promise<ManifestEntry[]> {
    const { sql } = this.#owner;
    const versions = new Map<number, FileVersion[]>();
    const lineage = new Map<number, LineageEvent[]>();
    for (const list of sql ? listsOf(rows.map(({ item_no }) => item_no)) : []) {
      if (!sql) break;
      const condition = `WHERE ${isListed(sql, "item_no", "$1", "integer")} ORDER BY item_no, n`;
      for (const row of await sql.all<VersionRow>(`SELECT * FROM version ${condition}`, [list])) {
        push(versions, row.item_no, { versionId: row.version_id, at: row.made_at, hash: row.hash });
      }
      for (const row of await sql.all<LineageRow>(`SELECT * FROM lineage ${condition}`, [list])) {
        const { event, from_path: from, certainty, happened_at: at } = row;
        push(lineage, row.item_no, { event, from, certainty, at });
      }
    }
    const seenAt = this.lastScan?.at ?? "";
    return rows.map((row) => ({
      ...toFile(row, seenAt),
      versions: versions.get(row.item_no) ?? [],
      lineage: lineage.get(row.item_no) ?? [],
    }));
  }

  async #gatherKnown(
    rows: readonly KnownRow[],
    groupOf: (file: KnownFile) => Map<string, KnownFile[]> | undefined,
  ): Promise<void> {
    const put = this.#put();
    const shared = new Set<KnownFile[]>();
    const add = (file: KnownFile): void => {
      const group = groupOf(file);
      const same = group?.get(file.path);
      if (same) {
        same.unshift(file);
        shared.add(same);
      } else group?.set(file.path, [file]);
    };
    for (const [docId, folder, name, status, stamp, node, contentHash] of rows) {
      if (!put.has(docId)) add({ docId, path: pathOf(folder, name), status, stamp, node, contentHash });
    }
    for (const files of shared) {
      const revs = new Map((await this.#rows(files.map(({ docId }) => docId))).map((row) => [row.item_id, row]));
      const age = (file: KnownFile): TrackedRow => revs.get(file.docId) as TrackedRow;
      files.sort((one, other) => oldestFirst(age(other), age(one)));
    }
    for (const entry of put.values()) if (entry && isPresent(entry)) add(entry);
  }

  #withScanTime<T extends TrackedFile>(file: T): T {
    const { lastScan } = this;
    const isNewer = lastScan && file.status === "active" && lastScan.at > file.lastSeenAt;
    return isNewer ? { ...file, lastSeenAt: lastScan.at } : file;
  }
}

interface VersionRow {
  readonly item_no: number;
  readonly version_id: string;
  readonly made_at: string;
  readonly hash: string;
}

interface LineageRow {
  readonly item_no: number;
  readonly event: LineageEvent["event"];
  readonly from_path: string;
  readonly certainty: number;
  readonly happened_at: string;
}

/** Whether no facet refers to a row of `item`. */
export const HAS_NO_FACET = `listed = 0 AND NOT EXISTS (SELECT 1 FROM file f WHERE f.item_no = item.item_no)
  AND NOT EXISTS (SELECT 1 FROM indexed x WHERE x.item_no = item.item_no)
  AND NOT EXISTS (SELECT 1 FROM tracked t WHERE t.item_no = item.item_no)`;

async function writeEntries(sql: Sql, source: number, rev: number, entries: readonly ManifestEntry[]): Promise<void> {
  const ids = entries.map(({ docId }) => docId);
  let numbers = await numbersOf(sql, source, ids);
  const known = [...numbers.values()];
  if (numbers.size < entries.length) {
    await sql.insert(
      ITEM_INTO,
      entries.flatMap(({ docId }) => (numbers.has(docId) ? [] : [[source, docId, rev, ...seenValues(null)]])),
      "ON CONFLICT DO NOTHING",
    );
    numbers = await numbersOf(sql, source, ids);
  }
  const numberOf = ({ docId }: ManifestEntry): number => numbers.get(docId) ?? 0;
  await sql.insert(
    INTO,
    entries.map((entry) => [numberOf(entry), source, rev, entry.versions.at(-1)?.hash ?? "", ...valuesOf(entry)]),
    UPDATE,
  );
  for (const list of listsOf(known)) {
    const listed = isListed(sql, "item_no", "$1", "integer");
    await sql.run(`DELETE FROM version WHERE ${listed}`, [list]);
    await sql.run(`DELETE FROM lineage WHERE ${listed}`, [list]);
  }
  await sql.insert(
    "version (item_no, n, version_id, made_at, hash)",
    entries.flatMap((entry) => entry.versions.map((one, n) => [numberOf(entry), n, one.versionId, one.at, one.hash])),
  );
  await sql.insert(
    "lineage (item_no, n, event, from_path, certainty, happened_at)",
    entries.flatMap((entry) =>
      entry.lineage.map(({ event, from, certainty, at }, n) => [numberOf(entry), n, event, from, certainty, at]),
    ),
  );
}

interface FolderRow {
  readonly folder: string;
  /** The smallest and the largest status. */
  readonly one: FileStatus;
  readonly other: FileStatus;
  readonly n: number;
  /** Name, stamp and node of each file, each followed by a slash. */
  readonly files: string;
}

const NONE: ReadonlySet<string> = new Set();

/** undefined: unknown. */
function differencesOf(files: FilesOfFolder["files"], row: FolderRow): ReadonlySet<string> | undefined {
  if (row.one !== "active" || row.other !== "active") return undefined;
  let told = "";
  for (const { path, stamp, node } of files) told += `${nameOf(path)}/${stamp}/${node}/`;
  if (told === row.files && files.every(({ stamp }) => stamp !== "")) return NONE;
  const parts = row.files.split("/");
  // Names contain no slash; stamps of a container may.
  if (parts.length !== Number(row.n) * 3 + 1) return undefined;
  const different = new Set<string>();
  let at = 0;
  // All of them, or up to a name. Those in an order that is not ours are not passed.
  const pass = (name?: string): boolean => {
    for (; at + 3 < parts.length; at += 3) {
      const known = parts[at] ?? "";
      if (at > 0 && known <= (parts[at - 3] ?? "")) return false;
      if (name !== undefined && known >= name) return true;
      different.add(pathOf(row.folder, known));
    }
    return true;
  };
  for (const { path, stamp, node } of files) {
    const name = nameOf(path);
    if (!pass(name)) return undefined;
    const isKnown = parts[at] === name && at + 3 < parts.length;
    // What may be changed again without getting another stamp has none.
    if (!isKnown || stamp === "" || parts[at + 1] !== stamp || parts[at + 2] !== node) different.add(path);
    if (isKnown) at += 3;
  }
  return pass() ? different : undefined;
}

function valuesOf(entry: ManifestEntry): SqlValue[] {
  return [
    entry.status,
    folderOf(entry.path),
    nameOf(entry.path),
    entry.size,
    entry.modifiedAt,
    entry.stamp,
    entry.node,
    entry.contentHash,
    entry.lastSeenAt,
    entry.retryCount,
    entry.error,
    entry.missingSinceAt,
    entry.missingRuns,
    entry.deletedAt,
  ];
}

function toListed([, docId, folder, name, size, modifiedAt, contentHash]: ActiveRow): ListedFile {
  return { docId, path: pathOf(folder, name), size, modifiedAt, contentHash };
}

/** Takes the cells in the order of SELECT. */
function toRow(cells: readonly SqlValue[]): TrackedRow {
  return {
    item_no: cells[0] as number,
    item_id: cells[1] as ItemId,
    rev: cells[2] as number,
    status: cells[3] as FileStatus,
    folder: cells[4] as string,
    name: cells[5] as string,
    size: cells[6] as number,
    modified_at: cells[7] as string,
    stamp: cells[8] as string,
    node: cells[9] as string,
    content_hash: cells[10] as string,
    last_seen_at: cells[11] as string,
    retry_count: cells[12] as number,
    error: cells[13] as string,
    missing_since_at: cells[14] as string,
    missing_runs: cells[15] as number,
    deleted_at: cells[16] as string,
  };
}

/** `seenAt`: when everything active was seen. */
function toFile(row: TrackedRow, seenAt: string): TrackedFile {
  return {
    path: pathOf(row.folder, row.name),
    docId: row.item_id,
    contentHash: row.content_hash,
    size: row.size,
    modifiedAt: row.modified_at,
    stamp: row.stamp,
    node: row.node,
    status: row.status,
    lastSeenAt: row.status === "active" && seenAt > row.last_seen_at ? seenAt : row.last_seen_at,
    retryCount: row.retry_count,
    error: row.error,
    missingSinceAt: row.missing_since_at,
    missingRuns: row.missing_runs,
    deletedAt: row.deleted_at,
  };
}

function pathOf(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

function isPresent({ status }: { readonly status: FileStatus }): boolean {
  return status === "active" || status === "error";
}

function oldestFirst(a: TrackedRow, b: TrackedRow): number {
  return a.rev - b.rev || a.item_no - b.item_no;
}

function push<T>(lists: Map<number, T[]>, key: number, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
