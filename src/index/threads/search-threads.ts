import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { RemoteError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import { unpackError } from "../../lib/error-codec.ts";
import type { VectorModelSettings } from "../embed/open-vector-model.ts";
import { MAX_OPEN_STORES } from "../sqlite/open-sqlite-house.ts";
import { SearchThread } from "./search-thread.ts";

/** Searches of SQLite stores beside the thread that serves everybody: one takes milliseconds of pure computing. */
export interface SearchThreads {
  /** As searchStore() answers and fails. The store's file must be there. */
  search(id: VectorStoreId, query: SearchQuery): Promise<SearchHit[]>;
  /** Closes the store, for its files to be deleted. */
  drop(id: VectorStoreId): Promise<void>;
  close(): Promise<void>;
}

export interface SearchThreadsOptions {
  readonly folder: string;
  readonly model: VectorModelSettings;
  /** Beyond so many searches that wait for their answer, the next one is refused. */
  readonly maxWaiting?: number;
}

/** At 10 ms each, whoever comes last waits for ten seconds. */
const MAX_WAITING = 1000;
const MAX_THREADS = 4;

/** A store is always searched by the same thread, so that its vectors are in memory once. */
export function createSearchThreads({ folder, model, maxWaiting = MAX_WAITING }: SearchThreadsOptions): SearchThreads {
  const count = Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1));
  const settings = { folder, model, maxOpenStores: Math.ceil(MAX_OPEN_STORES / count) };
  const threads = Array.from({ length: count }, () => new SearchThread(settings));
  const threadOf = (id: VectorStoreId): SearchThread => {
    const hash = createHash("sha256").update(id).digest().readUInt32BE();
    return threads[hash % count] as SearchThread;
  };
  let waiting = 0;
  let closed = false;
  return {
    async search(id, { tell, signal, ...query }) {
      if (closed) throw new Error("search: the index is closed");
      if (waiting >= maxWaiting) {
        throw new RemoteError(`${waiting} searches are waiting for their answer already. Ask again in a few seconds.`);
      }
      waiting++;
      try {
        const { notes, outcome } = await threadOf(id).search(id, query, signal);
        for (const note of notes) tell?.(note);
        if ("error" in outcome) throw unpackError(outcome.error);
        return outcome.hits;
      } finally {
        waiting--;
      }
    },
    async drop(id) {
      await threadOf(id).drop(id);
    },
    async close() {
      closed = true;
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}
