import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import type { Indexed, Mirrored, Seen } from "../../contracts/ledger.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { toUnixSeconds } from "../../lib/time.ts";

export type Row = readonly string[];

/** The columns of a map file, and the index of the item id. */
export interface TableShape {
  readonly columns: readonly string[];
  readonly key: number;
}

function columnsOf(names: string): readonly string[] {
  return names.split(/,\s+/);
}

/** Columns and order are specified: users and scripts read these files. */
export const SEEN_TABLE: TableShape = {
  columns:
    columnsOf(`sharepoint_listitem_id, sharepoint_unique_file_id, filename, file_type, file_size, url, raw_url, server_relative_url,
    last_modified_utc, last_modified_timestamp`),
  key: 1,
};

export const MIRRORED_TABLE: TableShape = {
  columns:
    columnsOf(`sharepoint_listitem_id, sharepoint_unique_file_id, filename, file_type, server_relative_url, file_relative_path,
    file_size, last_modified_utc, last_modified_timestamp, downloaded_utc, downloaded_timestamp, sharepoint_error,
    processing_error`),
  key: 1,
};

export const INDEXED_TABLE: TableShape = {
  columns:
    columnsOf(`openai_file_id, vector_store_id, file_relative_path, sharepoint_listitem_id, sharepoint_unique_file_id, filename,
    file_type, file_size, last_modified_utc, last_modified_timestamp, downloaded_utc, downloaded_timestamp, uploaded_utc,
    uploaded_timestamp, embedded_utc, embedded_timestamp, sharepoint_error, processing_error, embedding_error`),
  key: 4,
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

/** What the file has no column for stays as it is known. */
export function decodeSeen(row: Row, known: Seen | null | undefined): Seen {
  const [listItemId, , name, , size, url, rawUrl, serverPath, modifiedAt] = row;
  return {
    listItemId: Number(listItemId),
    name: name ?? "",
    serverPath: serverPath ?? "",
    url: url ?? "",
    rawUrl: rawUrl ?? "",
    size: Number(size),
    modifiedAt: modifiedAt ?? "",
    ...(known?.withheld && { withheld: true }),
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

/** What the file has no column for stays as it is known. */
export function decodeMirrored(row: Row, known: Mirrored | null | undefined): Mirrored {
  const [listItemId, , name, , serverPath, file, size, modifiedAt, , downloadedAt, , sourceError, processingError] =
    row;
  return {
    listItemId: Number(listItemId),
    name: name ?? "",
    serverPath: serverPath ?? "",
    file: toSlashes(file ?? ""),
    fingerprint: {
      size: Number(size),
      modifiedAt: modifiedAt ?? "",
      etag: known?.fingerprint.etag ?? "",
      contentVersion: known?.fingerprint.contentVersion ?? "",
    },
    downloadedAt: downloadedAt ?? "",
    sourceError: sourceError ?? "",
    processingError: processingError ?? "",
    observed: known?.observed ?? null,
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

export function decodeIndexed(row: Row, known: Indexed | null | undefined): Indexed {
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
    sha256: known?.sha256 ?? "",
  };
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
