import type { Backend, Searching, Wire } from "../../contracts/backend.ts";
import type { Extractor } from "../../contracts/document.ts";
import type { Embedder } from "../../contracts/embedder.ts";
import { changeOwner } from "../../index/documents.ts";
import { EmbeddedIndex } from "../../index/embedded-index.ts";
import { dropLooseBodies } from "../../index/retention.ts";
import { countWords, searchStore } from "../../index/search/search-store.ts";
import type { StoreProvider } from "../../index/store.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import type { AnswerContext, Quota } from "./answers/answer-context.ts";
import { createAnswerers } from "./answers/answer-context.ts";
import type { ChatModel } from "./answers/answerer.ts";
import { answersTables } from "./answers/answers-tables.ts";
import { eraseAnswers } from "./answers/erase-answers.ts";
import { Attachments } from "./attachments.ts";
import { catalogTables } from "./catalog-tables.ts";
import { FileRepository } from "./file-repository.ts";
import { ProcessingQueue, processFile, type Work } from "./processing-queue.ts";
import { listStores, Stores, StoreUsage } from "./stores.ts";
import { UploadRepository } from "./upload-repository.ts";
import type { WireContext } from "./wire/wire-context.ts";
import { findOpenStore } from "./wire/wire-context.ts";
import { createWire } from "./wire.ts";

export interface EmbeddedBackendOptions {
  /** Opens vector stores and all other tables. The backend closes it. */
  readonly provider: StoreProvider;
  /** Holds uploaded files. */
  readonly folder: string;
  readonly extractor: Extractor;
  /** Embedder of new vector stores, and of `/embeddings`. */
  readonly embedder: () => Promise<Embedder>;
  /** Writes answers; without one they are extractive. */
  readonly model?: () => ChatModel | undefined;
  /** The store that chats search; "" or undefined: the only store, if there is just one. */
  readonly defaultStoreId?: string;
  /** Wraps the processing of files. Tests inject failures and delays here. */
  readonly aroundWork?: (work: Work) => Work;
  /** Limits concurrent searches; undefined: no limit. */
  readonly searching?: Searching;
  /** Limits for the stored answers and conversations of each key. */
  readonly quota?: Quota;
  /** The clock by which files, uploads and stores expire. */
  readonly nowSeconds?: () => number;
}

/** Far more than a person asks in a month, and small enough for a disk that many keys share. */
const QUOTA: Quota = { answers: 10_000, conversations: 10_000, bytes: 256 * 1024 * 1024 };

/** Local vector stores: the crawler writes through `openIndex`, all other clients use `wire`. */
export type EmbeddedBackend = Backend & {
  /** The OpenAI wire protocol; paths as `/files` or `/v1/files`. Never rejects: errors become error responses. */
  readonly wire: Wire;
  /** Where responses are kept, and how many. */
  readonly answers: Pick<AnswerContext, "db" | "quota">;
};

export async function createEmbeddedBackend(options: EmbeddedBackendOptions): Promise<EmbeddedBackend> {
  const { provider, folder, extractor, aroundWork = (work) => work } = options;
  const nowSeconds = options.nowSeconds ?? ((): number => Math.floor(Date.now() / 1000));
  const catalog = await provider.openTables("catalog", catalogTables);
  const stores = new Stores(provider, catalog, nowSeconds);
  const files = new FileRepository(folder, catalog, stores, nowSeconds);
  const uploads = new UploadRepository(folder, catalog, files, nowSeconds);
  const processing = new ProcessingQueue(catalog, aroundWork(createFileWork(stores, extractor)));
  const attachments = new Attachments(catalog, processing, nowSeconds);
  const usage = new StoreUsage();
  const searching: Searching = options.searching ?? ((_asking, work) => work());
  const search: WireContext["search"] = async (storeId, query, principal) => {
    const entry = await findOpenStore(context, storeId);
    const asking = { principal, signal: query.signal };
    const hits = await searching(asking, async () => searchStore(await stores.open(entry), query));
    await stores.recordActivity(entry);
    return hits;
  };
  const context: WireContext = { catalog, stores, files, uploads, attachments, processing, usage, nowSeconds, search };
  const db = await provider.openTables("answers", answersTables);
  const { embedder, model = () => undefined } = options;
  const defaultStore = async (): Promise<string | undefined> => options.defaultStoreId || (await onlyStore(catalog));
  const quota = options.quota ?? QUOTA;
  const wordsOf: AnswerContext["countWords"] = async (storeId, text) =>
    countWords(await stores.open(await findOpenStore(context, storeId)), text);
  const answerers = createAnswerers(model);
  const answers = { db, quota, answerers, model, embedder, search, countWords: wordsOf, defaultStore };
  const wire = createWire(context, answers);
  // Half-deleted stores and files must not be shown again; usually there are none.
  await Promise.allSettled([stores.sweepDeleted(), files.sweepDeleted()]);
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
        await files.sweepExpired();
        return stores.getForIndex(id, { crawls: domain !== undefined });
      };
      return new EmbeddedIndex({ extractor, domain, store, nowSeconds });
    },
    async changeOwner(id, change, { signal }) {
      const store = await stores.find(id);
      if (store) await changeOwner(store, change, signal);
    },
    storage: {
      eraseAnswers: (quotes, options) => eraseAnswers(db, quotes, options),
      async eraseFile(fileId) {
        await files.delete(fileId);
      },
    },
    wire,
    answers: { db, quota },
    close() {
      closed ??= swept.then(() => processing.close()).then(() => provider.close());
      return closed;
    },
  };
}

async function onlyStore(catalog: SqlDatabase): Promise<string | undefined> {
  const { rows, hasMore } = await listStores(catalog, { limit: 1, order: "asc" });
  return hasMore ? undefined : rows[0]?.id;
}

/** Cleans up after earlier processes, in the background. What fails is done at the next start. */
async function sweep({ files, uploads, processing }: WireContext): Promise<void> {
  const chores = [files.sweepAbandoned(), files.sweepExpired(), uploads.sweepExpired(), processing.takeOver()];
  await Promise.allSettled(chores);
}

/** Bodies left by files that were processed again, cleaned up at most this many at a time. */
const LOOSE_BODIES = 1000;

/** The work of the processing queue. */
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
