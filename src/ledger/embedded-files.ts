import type { EntriesToRemove } from "../contracts/files-metadata.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { Indexed, LedgerEntry } from "../contracts/ledger.ts";
import { isListed, listOf, listsOf, readPages, replacing, type Sql, type SqlValue } from "../lib/sql/sql.ts";
import { domainKey, openSource, type SourceKey } from "./source-row.ts";

/** One version of an item: columns of `embedded_file`. NULL: the entry lacks the field. */
export interface EmbeddedFile {
  /** "" for an element that is not an entry: `properties` is then its JSON text. */
  readonly file_id: string;
  readonly item_id: string | null;
  readonly list_item_id: number | null;
  /** Below the domain's folder in `crawler/`; with a leading slash, below `crawler/`. */
  readonly path: string | null;
  readonly url: string | null;
  readonly raw_url: string | null;
  readonly server_path: string | null;
  readonly name: string | null;
  readonly size: number | null;
  readonly modified_at: string | null;
  readonly embedded_at: string | null;
  readonly source_id: string | null;
  readonly source_type: string | null;
  /** A JSON object with the user's fields. */
  readonly properties: string;
}

export interface EmbeddedRow extends EmbeddedFile {
  readonly entry_no: number;
  readonly rev: number;
}

/** Columns that can change without the content, by a rename, a move, or a new time. */
const LABEL = ["path", "url", "raw_url", "server_path", "name", "size", "modified_at"] as const;
const COLUMNS = [
  ...["file_id", "item_id", "list_item_id", ...LABEL, "embedded_at", "source_id", "source_type", "properties"],
] as (keyof EmbeddedFile)[];
const NAMES = COLUMNS.join(", ");
const INTO = `embedded_file (source_no, entry_no, rev, ${NAMES})`;
const REPLACE = replacing("source_no, entry_no", `rev, ${NAMES}`);
const SELECT = `SELECT entry_no, rev, ${NAMES} FROM embedded_file WHERE source_no = $1`;
const PAGE = 1000;

/** Returns the version that the index now holds, from the three facets of the item. */
export function embeddedFile(
  { domainId, kind, sourceId }: SourceKey,
  { itemId, seen, mirrored }: LedgerEntry,
  indexed: Indexed,
): EmbeddedFile {
  if (indexed.fileId === "") throw new Error(`describe ${itemId}: it is not in the index`);
  return {
    file_id: indexed.fileId,
    item_id: itemId,
    list_item_id: indexed.listItemId,
    path: belowDomain(indexed.file, domainId),
    url: seen?.url ?? "",
    raw_url: seen?.rawUrl ?? "",
    server_path: mirrored?.serverPath ?? seen?.serverPath ?? "",
    name: indexed.name,
    size: indexed.size,
    modified_at: indexed.modifiedAt,
    embedded_at: indexed.embeddedAt,
    source_id: sourceId,
    source_type: kind,
    properties: NO_PROPERTIES,
  };
}

export const NO_PROPERTIES = "{}";

/** `sourceId`: the source, if known; the domain may have had another id when the path was written. */
export function belowDomain(file: string, domainId: DomainId, sourceId = ""): string {
  const at = file.indexOf("/");
  const [, kind = "", source] = file.split("/", 3);
  const isOfSource = sourceId !== "" && source === sourceId && /^\d\d_/.test(kind);
  const isBelow = file.slice(0, at) === domainId || isOfSource;
  return at > 0 && isBelow ? file.slice(at + 1) : `/${file}`;
}

export function fromDomain(path: string, domainId: DomainId): string {
  return path.startsWith("/") ? path.slice(1) : `${domainId}/${path}`;
}

/**
 * Updates name and path of known file ids; adds new ones, with inherited properties. Entries of earlier versions stay:
 * history.
 */
export async function describeVersions(sql: Sql, domainId: DomainId, versions: readonly EmbeddedFile[]): Promise<void> {
  const { source_no: source } = await openSource(sql, domainKey(domainId));
  const known = await rowsByFile(
    sql,
    source,
    versions.map(({ file_id }) => file_id),
  );
  const fresh = versions.filter(({ file_id }) => !known.has(file_id));
  const items = fresh.map(({ item_id }) => item_id ?? "");
  const earlier = Map.groupBy(await rowsWhere(sql, source, "item_id", items), ({ item_id }) => item_id);
  const written: EntryToWrite[] = [];
  for (const version of versions) {
    const row = known.get(version.file_id);
    if (!row) continue;
    const label = Object.fromEntries(LABEL.map((name) => [name, version[name]]));
    const next = { ...row, ...label, ...(version.url === "" && addressOf(row)) };
    if (LABEL.some((name) => next[name] !== row[name])) written.push(next);
  }
  let entryNo = fresh.length > 0 ? await lastEntryNo(sql, source) : 0;
  for (const version of new Map(fresh.map((one) => [one.file_id, one])).values()) {
    entryNo += 1;
    written.push({ ...version, ...inherited(version, earlier.get(version.item_id ?? "") ?? []), entry_no: entryNo });
  }
  await writeEntries(sql, source, written);
}

/**
 * Users' properties are inherited by the next version of an item, from the newest earlier one: of the same source if
 * possible, since an item may be in two sources of a domain. So is its URL, if the item is not listed now because its
 * removal is held.
 */
