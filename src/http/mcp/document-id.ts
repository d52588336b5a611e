import { type DocumentPlace, readingAddress } from "../../app/openable-url.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import { type ItemId, parseDomainId, parseSourceId } from "../../contracts/ids.ts";
import type { DocumentKey } from "../../engine/searchable-documents.ts";
import { plainLabel } from "../../lib/text.ts";
import { shorten } from "../routing/parameters.ts";

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

/** Returns an address of the document that opens. `origin`: where pages of this server are for whoever asks. */
export function addressOf({ webUrl, ...key }: DocumentKey & { readonly webUrl: string }, origin: string): string {
  return webUrl === "" ? origin + readingAddress(key) : webUrl;
}
