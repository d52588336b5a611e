import { existsSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { NotFoundError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import { packError } from "../../lib/error-codec.ts";
import { openVectorModel } from "../embedding/open-vector-model.ts";
import { openSqliteStores, storePath } from "../sqlite/open-sqlite-stores.ts";
import { searchStore } from "./search-store.ts";
import type { SearchThreadSettings, WorkerCommand, WorkerRequest, WorkerResponse } from "./search-threads.ts";

const { folder, model, maxOpenStores } = workerData as SearchThreadSettings;
// To the database this thread is one more process: what others commit, it sees in its next search.
const provider = openSqliteStores(folder, { model: await openVectorModel(model), maxOpenStores });
/** Their files are about to be deleted. */
const dropping = new Set<VectorStoreId>();

/** What ends the searches under way, by number. */
const searches = new Map<number, AbortController>();

parentPort?.on("message", async ({ number, order }: WorkerRequest) => {
  if (order.verb === "abandon") {
    searches.get(order.number)?.abort();
    return;
  }
  const notes: string[] = [];
  const ending = new AbortController();
  searches.set(number, ending);
  const outcome = await execute(order, { tell: (note) => notes.push(note), signal: ending.signal }).then(
    (hits) => ({ hits }),
    (error: unknown) => ({ error: packError(error) }),
  );
  searches.delete(number);
  parentPort?.postMessage({ number, notes, outcome } satisfies WorkerResponse);
});

type Order = Exclude<WorkerCommand, { readonly verb: "abandon" }>;

async function execute(order: Order, around: Pick<SearchQuery, "tell" | "signal">): Promise<SearchHit[]> {
  switch (order.verb) {
    case "search":
      return search(order.storeId, { ...order.query, ...around }, order.over);
    case "drop":
      await drop(order.storeId);
      return [];
    case "close":
      // An endpoint that has not answered yet must not keep the thread; nor must a file that cannot be closed.
      return provider.close().finally(() => process.exit()) as Promise<never>;
  }
}

async function drop(id: VectorStoreId): Promise<void> {
  dropping.add(id);
  await provider.drop(id).finally(() => dropping.delete(id));
}

/** Throws NotFoundError if the file is gone: the store was deleted meanwhile, and opening it would create another. */
async function search(id: VectorStoreId, query: SearchQuery, over: Int32Array): Promise<SearchHit[]> {
  const isOver = (): boolean => query.signal?.aborted === true || Atomics.load(over, 0) === 1;
  const isThere = (): boolean => !dropping.has(id) && existsSync(storePath(folder, id));
  try {
    if (isThere()) return await searchStore(await provider.open(id), query, isOver);
  } catch (error) {
    if (isThere()) throw error;
  }
  throw new NotFoundError(`No vector store found with id '${id}'.`);
}
