import type { FileId, ItemId, VectorStoreId } from "../contracts/ids.ts";
import type { Indexed, ItemLabel, ItemState, LedgerEntry, Mirrored, Seen } from "../contracts/ledger.ts";
import { isListed, listsOf } from "../lib/sql/is-listed.ts";
import { replacing } from "../lib/sql/replacing.ts";
import type { Sql, SqlValue } from "../lib/sql/sql.ts";

/** Everything of one item, as `ENTRY_COLUMNS` selects it. The columns of a facet that is not there are NULL. */
export interface EntryRow {
  readonly item_no: number;
  readonly item_id: ItemId;
  readonly rev: number;
  readonly listed: number;
  readonly list_item_id: number;
  readonly name: string;
  readonly server_path: string;
  readonly url: string;
  readonly raw_url: string;
  readonly size: number;
  readonly modified_at: string;
  readonly withheld: number;
  readonly f_rev: number | null;
  readonly f_list_item_id: number;
  readonly f_name: string;
  readonly f_server_path: string;
  readonly f_path: string;
  readonly f_size: number;
  readonly f_modified_at: string;
  readonly f_etag: string;
  readonly f_content_version: string;
  readonly f_downloaded_at: string;
  readonly f_source_error: string;
  readonly f_processing_error: string;
  readonly f_observed_size: number | null;
  readonly f_observed_mtime_ms: number | null;
  readonly f_sha256: string | null;
  readonly x_rev: number | null;
  readonly x_file_id: string;
  readonly x_vector_store_id: string;
  readonly x_path: string;
  readonly x_list_item_id: number;
  readonly x_name: string;
  readonly x_size: number;
  readonly x_modified_at: string;
  readonly x_downloaded_at: string;
  readonly x_uploaded_at: string;
  readonly x_embedded_at: string;
  readonly x_source_error: string;
  readonly x_processing_error: string;
  readonly x_embedding_error: string;
  readonly x_sha256: string;
}

const SEEN = "list_item_id, name, server_path, url, raw_url, size, modified_at, withheld";
const MIRRORED =
  "list_item_id, name, server_path, path, size, modified_at, etag, content_version, downloaded_at, source_error, processing_error, observed_size, observed_mtime_ms, sha256";
const INDEXED =
  "file_id, vector_store_id, path, list_item_id, name, size, modified_at, downloaded_at, uploaded_at, embedded_at, source_error, processing_error, embedding_error, sha256";

/** To be followed by conditions; `$1` is the source, `$2` the store. */
export const SELECT_ENTRIES = `SELECT i.item_no, i.item_id, i.rev, i.listed, ${columns("i", "", SEEN)},
  f.rev AS f_rev, ${columns("f", "f_", MIRRORED)}, x.rev AS x_rev, ${columns("x", "x_", INDEXED)}
  FROM item i LEFT JOIN file f ON f.item_no = i.item_no LEFT JOIN indexed x ON x.item_no = i.item_no AND x.store = $2
  WHERE i.source_no = $1`;

/** The same: what ItemState needs. */
export interface StateRow {
  readonly item_no: number;
  readonly item_id: ItemId;
  readonly listed: number;
  readonly path: string | null;
  readonly observed_size: number | null;
  readonly observed_mtime_ms: number | null;
  readonly is_current: number | null;
}

export const SELECT_STATES = `SELECT i.item_no, i.item_id, i.listed, f.path, f.observed_size, f.observed_mtime_ms,
  CASE WHEN f.source_error = '' AND i.server_path = f.server_path AND i.size = f.size AND i.modified_at = f.modified_at THEN 1 ELSE 0 END AS is_current
  FROM item i LEFT JOIN file f ON f.item_no = i.item_no
  WHERE i.source_no = $1 AND (i.listed = 1 OR f.item_no IS NOT NULL)`;

