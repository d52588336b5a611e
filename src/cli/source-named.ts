import { resolve } from "node:path";
import type { DomainId, ItemId } from "../contracts/ids.ts";
import type { Ingest } from "../engine/ingest/ingest.ts";

const ITEM_ID = /^(url|file)_[a-z0-9]+$/;

/** Matches everything with a scheme, so that ftp://… is not taken for a file name. */
export function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && !/^file:/i.test(text);
}

/** Returns an address as it is, and a path as absolute. */
export function sourceNamed(text: string): string {
  return isAddress(text) || /^file:/i.test(text) ? text : resolve(text);
}

/** Finds an item by its id, address or path. Throws BadInputError for anything else. */
export async function itemNamed(text: string, ingest: Pick<Ingest, "idOf">, domainId?: DomainId): Promise<ItemId> {
  return ITEM_ID.test(text) ? (text as ItemId) : await ingest.idOf(sourceNamed(text), domainId);
}
