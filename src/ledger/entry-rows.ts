import type { FileId, ItemId, VectorStoreId } from "../contracts/ids.ts";
import type { Indexed, ItemLabel, ItemState, LedgerEntry, MeasuredFile, Mirrored, Seen } from "../contracts/ledger.ts";
import type { Sighting } from "../contracts/source.ts";
import { isListed, listsOf, replacing, type Sql, type SqlValue } from "../lib/sql/sql.ts";

/** An item with the revision of each facet; null for a missing one. */
export interface EntryRow {
  readonly item_no: number;
  readonly item_id: ItemId;
  readonly rev: number;
  readonly f_rev: number | null;
  readonly x_rev: number | null;
  readonly entry: LedgerEntry;
}

const SEEN = "list_item_id, name, server_path, url, raw_url, size, modified_at, withheld";
const MIRRORED =
  "list_item_id, name, server_path, path, size, modified_at, etag, content_version, downloaded_at, source_error, processing_error, observed_size, observed_mtime_ms, sha256";
/** Columns that are NULL if they equal these, which then exist. */
const TWICE = {
  name: "i.name",
  server_path: "i.server_path",
  modified_at: "i.modified_at",
  content_version: "f.sha256",
};
const INDEXED =
  "file_id, vector_store_id, path, list_item_id, name, size, modified_at, downloaded_at, uploaded_at, embedded_at, source_error, processing_error, embedding_error, sha256";

/** Append conditions; `$1` is the source, `$2` the store. Columns with equal values, as most are, are read once. */
export const SELECT_ENTRIES = `SELECT i.item_no, i.item_id, i.rev, i.listed, ${columns("i", SEEN)},
  f.rev, ${columns("f", MIRRORED, TWICE)}, x.rev, ${columns("x", INDEXED)}
  FROM item i LEFT JOIN file f ON f.item_no = i.item_no LEFT JOIN indexed x ON x.item_no = i.item_no AND x.store = $2
  WHERE i.source_no = $1`;

/** The columns of ItemState. */
export type StateRow = readonly [
  item_no: number,
  item_id: ItemId,
  listed: number,
  path: string | null,
  observed_size: number | null,
  observed_mtime_ms: number | null,
  is_current: number,
];

export const SELECT_STATES = `SELECT i.item_no, i.item_id, i.listed, f.path, f.observed_size, f.observed_mtime_ms,
  CASE WHEN f.source_error = '' AND i.server_path = f.server_path AND i.size = f.size AND i.modified_at = f.modified_at THEN 1 ELSE 0 END AS is_current
  FROM item i LEFT JOIN file f ON f.item_no = i.item_no
  WHERE i.source_no = $1 AND (i.listed = 1 OR f.item_no IS NOT NULL)`;

export function toState([, itemId, listed, path, size, mtimeMs, current]: StateRow, root: string): ItemState {
  return {
    itemId,
    file: path === null ? null : fromRoot(path, root),
    observed: size === null || mtimeMs === null ? null : { size, mtimeMs },
    isCurrent: current === 1,
    isListed: listed === 1,
  };
}

export function stateOf({ itemId, seen, mirrored }: LedgerEntry): ItemState {
  const { file = null, observed = null, fingerprint } = mirrored ?? {};
  const isCurrent =
    mirrored?.sourceError === "" &&
    seen?.serverPath === mirrored.serverPath &&
    seen.size === fingerprint?.size &&
    seen.modifiedAt === fingerprint.modifiedAt;
  return { itemId, file, observed, isCurrent, isListed: seen !== null };
}

/** An item whose file was fetched as it was last listed. */
export type FetchedRow = readonly [
  item_id: ItemId,
  /** The columns that listings tell, with line breaks between them. */
  listed: string,
  path: string,
  observed_size: number,
  observed_mtime_ms: number,
  /** NULL if it is the content version. */
  sha256: string | null,
];

/** What is only compared is one text: a cell each takes twice as long. */
export const SELECT_FETCHED = `SELECT i.item_id,
  concat_ws('\n', i.list_item_id, CAST(i.size AS bigint), i.modified_at, i.name, i.server_path, i.raw_url, f.etag, f.content_version),
  f.path, f.observed_size, f.observed_mtime_ms, NULLIF(f.sha256, f.content_version)
  FROM item i JOIN file f ON f.item_no = i.item_no
  WHERE i.source_no = $1 AND i.listed = 1 AND i.withheld = 0 AND f.path <> '' AND f.source_error = '' AND f.sha256 IS NOT NULL
  AND i.name = f.name AND i.server_path = f.server_path AND i.size = f.size AND i.modified_at = f.modified_at`;