export function toState(row: StateRow, root: string): ItemState {
  const { observed_size: size, observed_mtime_ms: mtimeMs } = row;
  return {
    itemId: row.item_id,
    file: row.path === null ? null : fromRoot(row.path, root),
    observed: size === null || mtimeMs === null ? null : { size, mtimeMs },
    isCurrent: row.is_current === 1,
    isListed: row.listed === 1,
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

/** The same: what ItemLabel needs. */
export interface LabelRow {
  readonly item_id: ItemId;
  readonly url: string;
  readonly path: string | null;
  readonly file_id: string;
  readonly vector_store_id: string;
  readonly sha256: string;
  readonly embedding_error: string;
}

export const SELECT_LABELS = `SELECT i.item_id, i.url, f.path, x.file_id, x.vector_store_id, x.sha256, x.embedding_error
  FROM item i LEFT JOIN file f ON f.item_no = i.item_no JOIN indexed x ON x.item_no = i.item_no AND x.store = $2
  WHERE i.source_no = $1`;

export function toLabel(row: LabelRow, root: string): ItemLabel {
  return {
    itemId: row.item_id,
    fileId: row.file_id as FileId,
    vectorStoreId: row.vector_store_id as VectorStoreId,
    sha256: row.sha256,
    embeddingError: row.embedding_error,
    file: fromRoot(row.path ?? "", root),
    url: row.url,
  };
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

export function toEntry(row: EntryRow, root: string): LedgerEntry {
  return {
    itemId: row.item_id,
    seen: row.listed ? toSeen(row) : null,
    mirrored: row.f_rev === null ? null : toMirrored(row, root),
    indexed: row.x_rev === null ? null : toIndexed(row, root),
  };
}

function toSeen(row: EntryRow): Seen {
  return {
    listItemId: row.list_item_id,
    name: row.name,
    serverPath: row.server_path,
    url: row.url,
    rawUrl: row.raw_url,
    size: row.size,
    modifiedAt: row.modified_at,
    ...(row.withheld === 1 && { withheld: true }),
  };
}

function toMirrored(row: EntryRow, root: string): Mirrored {
  const { f_observed_size: size, f_observed_mtime_ms: mtimeMs, f_sha256: sha256 } = row;
  return {
    listItemId: row.f_list_item_id,
    name: row.f_name,
    serverPath: row.f_server_path,
    file: fromRoot(row.f_path, root),
    fingerprint: {
      size: row.f_size,
      modifiedAt: row.f_modified_at,
      etag: row.f_etag,
      contentVersion: row.f_content_version,
    },
    downloadedAt: row.f_downloaded_at,
    sourceError: row.f_source_error,
    processingError: row.f_processing_error,
    observed: size === null || mtimeMs === null || sha256 === null ? null : { size, mtimeMs, sha256 },
  };
}

function toIndexed(row: EntryRow, root: string): Indexed {
  return {
    fileId: row.x_file_id as FileId,
    vectorStoreId: row.x_vector_store_id as VectorStoreId,
    file: fromRoot(row.x_path, root),
    listItemId: row.x_list_item_id,
    name: row.x_name,
    size: row.x_size,
    modifiedAt: row.x_modified_at,
    downloadedAt: row.x_downloaded_at,
    uploadedAt: row.x_uploaded_at,
    embeddedAt: row.x_embedded_at,
    sourceError: row.x_source_error,
    processingError: row.x_processing_error,
    embeddingError: row.x_embedding_error,
    sha256: row.x_sha256,
  };
}

/** By their ids: the numbers of items that have one. */
export async function numbersOf(sql: Sql, source: number, items: Iterable<ItemId>): Promise<Map<ItemId, number>> {
  const numbers = new Map<ItemId, number>();
  const text = `SELECT item_id, item_no FROM item WHERE source_no = $1 AND ${isListed(sql, "item_id", "$2", "text")}`;
  for (const list of listsOf([...new Set(items)])) {
    const rows = await sql.all<Pick<EntryRow, "item_id" | "item_no">>(text, [source, list]);
    for (const { item_id, item_no } of rows) numbers.set(item_id, item_no);
  }
  return numbers;
}

/** The domain may have had another id when a map file was written. A path that is not below the source's folder keeps a slash in front. */
function belowRoot(file: string, root: string): string {
  if (file === "") return "";
  const below = root.slice(root.indexOf("/"));
  const at = file.indexOf("/");
  return file.startsWith(`${below}/`, at) ? file.slice(at + below.length + 1) : `/${file}`;
}

export function fromRoot(path: string, root: string): string {
  if (path === "") return "";
  return path.startsWith("/") ? path.slice(1) : `${root}/${path}`;
}

function columns(table: string, prefix: string, names: string): string {
  return names
    .split(", ")
    .map((name) => `${table}.${name}${prefix && ` AS ${prefix}${name}`}`)
    .join(", ");
}
