import type { SearchHit } from "../../../contracts/search-index.ts";
import type { SectionRow } from "../../../index/sqlite/bodies.ts";
import type { DocumentRow } from "../../../index/sqlite/documents.ts";
import { parseChunkingKey } from "../../../index/sqlite/prepare-body.ts";
import type { StoreEntry, UploadedFile } from "../catalog.ts";

/** Objects as the wire protocol spells them. Unset fields are left out or null exactly as its schemas say. */

export interface FileCounts {
  readonly in_progress: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly total: number;
}

export function toFileObject(file: UploadedFile): object {
  return {
    id: file.id,
    object: "file",
    bytes: file.bytes,
    created_at: file.createdAt,
    filename: file.filename,
    purpose: file.purpose,
    status: "processed",
  };
}

export function toStoreObject(entry: StoreEntry, counts: FileCounts, usageBytes: number): object {
  return {
    id: entry.id,
    object: "vector_store",
    created_at: entry.createdAt,
    name: entry.name,
    usage_bytes: usageBytes,
    file_counts: counts,
    status: "completed",
    last_active_at: entry.lastActiveAt,
    expires_at: null,
    metadata: entry.metadata,
  };
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
    attributes: JSON.parse(row.attributes),
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