/** Whether the row says the same as the sighting. No field may have a line break: it could be taken for the end of one. */
export function isAsFetched([, listed, , , , sha256]: FetchedRow, sighting: Sighting): boolean {
  const { listItemId, name, serverPath, rawUrl, fingerprint, withheld, contentHash } = sighting;
  const { size, modifiedAt, etag, contentVersion } = fingerprint;
  if (withheld !== undefined || (contentHash !== undefined && contentHash !== (sha256 ?? contentVersion))) return false;
  let at = 0;
  for (const field of [`${listItemId}`, `${size}`, modifiedAt, name, serverPath, rawUrl, etag]) {
    const end = listed.indexOf("\n", at);
    if (end - at !== field.length || !listed.startsWith(field, at)) return false;
    at = end + 1;
  }
  return (
    listed.indexOf("\n", at) < 0 && listed.length - at === contentVersion.length && listed.endsWith(contentVersion)
  );
}

export function toMeasured([, , path, size, mtimeMs]: FetchedRow, root: string): MeasuredFile {
  return { file: fromRoot(path, root), size, mtimeMs };
}

/** The columns of ItemLabel. */
export type LabelRow = readonly [
  item_id: ItemId,
  url: string,
  path: string | null,
  file_id: FileId,
  vector_store_id: VectorStoreId,
  sha256: string,
  embedding_error: string,
];

export const SELECT_LABELS = `SELECT i.item_id, i.url, f.path, x.file_id, x.vector_store_id, x.sha256, x.embedding_error
  FROM item i LEFT JOIN file f ON f.item_no = i.item_no JOIN indexed x ON x.item_no = i.item_no AND x.store = $2
  WHERE i.source_no = $1`;

export function toLabel(
  [itemId, url, path, fileId, vectorStoreId, sha256, embeddingError]: LabelRow,
  root: string,
): ItemLabel {
  return { itemId, fileId, vectorStoreId, sha256, embeddingError, file: fromRoot(path ?? "", root), url };
}

export function labelOf({ itemId, seen, mirrored, indexed }: LedgerEntry): ItemLabel {
  return {
    itemId,
    fileId: indexed?.fileId ?? "",
    vectorStoreId: indexed?.vectorStoreId ?? "",
    sha256: indexed?.sha256 ?? "",
    embeddingError: indexed?.embeddingError ?? "",
    file: mirrored?.file ?? "",
    url: seen?.url ?? "",
  };
}

export const ITEM_INTO = `item (source_no, item_id, rev, listed, ${SEEN})`;
export const FILE_INTO = `file (item_no, source_no, rev, ${MIRRORED})`;
export const INDEXED_INTO = `indexed (item_no, store, source_no, rev, ${INDEXED})`;

export const UPDATE_SEEN = replacing("source_no, item_id", `rev, listed, ${SEEN}`);
export const UPDATE_FILE = replacing("item_no", `rev, ${MIRRORED}`);
export const UPDATE_INDEXED = replacing("item_no, store", `rev, ${INDEXED}`);

const NOT_LISTED: Seen = {
  listItemId: 0,
  name: "",
  serverPath: "",
  url: "",
  rawUrl: "",
  size: 0,
  modifiedAt: "",
};

export function seenValues(seen: Seen | null): SqlValue[] {
  const { listItemId, name, serverPath, url, rawUrl, size, modifiedAt, withheld } = seen ?? NOT_LISTED;
  return [seen ? 1 : 0, listItemId, name, serverPath, url, rawUrl, size, modifiedAt, withheld ? 1 : 0];
}

export function mirroredValues(mirrored: Mirrored, root: string): SqlValue[] {
  const { listItemId, name, serverPath, file, fingerprint, observed } = mirrored;
  return [
    listItemId,
    name,
    serverPath,
    belowRoot(file, root),
    fingerprint.size,
    fingerprint.modifiedAt,
    fingerprint.etag,
    fingerprint.contentVersion,
    mirrored.downloadedAt,
    mirrored.sourceError,
    mirrored.processingError,
    observed?.size ?? null,
    observed?.mtimeMs ?? null,
    observed?.sha256 ?? null,
  ];
}

