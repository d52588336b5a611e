import type { Backend, Searching, Wire } from "../../contracts/backend.ts";
import type { Extractor } from "../../contracts/document.ts";
import type { Embedder } from "../../contracts/embedder.ts";
import { changeOwner } from "../../index/documents.ts";
import { EmbeddedIndex } from "../../index/embedded-index.ts";
import { dropLooseBodies } from "../../index/retention.ts";
import { searchStore } from "../../index/search/search-store.ts";
import type { StoreHouse } from "../../index/store.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import type { Quota } from "./answers/answer-context.ts";
import { createAnswerers } from "./answers/answer-context.ts";
import type { ChatModel } from "./answers/answerer.ts";
import { answersTables } from "./answers/answers-tables.ts";
import { Attachments } from "./attachments.ts";
import { catalogTables } from "./catalog-tables.ts";
import { FileRemoval, FileShelf } from "./file-repository.ts";
import { Processing, processFile, type Work } from "./processing-queue.ts";
import { listStores, Stores, StoreUsage } from "./stores.ts";
import { UploadShelf } from "./upload-repository.ts";
import type { WireContext } from "./wire/wire-context.ts";
import { findLive } from "./wire/wire-context.ts";
import { createWire } from "./wire.ts";

export interface EmbeddedBackendOptions {
  /** Where the vector stores and all tables are. The backend closes it. */
  readonly house: StoreHouse;
  /** Holds uploaded files. */
  readonly folder: string;
  readonly extractor: Extractor;
  /** What new vector stores begin with; `/embeddings` answers with it. */
  readonly embedder: () => Promise<Embedder>;
  /** Writes answers; without one they are quoted. */
  readonly model?: ChatModel | undefined;
  /** Where chats search; "" or none: in the only store, if there is just one. */
  readonly defaultStoreId?: string;
  /** Stands between a file that waits and the work on it: where other services fail or dawdle, tests of their clients do. */
  readonly aroundWork?: (work: Work) => Work;
  /** Lets in a few of everybody's searches at once; left out: all. */
  readonly searching?: Searching;
  /** What each key may have kept of its answers and conversations. */
  readonly quota?: Quota;
  /** The clock by which files, uploads and stores expire. */
  readonly nowSeconds?: () => number;
}

/** Far more than a person asks in a month, and little enough for a disk that many keys share. */
const QUOTA: Quota = { answers: 10_000, conversations: 10_000, bytes: 256 * 1024 * 1024 };

/** Vector stores without a key and without a network: the crawler writes through `openIndex`, everybody else speaks `wire`. */
export type EmbeddedBackend = Backend & {
  /** The OpenAI wire protocol; paths as `/files` or `/v1/files`. Never rejects: trouble becomes an error response. */
  readonly wire: Wire;
};

export async function createEmbeddedBackend(options: EmbeddedBackendOptions): Promise<EmbeddedBackend> {
  const { house, folder, extractor, aroundWork = (work) => work } = options;
  const nowSeconds = options.nowSeconds ?? ((): number => Math.floor(Date.now() / 1000));
  const catalog = await house.openTables("catalog", catalogTables);
  const stores = new Stores(house, catalog, nowSeconds);
  const shelf = new FileShelf(folder, catalog, stores);
  const removal = new FileRemoval(catalog, stores, shelf, nowSeconds);
  const uploads = new UploadShelf(folder, catalog, shelf, nowSeconds);
  const processing = new Processing(catalog, aroundWork(createFileWork(stores, extractor)));
  const attachments = new Attachments(catalog, processing, nowSeconds);
  const usage = new StoreUsage();
  const searching: Searching = options.searching ?? ((_asking, work) => work());
  const search: WireContext["search"] = async (storeId, query, principal) => {
    const entry = await findLive(context, storeId);
    const asking = { principal, signal: query.signal };
    const hits = await searching(asking, async () => searchStore(await stores.open(entry), query));
    await stores.noteActivity(entry);
    return hits;
  };
  const files = { shelf, removal, uploads, attachments };
  const context: WireContext = { catalog, stores, ...files, processing, usage, nowSeconds, search };
  const db = await house.openTables("answers", answersTables);
  const { embedder, model } = options;
  const defaultStore = async (): Promise<string | undefined> => options.defaultStoreId || (await onlyStore(catalog));
  const quota = options.quota ?? QUOTA;
  const answers = { db, quota, answerers: createAnswerers(model), model, embedder, search, defaultStore };
  const wire = createWire(context, answers);
  // What was half deleted must not be shown again, and usually there is nothing.
  await Promise.allSettled([stores.sweepDeleted(), removal.sweepDeleted()]);
  const swept = sweep(context);
  let closed: Promise<void> | undefined;
  return {
    acceptedTypes: extractor.types,
    commits: "atomic",
    createVectorStore: (name) => stores.create({ name, description: "", metadata: {}, expiresAfterDays: null }),
    async deleteVectorStore(id) {
      await stores.delete(id);
      usage.forget(id);
    },
    async openIndex(id, domain) {
      const entry = await stores.entry(id);
      if (!entry || stores.isExpired(entry)) return undefined;
      const store = async (): ReturnType<Stores["get"]> => {
        await removal.sweepExpired();
        return stores.getForIndex(id, { crawls: domain !== undefined });
      };
      return new EmbeddedIndex({ extractor, domain, store });
    },
    async changeOwner(id, change, { signal }) {
      const store = await stores.find(id);
      if (store) await changeOwner(store, change, signal);
    },
    wire,
    close() {
      closed ??= swept.then(() => processing.close()).then(() => house.close());
      return closed;
    },
  };
}

async function onlyStore(catalog: SqlDatabase): Promise<string | undefined> {
  const { rows, hasMore } = await listStores(catalog, { limit: 1, order: "asc" });
  return hasMore ? undefined : rows[0]?.id;
}

/** What earlier processes left behind. Nobody has to wait for it, and what it cannot do now it will do next time. */
async function sweep({ shelf, removal, uploads, processing }: WireContext): Promise<void> {
  const chores = [shelf.sweepAbandoned(), removal.sweepExpired(), uploads.sweepExpired(), processing.takeUp()];
  await Promise.allSettled(chores);
}

/** What files that were processed anew left behind, at most so many at a time. */
const LOOSE_BODIES = 1000;

/** What is done with a file that waits in a store. */
function createFileWork(stores: Stores, extractor: Extractor): Work {
  return {
    async process(task, failure, signal) {
      const store = await stores.find(task.storeId);
      if (store) await processFile(store, task.fileId, { extractor, failure, signal });
    },
    async finish(storeId, signal) {
      const store = await stores.find(storeId);
      if (!store) return;
      await dropLooseBodies(store, { budget: LOOSE_BODIES });
      await store.spaces.refresh(store, () => undefined, signal);
    },
  };
}
