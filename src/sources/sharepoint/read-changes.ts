import type { ItemId } from "../../contracts/ids.ts";
import { changesQuery, decodeChanges } from "./change-codec.ts";
import type { CallContext, RestClient } from "./rest-client.ts";
import type { SiteAddress } from "./site-url.ts";

/** Everything the log says about one item, put together. */
export interface TouchedItem {
  readonly itemId: ItemId;
  /** The latest: an item that left the library and came back has a new one. */
  readonly listItemId: number;
  /** It was not in the library where the log begins. */
  readonly arrived: boolean;
  readonly relocated: boolean;
}

export interface ChangeLog {
  readonly items: readonly TouchedItem[];
  /** Where the log ends. */
  readonly token: string;
}

const FETCH_LIMIT = 1000;
/** Beyond these it is cheaper, and surer, to list. */
const MOST_ITEMS = 500;
const MOST_PAGES = 20;

/** Reads on until there is nothing more. undefined: too much happened, or the log goes round in circles. */
export async function readChanges(
  place: { readonly rest: RestClient; readonly site: SiteAddress },
  listId: string,
  from: string,
  call: CallContext,
): Promise<ChangeLog | undefined> {
  const url = `${place.site.api}web/lists(guid'${encodeURIComponent(listId)}')/GetChanges`;
  const items = new Map<ItemId, TouchedItem>();
  let token = from;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const changes = decodeChanges(await place.rest.postJson(url, changesQuery(token, FETCH_LIMIT), call));
    if (changes.token === "") return { items: [...items.values()], token };
    for (const { itemId, listItemId, arrives, relocates } of changes.items) {
      const known = items.get(itemId);
      const relocated = relocates || (known?.relocated ?? false);
      items.set(itemId, { itemId, listItemId, arrived: known?.arrived ?? arrives, relocated });
    }
    if (changes.token === token || items.size > MOST_ITEMS) return undefined;
    token = changes.token;
  }
  return undefined;
}