export function indexedValues(indexed: Indexed, root: string): SqlValue[] {
  return [
    indexed.fileId,
    indexed.vectorStoreId,
    belowRoot(indexed.file, root),
    indexed.listItemId,
    indexed.name,
    indexed.size,
    indexed.modifiedAt,
    indexed.downloadedAt,
    indexed.uploadedAt,
    indexed.embeddedAt,
    indexed.sourceError,
    indexed.processingError,
    indexed.embeddingError,
    indexed.sha256,
  ];
}

/** Decodes a row of SELECT_ENTRIES. The cells of a missing facet are NULL. */
export function toEntryRow(cells: readonly SqlValue[], root: string): EntryRow {
  const itemId = cells[1] as ItemId;
  const mirroredRev = cells[12] as number | null;
  const indexedRev = cells[27] as number | null;
  const entry = {
    itemId,
    seen: cells[3] === 1 ? toSeen(cells) : null,
    mirrored: mirroredRev === null ? null : toMirrored(cells, root),
    indexed: indexedRev === null ? null : toIndexed(cells, root),
  };
  return {
    item_no: cells[0] as number,
    item_id: itemId,
    rev: cells[2] as number,
    f_rev: mirroredRev,
    x_rev: indexedRev,
    entry,
  };
}

function toSeen(cells: readonly SqlValue[]): Seen {
  return {
    listItemId: cells[4] as number,
    name: cells[5] as string,
    serverPath: cells[6] as string,
    url: cells[7] as string,
    rawUrl: cells[8] as string,
    size: cells[9] as number,
    modifiedAt: cells[10] as string,
    ...(cells[11] === 1 && { withheld: true }),
  };
}

function toMirrored(cells: readonly SqlValue[], root: string): Mirrored {
  const size = cells[24] as number | null;
  const mtimeMs = cells[25] as number | null;
  const sha256 = cells[26] as string | null;
  return {
    listItemId: cells[13] as number,
    name: (cells[14] ?? cells[5]) as string,
    serverPath: (cells[15] ?? cells[6]) as string,
    file: fromRoot(cells[16] as string, root),
    fingerprint: {
      size: cells[17] as number,
      modifiedAt: (cells[18] ?? cells[10]) as string,
      etag: cells[19] as string,
      contentVersion: (cells[20] ?? sha256) as string,
    },
    downloadedAt: cells[21] as string,
    sourceError: cells[22] as string,
    processingError: cells[23] as string,
    observed: size === null || mtimeMs === null || sha256 === null ? null : { size, mtimeMs, sha256 },
  };
}

function toIndexed(cells: readonly SqlValue[], root: string): Indexed {
  return {
    fileId: cells[28] as FileId,
    vectorStoreId: cells[29] as VectorStoreId,
    file: fromRoot(cells[30] as string, root),
    listItemId: cells[31] as number,
    name: cells[32] as string,
    size: cells[33] as number,
    modifiedAt: cells[34] as string,
    downloadedAt: cells[35] as string,
    uploadedAt: cells[36] as string,
    embeddedAt: cells[37] as string,
    sourceError: cells[38] as string,
    processingError: cells[39] as string,
    embeddingError: cells[40] as string,
    sha256: cells[41] as string,
  };
}

/** Returns item numbers by id. */
export async function numbersOf(sql: Sql, source: number, items: Iterable<ItemId>): Promise<Map<ItemId, number>> {
  const numbers = new Map<ItemId, number>();
  const text = `SELECT item_id, item_no FROM item WHERE source_no = $1 AND ${isListed(sql, "item_id", "$2", "text")}`;
  for (const list of listsOf([...new Set(items)])) {
    const rows = await sql.all<Pick<EntryRow, "item_id" | "item_no">>(text, [source, list]);
    for (const { item_id, item_no } of rows) numbers.set(item_id, item_no);
  }
  return numbers;
}

/**
 * The domain may have had another id when a map file was written. A path outside the source's folder keeps a leading
 * slash.
 */
export function belowRoot(file: string, root: string): string {
  if (file === "") return "";
  const below = root.slice(root.indexOf("/"));
  const at = file.indexOf("/");
  return file.startsWith(`${below}/`, at) ? file.slice(at + below.length + 1) : `/${file}`;
}

export function fromRoot(path: string, root: string): string {
  if (path === "") return "";
  return path.startsWith("/") ? path.slice(1) : `${root}/${path}`;
}

function columns(table: string, names: string, twice: Readonly<Record<string, string>> = {}): string {
  const one = (name: string): string => (twice[name] ? `NULLIF(${table}.${name}, ${twice[name]})` : `${table}.${name}`);
  return names.split(", ").map(one).join(", ");
}
