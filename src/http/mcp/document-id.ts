import { openableUrl } from "../../app/openable-url.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import { type ItemId, parseDomainId, parseSourceId } from "../../contracts/ids.ts";
import type { QuerySource } from "../../engine/query.ts";
import type { DocumentKey } from "../../engine/searchable-documents.ts";
import { plainLabel } from "../../lib/text.ts";
import { shorten } from "../routing/parameters.ts";

/** A document, and perhaps one of its passages. */
export interface DocumentPlace extends DocumentKey {
  /** Counts the passages of the document from 0. */
  readonly passage?: number;
}

/** In place of a source, for files that were attached over the wire: no source may be called so. */
const ATTACHED = "_direct";
export const URI_PREFIX = "lockstep://documents/";

/** `HR/handbook/doc_k7gxn3#12`: what `search` returns and `fetch` takes. It outlives versions of the document. */
export function formatDocumentId({ domainId, sourceId, itemId, passage }: DocumentPlace): string {
  const id = `${domainId}/${sourceId || ATTACHED}/${encodeURIComponent(itemId)}`;
  return passage === undefined ? id : `${id}#${passage}`;
}

export function formatDocumentUri(key: DocumentKey): string {
  return URI_PREFIX + formatDocumentId(key);
}

/** Also takes the address of the resource. NotFoundError for anything that is no id. */
export function parseDocumentId(text: string): DocumentPlace {
  const id = text.startsWith(URI_PREFIX) ? text.slice(URI_PREFIX.length) : text;
  const [, domain, source, item, passage] = /^([^/#?]+)\/([^/#?]+)\/([^/#?]+)(?:#(\d{1,9}))?$/.exec(id.trim()) ?? [];
  try {
    if (domain !== undefined && source !== undefined && item !== undefined) {
      return {
        domainId: parseDomainId(domain),
        sourceId: source === ATTACHED ? "" : parseSourceId(source),
        itemId: decodeURIComponent(item) as ItemId,
        ...(passage !== undefined && { passage: Number(passage) }),
      };
    }
  } catch (error) {
    if (!(error instanceof BadInputError || error instanceof URIError)) throw error;
  }
  throw new NotFoundError(
    `'${shorten(plainLabel(text))}' is not the id of a document. Take the id of a result of search.`,
  );
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

/** Returns an address of the document that opens. `origin`: where pages of this server are for whoever asks. */
export function addressOf(
  document: DocumentKey & { readonly webUrl: string; readonly fileId: string },
  origin: string,
) {
  const { domainId, sourceId, itemId, webUrl, fileId } = document;
  const attributes = sourceId === "" ? {} : { domain_id: domainId, source_id: sourceId, item_id: itemId };
  return openableUrl({ webUrl, fileId, attributes, text: "" }, origin);
}
