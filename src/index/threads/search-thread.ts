import { Worker } from "node:worker_threads";
import { explain, RemoteError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import { moduleBeside } from "../../lib/module-beside.ts";
import type { NumberedOrder, PlainQuery, SearchAnswer, SearchOrder, SearchThreadSettings } from "./messages.ts";

/** Vectors are not part of it. A store of a million passages takes some hundred megabytes to choose among its documents. */
const MAX_HEAP_MB = 2048;

interface Waiting {
  readonly resolve: (answer: SearchAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** One thread: begun by its first order, and begun again by the next one after it died. Keeps no process from ending. */
export class SearchThread {
  readonly #settings: SearchThreadSettings;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #lastNumber = 0;
  /** What those who wait are told when the thread ends on purpose. */
  #farewell: string | undefined;

  constructor(settings: SearchThreadSettings) {
    this.#settings = settings;
  }

  /** RemoteError when the thread ends before it has answered. Answered also when the signal ends it: the thread has stopped then. */
  async search(storeId: VectorStoreId, query: PlainQuery, signal?: AbortSignal): Promise<SearchAnswer> {
    const over = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const answer = this.#order({ verb: "search", storeId, query, over });
    const abandon = { verb: "abandon", number: this.#lastNumber } as const;
    const end = (): void => {
      Atomics.store(over, 0, 1);
      this.#worker?.postMessage({ number: 0, order: abandon } satisfies NumberedOrder);
    };
    signal?.addEventListener("abort", end, { once: true });
    return answer.finally(() => signal?.removeEventListener("abort", end));
  }

  /** One that is not there, or ends meanwhile, holds nothing open. */
  async drop(storeId: VectorStoreId): Promise<void> {
    if (this.#worker) await this.#order({ verb: "drop", storeId }).catch(() => undefined);
  }

  /** What is still being searched is not answered. */
  async close(): Promise<void> {
    if (!this.#worker) return;
    this.#farewell = "search: the index was closed";
    // It ends instead of answering.
    await this.#order({ verb: "close" }).catch(() => undefined);
  }

  #order(order: SearchOrder): Promise<SearchAnswer> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const number = ++this.#lastNumber;
    const { promise, resolve, reject } = Promise.withResolvers<SearchAnswer>();
    worker.postMessage({ number, order } satisfies NumberedOrder);
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
    worker.on("message", (answer: SearchAnswer) => {
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
