import { RemoteError } from "../../contracts/errors.ts";
import { hasStatus } from "./service-error.ts";

export interface Page<T> {
  readonly entries: readonly T[];
  readonly hasMore: boolean;
}

export interface Listing<T> {
  /** `verb object`, the start of an error. */
  readonly what: string;
  readonly idOf: (entry: T) => string;
  readonly read: (after: string | undefined) => Promise<Page<T>>;
  readonly mostPages?: number;
}

/** Ten times as many files as the service allows where it limits them at a hundred per page. */
const MOST_PAGES = 100_000;
const MOST_STARTS = 3;

/**
 * Reads a whole list, each id once. Returns only if the service said that the list was complete: callers treat files that
 * are not listed as missing.
 */
export async function readPages<T>(listing: Listing<T>): Promise<T[]> {
  for (let starts = 1; ; starts++) {
    try {
      return await readOnce(listing);
    } catch (error) {
      if (!(error instanceof LostCursorError) || starts >= MOST_STARTS) throw error;
    }
  }
}

/** The entry that the cursor names was deleted meanwhile. */
class LostCursorError extends RemoteError {}

async function readOnce<T>({ what, idOf, read, mostPages = MOST_PAGES }: Listing<T>): Promise<T[]> {
  const seen = new Map<string, T>();
  let after: string | undefined;
  for (let pages = 1; pages <= mostPages; pages++) {
    const { entries, hasMore } = await readFrom(after, what, read);
    const before = seen.size;
    for (const entry of entries) if (!seen.has(idOf(entry))) seen.set(idOf(entry), entry);
    if (!hasMore) return [...seen.values()];
    const last = entries.at(-1);
    // A server that ignores the cursor repeats the page for ever; stopping here would look like the end of the list.
    if (!last || seen.size === before) throw new RemoteError(`${what}: the service repeats a page instead of going on`);
    after = idOf(last);
  }
  throw new RemoteError(`${what}: the list does not end after ${mostPages} pages`);
}

async function readFrom<T>(after: string | undefined, what: string, read: Listing<T>["read"]): Promise<Page<T>> {
  try {
    return await read(after);
  } catch (error) {
    if (after === undefined || !hasStatus(error, 400, 404)) throw error;
    throw new LostCursorError(`${what}: the service cannot go on after ${after}`, { cause: error });
  }
}
