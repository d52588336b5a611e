import { toList } from "../wire/codec.ts";
import { readListParams, unknownCursor } from "../wire/read-list-params.ts";
import { type Include, type Item, showItem } from "./items.ts";

export const ITEM_LIMITS = { max: 100, usual: 20 };

/** A page of items that are all at hand, oldest first. */
export function pageOfItems(items: readonly Item[], query: URLSearchParams, include: Include): object {
  const { limit, order, after } = readListParams(query, ITEM_LIMITS);
  const ordered = order === "asc" ? items : items.toReversed();
  const at = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== undefined && at < 0) unknownCursor(after, "after");
  const page = ordered.slice(at + 1, at + 1 + limit);
  return itemList(page, at + 1 + limit < ordered.length, include);
}

export function itemList(items: readonly Item[], hasMore: boolean, include: Include): object {
  const shown = items.map((item) => showItem(item, include));
  const ids = items.map(({ id }) => id);
  return toList(shown, ids, hasMore);
}
