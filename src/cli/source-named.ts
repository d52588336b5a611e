import { resolve } from "node:path";
import type { DomainId, ItemId } from "../contracts/ids.ts";
import type { Ingest } from "../engine/ingest/ingest.ts";

const ITEM_ID = /^(url|file)_[a-z0-9]+$/;

/** Whatever names a scheme, so that nobody looks for a file called ftp://…. */
export function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && !/^file:/i.test(text);
}

/** What somebody typed for an address or a file: paths count from where they stand. */
export function sourceNamed(text: string): string {
  return isAddress(text) || /^file:/i.test(text) ? text : resolve(text);
}

/** By its id, its address or its path. BadInputError for what can be none of them. */
export async function itemNamed(text: string, ingest: Pick<Ingest, "idOf">, domainId?: DomainId): Promise<ItemId> {
  return ITEM_ID.test(text) ? (text as ItemId) : await ingest.idOf(sourceNamed(text), domainId);
}
