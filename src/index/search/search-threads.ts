import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { explain, RemoteError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import { type PackedError, unpackError } from "../../lib/error-codec.ts";
import { moduleBeside } from "../../lib/module-beside.ts";
import type { VectorModelSettings } from "../embedding/open-vector-model.ts";
import { MAX_OPEN_STORES } from "../sqlite/open-sqlite-stores.ts";

/** Searches SQLite stores in worker threads: a search takes milliseconds of CPU. */
export interface SearchThreads {
  /** Like searchStore(). The store's file must exist. */
  search(id: VectorStoreId, query: SearchQuery): Promise<SearchHit[]>;
  /** Closes the store, for its files to be deleted. */
  drop(id: VectorStoreId): Promise<void>;
  close(): Promise<void>;
}

interface SearchThreadsOptions {
  readonly folder: string;
  readonly model: VectorModelSettings;
  /** Limit of pending searches; further ones are rejected. */
  readonly maxWaiting?: number;
}

/** At 10 ms each, the last one waits ten seconds. */
const MAX_WAITING = 1000;
const MAX_THREADS = 4;

/** A store is always searched by the same thread, so that its vectors are in memory only once. */
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

/** Without vectors. Filtering a store of a million passages takes some hundred megabytes. */
const MAX_HEAP_MB = 2048;

interface Waiting {
  readonly resolve: (answer: WorkerResponse) => void;
  readonly reject: (error: Error) => void;
}

/** One worker thread, started by its first request, and restarted after a crash. Does not keep the process alive. */
class SearchThread {
  readonly #settings: SearchThreadSettings;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #lastNumber = 0;
  /** Error message for pending searches when the thread is closed. */
  #farewell: string | undefined;

  constructor(settings: SearchThreadSettings) {
    this.#settings = settings;
  }

  /** Rejects with RemoteError if the thread ends first. Also responds after an abort, when the thread has stopped searching. */
  async search(storeId: VectorStoreId, query: SerializableQuery, signal?: AbortSignal): Promise<WorkerResponse> {
    const over = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const answer = this.#order({ verb: "search", storeId, query, over });
    const abandon = { verb: "abandon", number: this.#lastNumber } as const;
    const end = (): void => {
      Atomics.store(over, 0, 1);
      this.#worker?.postMessage({ number: 0, order: abandon } satisfies WorkerRequest);
    };
    signal?.addEventListener("abort", end, { once: true });
    return answer.finally(() => signal?.removeEventListener("abort", end));
  }

  /** Does nothing if there is no thread: it holds no file open. */
  async drop(storeId: VectorStoreId): Promise<void> {
    if (this.#worker) await this.#order({ verb: "drop", storeId }).catch(() => undefined);
  }

  /** Pending searches get no response. */
  async close(): Promise<void> {
    if (!this.#worker) return;
    this.#farewell = "search: the index was closed";
    // The thread exits instead of responding.
    await this.#order({ verb: "close" }).catch(() => undefined);
  }

  #order(order: WorkerCommand): Promise<WorkerResponse> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const number = ++this.#lastNumber;
    const { promise, resolve, reject } = Promise.withResolvers<WorkerResponse>();
    worker.postMessage({ number, order } satisfies WorkerRequest);
    this.#waiting.set(number, { resolve, reject });
    worker.ref();
    return promise;
  }

  #start(): Worker {
    const worker = new Worker(moduleBeside(import.meta.url, "search-worker"), {
      workerData: this.#settings,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    let reason = "";
    worker.on("message", (answer: WorkerResponse) => {
      this.#waiting.get(answer.number)?.resolve(answer);
      this.#waiting.delete(answer.number);
      if (this.#waiting.size === 0) worker.unref();
    });
    worker.on("error", (error) => {
      reason = `: ${explain(error)}`;
    });
    worker.on("exit", () => this.#ended(reason));
    return worker;
  }

  #ended(reason: string): void {
    this.#worker = undefined;
    const message = `search: the thread that searches has ended${reason}. Ask again: another one is started.`;
    for (const { reject } of this.#waiting.values()) reject(new RemoteError(this.#farewell ?? message));
    this.#waiting.clear();
  }
}

/** What a thread is started with. */
export interface SearchThreadSettings {
  /** The folder of the stores. */
  readonly folder: string;
  /** With the key of an endpoint: nothing but the thread gets to see it. */
  readonly model: VectorModelSettings;
  /** So many stores, with their vectors, are held open at once. */
  readonly maxOpenStores: number;
}

/** A query without the fields that cannot be sent to a thread. */
type SerializableQuery = Omit<SearchQuery, "tell" | "signal">;

export type WorkerCommand =
  | {
      readonly verb: "search";
      readonly storeId: VectorStoreId;
      readonly query: SerializableQuery;
      /** Shared memory: 1 if the search was cancelled. A busy thread receives no messages. */
      readonly over: Int32Array;
    }
  /** Cancels the search of this number while it waits for an endpoint. No response. */
  | { readonly verb: "abandon"; readonly number: number }
  /** The store is about to be deleted: closes its files. */
  | { readonly verb: "drop"; readonly storeId: VectorStoreId }
  /** The last request: pending searches get no response. */
  | { readonly verb: "close" };

export interface WorkerRequest {
  readonly number: number;
  readonly order: WorkerCommand;
}

export interface WorkerResponse {
  readonly number: number;
  /** Notes passed to `tell`, also before a failure. */
  readonly notes: readonly string[];
  readonly outcome: { readonly hits: SearchHit[] } | { readonly error: PackedError };
}
