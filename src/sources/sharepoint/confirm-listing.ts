import { RemoteError } from "../../contracts/errors.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { rowKey } from "./library-codec.ts";
import { type ItemsQuery, readItems } from "./read-items.ts";

/** What a listing of a library or list saw. */
interface ListedRows {
  readonly what: "library" | "list";
  readonly query: Omit<ItemsQuery, "fields">;
  /** By `keyOf`. */
  readonly keys: ReadonlySet<string>;
  /** The ItemCount from before the first page was asked for. */
  readonly countBefore: number;
  /** The ItemCount now; undefined: it is no longer there. */
  count(): Promise<number | undefined>;
}

/** What identifies a row, whichever columns were asked for. */
export function keyOf(row: unknown): string {
  return rowKey(row) || (isJsonObject(row) ? `row ${row["Id"] ?? row["ID"]}` : "");
}

/**
 * Whether a listing that came to its end showed all there is to be seen; returns how many rows are counted that we are not
 * shown. Where the count says so, nothing more is asked. Otherwise (rows are hidden, or a filter leaves nothing to be counted)
 * everything is enumerated once more, from the other end: what was lost by chance, or is cut off the same way each time, shows
 * up there. Throws RemoteError, naming the way out, when absence proves nothing.
 */
export async function confirmListing(seen: ListedRows): Promise<number> {
  const { what, query, keys, countBefore } = seen;
  if (query.filter) {
    if (await matchesReverseListing(seen)) return 0;
    throw new RemoteError(
      `two looks at the ${what} with the filter "${query.filter}" did not show the same rows. ${NEXT_CRAWL}`,
    );
  }
  if (keys.size >= countBefore) return 0;
  // Counted anew: what was deleted while we listed is not missing.
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
/** For rows that the app is never shown. */
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

/** A filter on what another list says (`Editor/Title eq 'Ada'`) wants it expanded. */
function identifyingFields(filter: string): string {
  const parts = filter.replaceAll(/'[^']*'/g, "").match(/\b\w+\/\w+/g) ?? [];
  const expand = [...new Set(parts.map((part) => part.slice(0, part.indexOf("/"))))].join();
  return `$select=${["Id,UniqueId", ...new Set(parts)].join()}${expand && `&$expand=${expand}`}`;
}
