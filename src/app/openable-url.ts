import type { ItemId } from "../contracts/ids.ts";
import type { QuerySource } from "../engine/query.ts";
import type { DocumentKey } from "../engine/searchable-documents.ts";

/** A document, and perhaps one of its passages. */
export interface DocumentPlace extends DocumentKey {
  /** Counts the passages of the document from 0. */
  readonly passage?: number;
  /** Where to open it, if not where the passage begins. */
  readonly page?: number | undefined;
}

/** The document of a hit. Services know our documents by the attributes that we gave them. */
export function keyOfHit(
  domainId: DocumentKey["domainId"],
  { fileId, attributes, details }: Pick<QuerySource, "fileId" | "attributes" | "details">,
): DocumentPlace {
  const attached = { domainId, sourceId: "", itemId: fileId as ItemId };
  const { domain_id, source_id, item_id } = attributes;
  if (details) {
    const { sourceId, itemId, position } = details;
    const isOurs = sourceId !== "" && domain_id === domainId;
    return { ...(isOurs ? { domainId, sourceId, itemId } : attached), passage: position };
  }
  if (domain_id !== domainId || typeof source_id !== "string" || typeof item_id !== "string") return attached;
  return { domainId, sourceId: source_id, itemId: item_id as ItemId };
}

/**
 * Returns an address of a search result that opens in a browser: the source's own, this server's page of the document, at the passage, or
 * the bytes of a file that no domain has. `origin` is where the receiver reaches this server (`Call.origin`); "" for links on our own
 * pages.
 */
export function openableUrl(
  result: Pick<QuerySource, "webUrl" | "attributes" | "fileId" | "domainId" | "details">,
  origin: string,
): string {
  const { webUrl, domainId, fileId } = result;
  if (webUrl !== "") return webUrl;
  if (domainId === "") return `${origin}/openai/v1/files/${encodeURIComponent(fileId)}/content`;
  return origin + readingAddress(keyOfHit(domainId, result));
}

/** Returns the page on which a document is read, of whatever kind of source. */
export function readingAddress({ domainId, sourceId, itemId, passage, page }: DocumentPlace): string {
  const query = new URLSearchParams({
    domain_id: domainId,
    ...(sourceId && { source_id: sourceId }),
    item_id: itemId,
    ...(passage !== undefined && { passage: String(passage) }),
    format: "html",
  });
  const place = passage === undefined ? "" : "#passage";
  return `/v2/documents/read?${query}${page === undefined ? place : `#page-${page}`}`;
}

interface FileName {
  readonly domainId: string | undefined;
  readonly sourceId: string | undefined;
  readonly itemId: string | undefined;
}

/**
 * Returns the page for a file that a browser cannot open by its own address: its stored text (`version`), or its history (`get`). undefined
 * for items of other sources.
 */
export function fileAddress(page: "get" | "version", { domainId, sourceId, itemId }: FileName): string | undefined {
  if (!domainId || !sourceId || !itemId?.startsWith("doc_")) return undefined;
  const query = new URLSearchParams({ domain_id: domainId, source_id: sourceId, document: itemId, format: "html" });
  return `/v2/documents/${page}?${query}`;
}
