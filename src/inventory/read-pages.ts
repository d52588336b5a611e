import { RemoteError } from "../contracts/errors.ts";
import { askBackend, hasStatus } from "./ask-backend.ts";

/** In which order, and how many at once at most; lists of the backend are sorted by when things were created. */
export interface PageWish {
  readonly order: "asc" | "desc";
  readonly pageSize: number;
}

export interface ListCall<T> {
  /** `verb object`, for errors. */
  readonly what: string;
  readonly missing?: string;
  readonly read: (
    after: string | undefined,
  ) => PromiseLike<{ readonly data: readonly T[]; readonly has_more: boolean }>;
}

/** Follows the cursor page by page, as far as the caller reads. Ends normally only where the backend says that this was all. */
export async function* readPages<T extends { readonly id: string }>(
  list: ListCall<T>,
): AsyncGenerator<readonly T[], void> {
  const cursors = new Set<string>();
  let after: string | undefined;
  for (;;) {
    const { data, has_more: more } = await readFrom(list, after);
    yield data;
    const last = data.at(-1)?.id;
    if (!more) return;
    // A server that ignores the cursor sends the same page for ever.
    if (last === undefined || cursors.has(last)) {
      throw new RemoteError(`Cannot ${list.what}: the backend repeats a page instead of going on.`);
    }
    cursors.add(last);
    after = last;
  }
}

async function readFrom<T>({ what, missing, read }: ListCall<T>, after: string | undefined) {
  return askBackend({ what, ...(missing !== undefined && after === undefined && { missing }) }, async () => {
    try {
      return await read(after);
    } catch (error) {
      if (after === undefined || !hasStatus(error, 400, 404)) throw error;
      throw new RemoteError(`Cannot ${what}: the list changed while it was read. Ask again.`);
    }
  });
}

/** A snapshot of a whole list, each id once. */
export async function readAll<T extends { readonly id: string }>(
  pages: AsyncIterable<readonly T[]>,
  signal?: AbortSignal,
): Promise<T[]> {
  const found = new Map<string, T>();
  for await (const page of pages) {
    signal?.throwIfAborted();
    for (const one of page) if (!found.has(one.id)) found.set(one.id, one);
  }
  return [...found.values()];
}
