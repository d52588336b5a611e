/** A thing said or done in a conversation, as the wire protocol spells it: a message, a call of a tool, its result. */
export interface Item {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What clients have to ask for, because most do not want it. */
export type Include = ReadonlySet<string>;

export const SEARCH_RESULTS = "file_search_call.results";

/** What file_search found is kept with its call, and shown to those who include it. */
export function showItem(item: Item, include: Include): Item {
  if (item.type !== "file_search_call" || include.has(SEARCH_RESULTS)) return item;
  return { ...item, results: null };
}

/** The words of a message; "" for anything else. */
export function textOfItem(item: Item): string {
  if (item.type !== "message" || !Array.isArray(item["content"])) return "";
  return item["content"]
    .map((part: { readonly text?: unknown }) => part.text)
    .filter((text): text is string => typeof text === "string")
    .join("\n");
}

export function lastQuestion(items: readonly Item[]): string | undefined {
  return items
    .filter(({ role }) => role === "user")
    .map(textOfItem)
    .findLast((text) => text.trim() !== "");
}
