import type { SearchHit } from "../../../contracts/search-index.ts";
import type { SectionRow } from "../../../index/bodies.ts";
import { parseChunkingKey } from "../../../index/chunk-sections.ts";
import { type DocumentRow, parseAttributes } from "../../../index/documents.ts";
import type { UploadedFile } from "../file-repository.ts";
import type { StoreEntry, Usage } from "../stores.ts";
import { expiryOf } from "../stores.ts";
import type { Upload, UploadPart } from "../upload-repository.ts";

/** Files that were attached in one request. Their status is in the store. */
export interface Batch {
  readonly id: string;
  readonly storeId: string;
  readonly createdAt: number;
  readonly cancelled: boolean;
}

/** Objects as the wire protocol spells them. Unset fields are left out or null exactly as its schemas say. */

export function toFileObject(file: UploadedFile): object {
  return {
    id: file.id,
    object: "file",
    bytes: file.bytes,
    created_at: file.createdAt,
    filename: file.filename,
    purpose: file.purpose,
    status: "processed",
    ...(file.expiresAt !== null && { expires_at: file.expiresAt }),
  };
}

export function toUploadObject(upload: Upload, status: string, file: object | undefined): object {
  return {
    id: upload.id,
    object: "upload",
    bytes: upload.bytes,
    created_at: upload.createdAt,
    filename: upload.filename,
    purpose: upload.purpose,
    status,
    expires_at: upload.expiresAt,
    ...(file && { file }),
  };
}

export function toPartObject(part: UploadPart): object {
  return { id: part.id, object: "upload.part", created_at: part.createdAt, upload_id: part.uploadId };
}

export function toStoreObject(entry: StoreEntry, usage: Usage, expired: boolean): object {
  return {
    id: entry.id,
    object: "vector_store",
    created_at: entry.createdAt,
    name: entry.name,
    usage_bytes: usage.bytes,
    file_counts: toCounts(usage),
    status: expired ? "expired" : usage.inProgress > 0 ? "in_progress" : "completed",
    last_active_at: entry.lastActiveAt,
    ...(entry.expiresAfterDays !== null && {
      expires_after: { anchor: "last_active_at", days: entry.expiresAfterDays },
    }),
    expires_at: expiryOf(entry),
    metadata: entry.metadata,
  };
}

/** It is `completed` when everything has ended, also when some of it failed. */
export function toBatchObject(batch: Batch, usage: Omit<Usage, "bytes">): object {
  const counts = toCounts(usage);
  const done = batch.cancelled ? "cancelled" : "completed";
  return {
    id: batch.id,
    object: "vector_store.files_batch",
    created_at: batch.createdAt,
    vector_store_id: batch.storeId,
    status: counts.in_progress > 0 ? "in_progress" : done,
    file_counts: counts,
  };
}

function toCounts({ inProgress, completed, failed, cancelled }: Omit<Usage, "bytes">): {
  readonly in_progress: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly total: number;
} {
  const total = inProgress + completed + failed + cancelled;
  return { in_progress: inProgress, completed, failed, cancelled, total };
}

export function toStoreFileObject(row: DocumentRow, storeId: string): object {
  const { maxTokens, overlapTokens } = parseChunkingKey(row.chunking);
  return {
    id: row.fileId,
    object: "vector_store.file",
    usage_bytes: row.status === "completed" ? row.bytes : 0,
    created_at: row.uploadedAt,
    vector_store_id: storeId,
    status: row.status,
    last_error: row.errorCode === null ? null : { code: row.errorCode, message: row.errorMessage ?? "" },
    chunking_strategy: {
      type: "static",
      static: { max_chunk_size_tokens: maxTokens, chunk_overlap_tokens: overlapTokens },
    },
    attributes: parseAttributes(row.attributes),
  };
}

export function toContentPage(sections: readonly SectionRow[]): object {
  const data = sections
    .map(({ heading, level, content }) => [heading && `${"#".repeat(level)} ${heading}`, content].filter(Boolean))
    .filter((parts) => parts.length > 0)
    .map((parts) => ({ type: "text", text: parts.join("\n\n") }));
  return { object: "vector_store.file_content.page", data, has_more: false, next_page: null };
}

export function toSearchPage(queries: readonly string[], hits: readonly SearchHit[]): object {
  return {
    object: "vector_store.search_results.page",
    search_query: queries,
    data: hits.map((hit) => ({
      file_id: hit.fileId,
      filename: hit.name,
      score: hit.score,
      attributes: hit.attributes,
      content: [{ type: "text", text: hit.text }],
    })),
    has_more: false,
    next_page: null,
  };
}

/** first_id and last_id of an empty list are null: so it came off the wire, though the schema says string. */
export function toList(objects: readonly object[], ids: readonly string[], hasMore: boolean): object {
  return { object: "list", data: objects, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null, has_more: hasMore };
}

export function toDeleted(id: string, object: "file" | "vector_store.deleted" | "vector_store.file.deleted"): object {
  return { id, object, deleted: true };
}