function inherited(version: EmbeddedFile, earlier: readonly EmbeddedRow[]): Partial<EmbeddedFile> {
  const from = earlier.findLast(({ source_id }) => source_id === version.source_id) ?? earlier.at(-1);
  return from ? { properties: from.properties, ...(version.url === "" && addressOf(from)) } : {};
}

/**
 * Returns those of `added`, in order, that inherit other properties by now. `isEarlier`: versions that existed before
 * all of them.
 */
export async function inheritAgain(
  sql: Sql,
  source: number,
  added: readonly EmbeddedRow[],
  isEarlier: (row: EmbeddedRow) => boolean,
): Promise<EntryToWrite[]> {
  const items = added.map(({ item_id }) => item_id ?? "");
  const versions = Map.groupBy(await rowsWhere(sql, source, "item_id", items), ({ item_id }) => item_id);
  const changed = new Map<number, EmbeddedRow>();
  for (const version of added) {
    const known = versions.get(version.item_id) ?? [];
    const earlier = known.filter((row) => row.entry_no < version.entry_no || isEarlier(row));
    const from = earlier.map((row) => changed.get(row.entry_no) ?? row);
    const { properties = version.properties } = inherited(version, from);
    if (properties !== version.properties) changed.set(version.entry_no, { ...version, properties });
  }
  return [...changed.values()];
}

function addressOf({ url, raw_url }: EmbeddedFile): Pick<EmbeddedFile, "url" | "raw_url"> | undefined {
  return url ? { url, raw_url } : undefined;
}

export interface EntryToWrite extends EmbeddedFile {
  readonly entry_no: number;
}

/** Writes under one new revision and returns it; undefined if there is nothing to write. */
export async function writeEntries(
  sql: Sql,
  source: number,
  entries: readonly EntryToWrite[],
  gone: readonly number[] = [],
): Promise<number | undefined> {
  if (entries.length + gone.length === 0) return undefined;
  const rev = await nextRev(sql, source);
  const listed = isListed(sql, "entry_no", "$2", "integer");
  if (gone.length > 0) {
    await sql.run(`DELETE FROM embedded_file WHERE source_no = $1 AND ${listed}`, [source, listOf(gone)]);
  }
  const valuesOf = (entry: EntryToWrite): SqlValue[] => COLUMNS.map((name) => entry[name]);
  await sql.insert(
    INTO,
    entries.map((entry) => [source, entry.entry_no, rev, ...valuesOf(entry)]),
    REPLACE,
  );
  return rev;
}

/** Key of an element of the file. No id begins with a line feed. */
export function keyOf(file: EmbeddedFile): string {
  return file.file_id || `\n${COLUMNS.map((name) => file[name]).join("\n")}`;
}

export function isSameFile(a: EmbeddedFile, b: EmbeddedFile): boolean {
  return COLUMNS.every((name) => a[name] === b[name]);
}

export async function removeEntries(sql: Sql, source: number, which: EntriesToRemove): Promise<void> {
  const [column, ids] = "fileIds" in which ? ["file_id" as const, which.fileIds] : ["item_id" as const, which.itemIds];
  const rows = await rowsWhere(sql, source, column, ids);
  await writeEntries(
    sql,
    source,
    [],
    rows.map(({ entry_no }) => entry_no),
  );
}

async function nextRev(sql: Sql, source: number): Promise<number> {
  await sql.run("UPDATE source SET rev = rev + 1 WHERE source_no = $1", [source]);
  const row = await sql.get<{ rev: number }>("SELECT rev FROM source WHERE source_no = $1", [source]);
  if (!row) throw new Error("write entries of files_metadata.json: somebody deleted the domain meanwhile");
  return row.rev;
}

export async function lastEntryNo(sql: Sql, source: number): Promise<number> {
  const text = "SELECT entry_no FROM embedded_file WHERE source_no = $1 ORDER BY entry_no DESC LIMIT 1";
  return (await sql.get<{ entry_no: number }>(text, [source]))?.entry_no ?? 0;
}

/** By key; "" for all without a file id. */
export async function rowsByFile(
  sql: Sql,
  source: number,
  fileIds: readonly string[],
): Promise<ReadonlyMap<string, EmbeddedRow>> {
  return new Map((await rowsWhere(sql, source, "file_id", fileIds)).map((row) => [keyOf(row), row]));
}

/** Reads the rows of each list of ids, newest last. */
async function rowsWhere(
  sql: Sql,
  source: number,
  column: "file_id" | "item_id",
  ids: readonly string[],
): Promise<EmbeddedRow[]> {
  const order = column === "item_id" ? "ORDER BY COALESCE(embedded_at, ''), entry_no" : "";
  const text = `${SELECT} AND ${isListed(sql, column, "$2", "text")} ${order}`;
  const found: EmbeddedRow[] = [];
  for (const list of listsOf([...new Set(ids)])) found.push(...(await sql.all<EmbeddedRow>(text, [source, list])));
  return found;
}

/** In the order of the file. */
export function allRows(sql: Sql, source: number): AsyncGenerator<EmbeddedRow[], void> {
  const text = `${SELECT} AND entry_no > $2 ORDER BY entry_no LIMIT ${PAGE}`;
  return readPages(
    PAGE,
    ({ entry_no }) => entry_no,
    (after) => sql.all<EmbeddedRow>(text, [source, after]),
  );
}
