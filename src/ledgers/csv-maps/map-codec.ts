import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import type { Indexed, Mirrored, Seen } from "../../contracts/ledger.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { toUnixSeconds } from "../../lib/time.ts";
import type { Row, TableShape } from "./row-table.ts";

/** Columns and order are those of the specification: people and scripts read these files. */
export const SEEN_TABLE: TableShape = {
  columns: [
    "sharepoint_listitem_id",
    "sharepoint_unique_file_id",
    "filename",
    "file_type",
    "file_size",
    "url",
    "raw_url",
    "server_relative_url",
    "last_modified_utc",
    "last_modified_timestamp",
  ],
  key: 1,
};

export const MIRRORED_TABLE: TableShape = {
  columns: [
    "sharepoint_listitem_id",
    "sharepoint_unique_file_id",
    "filename",
    "file_type",
    "server_relative_url",
    "file_relative_path",
    "file_size",
    "last_modified_utc",
    "last_modified_timestamp",
    "downloaded_utc",
    "downloaded_timestamp",
    "sharepoint_error",
    "processing_error",
  ],
  key: 1,
};

export const INDEXED_TABLE: TableShape = {
  columns: [
    "openai_file_id",
    "vector_store_id",
    "file_relative_path",
    "sharepoint_listitem_id",
    "sharepoint_unique_file_id",
    "filename",
    "file_type",
    "file_size",
    "last_modified_utc",
    "last_modified_timestamp",
    "downloaded_utc",
    "downloaded_timestamp",
    "uploaded_utc",
    "uploaded_timestamp",
    "embedded_utc",
    "embedded_timestamp",
    "sharepoint_error",
    "processing_error",
    "embedding_error",
  ],
  key: 4,
};

