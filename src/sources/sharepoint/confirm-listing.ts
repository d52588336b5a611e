import { RemoteError } from "../../contracts/errors.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { rowKey } from "./library-codec.ts";
import { type ItemsQuery, readItems } from "./read-items.ts";

/** The result of a listing of a library or list. */
interface ListedRows {
  readonly what: "library" | "list";
  readonly query: Omit<ItemsQuery, "fields">;
  /** By `keyOf`. */
  readonly keys: ReadonlySet<string>;
  /** The ItemCount before the first page was requested. */
  readonly countBefore: number;
  /** The ItemCount now; undefined: it is no longer there. */
  count(): Promise<number | undefined>;
}

/** Returns what identifies a row, whichever columns were requested. */
export function keyOf(row: unknown): string {
  return rowKey(row) || (isJsonObject(row) ? `row ${row["Id"] ?? row["ID"]}` : "");
}

/**
 * Checks that a finished listing is complete; returns how many rows are counted but not shown to us. If the count matches,
 * no more requests are made. Otherwise (rows are hidden, or a filter makes counting impossible) all rows are listed again
 * in reverse order: rows that were lost by chance, or are cut off the same way each time, appear there. Throws RemoteError,
 * with a remedy, when absence does not prove deletion.
 */
export async function confirmListing(seen: ListedRows): Promise<number> {
  const { what, query, keys, countBefore } = seen;
  if (query.filter) {
    if (await matchesReverseListing(seen)) return 0;
    throw new RemoteError(
      `two listings of the ${what} with the filter "${query.filter}" did not show the same rows. ${NEXT_CRAWL}`,
    );
  }
  if (keys.size >= countBefore) return 0;
  // Counted again: rows deleted during the listing are not missing.
  const count = await countNow(seen);
  if (keys.size >= count) return 0;
  const shows = `the ${what} says it has ${count} items, but only ${keys.size} were listed`;
  const isSame = count === countBefore && (await matchesReverseListing(seen));
  if (count !== countBefore || (await countNow(seen)) !== count) {
    throw new RemoteError(`${shows}, and changed while it was listed. ${NEXT_CRAWL} ${HIDDEN_ROWS_HELP}`);
  }
  if (!isSame)
    throw new RemoteError(`${shows}, and not the same ones when asked again. ${NEXT_CRAWL} ${HIDDEN_ROWS_HELP}`);
  return count - keys.size;
}

const NEXT_CRAWL = "The next crawl looks again.";
/** Help for rows that the app is never shown. */
const HIDDEN_ROWS_HELP =
  "Rows stay hidden from the app while they are checked out and were never checked in, are drafts, wait for approval, or have rights of their own: check them in, publish or approve them, or give the app access to them.";

async function countNow({ what, count }: ListedRows): Promise<number> {
  const now = await count();
  if (now === undefined) throw new RemoteError(`the ${what} is no longer there`);
  return now;
}

async function matchesReverseListing({ query, keys }: ListedRows): Promise<boolean> {
  const again = new Set<string>();
  const fields = identifyingFields(query.filter);
  for await (const page of readItems({ ...query, fields, from: "highest" }, (rows) => rows.map(keyOf))) {
    for (const key of page) {
      if (!keys.has(key)) return false;
      again.add(key);
    }
  }
  return again.size === keys.size;
}

/** Expands the lookup columns of the filter (`Editor/Title eq 'Ada'`), as SharePoint requires. */
function identifyingFields(filter: string): string {
  const parts = filter.replaceAll(/'[^']*'/g, "").match(/\b\w+\/\w+/g) ?? [];
  const expand = [...new Set(parts.map((part) => part.slice(0, part.indexOf("/"))))].join();
  return `$select=${["Id,UniqueId", ...new Set(parts)].join()}${expand && `&$expand=${expand}`}`;
}