/** `.lockstep/observed.csv`: what the three specified files have no column for. Losing it costs re-hashing, nothing else. */
export const OBSERVED_TABLE: TableShape = {
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

export function encodeSeen(item: string, seen: Seen): Row {
  return [
    String(seen.listItemId),
    item,
    seen.name,
    fileTypeOf(seen.name),
    String(seen.size),
    seen.url,
    seen.rawUrl,
    seen.serverPath,
    seen.modifiedAt,
    String(toUnixSeconds(seen.modifiedAt)),
  ];
}

/** Whether a row says this already. A row with quoted fields may be denied, which costs encoding it once more. */
export function isSeenRow(row: string, item: string, seen: Seen): boolean {
  const begin = `${seen.listItemId},${item},${seen.name},${fileTypeOf(seen.name)},${seen.size},`;
  return row.startsWith(begin) && row.includes(`,${seen.rawUrl},${seen.serverPath},${seen.modifiedAt},`);
}

export function decodeSeen(row: Row): Seen {
  const [listItemId, , name, , size, url, rawUrl, serverPath, modifiedAt] = row;
  return {
    listItemId: Number(listItemId),
    name: name ?? "",
    serverPath: serverPath ?? "",
    url: url ?? "",
    rawUrl: rawUrl ?? "",
    size: Number(size),
    modifiedAt: modifiedAt ?? "",
  };
}

export function encodeMirrored(item: string, mirrored: Mirrored): Row {
  const { fingerprint } = mirrored;
  return [
    String(mirrored.listItemId),
    item,
    mirrored.name,
    fileTypeOf(mirrored.name),
    mirrored.serverPath,
    toBackslashes(mirrored.file),
    String(fingerprint.size),
    fingerprint.modifiedAt,
    String(toUnixSeconds(fingerprint.modifiedAt)),
    mirrored.downloadedAt,
    toTimestamp(mirrored.downloadedAt),
    mirrored.sourceError,
    mirrored.processingError,
  ];
}

/** Of a row of `files_map.csv`: the column that says where the file is, and how that is read. */
export const FILE_COLUMN = 5;

export function decodeFile(field: string): string {
  return toSlashes(field);
}

export function decodeMirrored(row: Row, observed: Row | null): Mirrored {
  const [listItemId, , name, , serverPath, file, size, modifiedAt, , downloadedAt, , sourceError, processingError] =
    row;
  const sha256 = observed?.[5] ?? "";
  return {
    listItemId: Number(listItemId),
    name: name ?? "",
    serverPath: serverPath ?? "",
    file: decodeFile(file ?? ""),
    fingerprint: {
      size: Number(size),
      modifiedAt: modifiedAt ?? "",
      etag: decodeEtag(observed?.[1] ?? ""),
      contentVersion: observed?.[2] ?? "",
    },
    downloadedAt: downloadedAt ?? "",
    sourceError: sourceError ?? "",
    processingError: processingError ?? "",
    observed: sha256 ? { size: Number(observed?.[3]), mtimeMs: Number(observed?.[4]), sha256 } : null,
  };
}

export function encodeIndexed(item: string, indexed: Indexed): Row {
  return [
    indexed.fileId,
    indexed.vectorStoreId,
    toBackslashes(indexed.file),
    String(indexed.listItemId),
    item,
    indexed.name,
    fileTypeOf(indexed.name),
    String(indexed.size),
    indexed.modifiedAt,
    String(toUnixSeconds(indexed.modifiedAt)),
    indexed.downloadedAt,
    toTimestamp(indexed.downloadedAt),
    indexed.uploadedAt,
    toTimestamp(indexed.uploadedAt),
    indexed.embeddedAt,
    toTimestamp(indexed.embeddedAt),
    indexed.sourceError,
    indexed.processingError,
    indexed.embeddingError,
  ];
}

export function decodeIndexed(row: Row, observed: Row | null): Indexed {
  return {
    fileId: (row[0] ?? "") as FileId,
    vectorStoreId: (row[1] ?? "") as VectorStoreId,
    file: toSlashes(row[2] ?? ""),
    listItemId: Number(row[3]),
    name: row[5] ?? "",
    size: Number(row[7]),
    modifiedAt: row[8] ?? "",
    downloadedAt: row[10] ?? "",
    uploadedAt: row[12] ?? "",
    embeddedAt: row[14] ?? "",
    sourceError: row[16] ?? "",
    processingError: row[17] ?? "",
    embeddingError: row[18] ?? "",
    sha256: observed?.[6] ?? "",
  };
}

/** One row for both facets: download writes the first columns, embed the last. */
export function encodeObserved(item: string, mirrored: Mirrored | null, indexed: Indexed | null): Row | null {
  const { etag = "", contentVersion = "" } = mirrored?.fingerprint ?? {};
  const observed = mirrored?.observed;
  const row = [
    item,
    encodeEtag(etag),
    contentVersion,
    observed ? String(observed.size) : "",
    observed ? String(observed.mtimeMs) : "",
    observed?.sha256 ?? "",
    indexed?.sha256 ?? "",
  ];
  return row.slice(1).every((field) => field === "") ? null : row;
}

/**
 * SharePoint's ETags, `"{GUID},3"`, would have to be quoted in every row, and quoted rows are slow to read. They are
 * kept as `{GUID};3`; anything else is kept as it is.
 */
function encodeEtag(etag: string): string {
  return /^"\{[^",;{}]*\},\d+"$/.test(etag) ? etag.slice(1, -1).replace(",", ";") : etag;
}

function decodeEtag(text: string): string {
  return text.startsWith("{") ? `"${text.replace(";", ",")}"` : text;
}

function toTimestamp(instant: string): string {
  return instant ? String(toUnixSeconds(instant)) : "";
}

/** Backslashes on every system, as specified; SharePoint allows none in names, and local paths replace them. */
function toBackslashes(path: string): string {
  return path.replaceAll("/", "\\");
}

function toSlashes(path: string): string {
  return path.replaceAll("\\", "/");
}
