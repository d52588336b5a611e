import type OpenAI from "openai";
import type { ChatModel } from "../backends/embedded/answers/answerer.ts";
import { withDomainModels } from "../backends/embedded/domain-wire.ts";
import { createEmbeddedBackend } from "../backends/embedded/embedded-backend.ts";
import { WireError } from "../backends/embedded/wire/wire-error.ts";
import type { Principal } from "../contracts/access.ts";
import type { Backend, Searching, Wire } from "../contracts/backend.ts";
import type { Extractor } from "../contracts/document.ts";
import type { DomainModels } from "../contracts/domain-models.ts";
import type { Embedder } from "../contracts/embedder.ts";
import type { UploadJournals } from "../contracts/uploads.ts";
import { openVectorModel, type VectorModelSettings } from "../index/embedding/open-vector-model.ts";
import type { VectorModel } from "../index/embedding/vector-model.ts";
import { openPostgresStores } from "../index/postgres/open-postgres-stores.ts";
import { createSearchThreads } from "../index/search/search-threads.ts";
import { openSqliteStores } from "../index/sqlite/open-sqlite-stores.ts";
import type { StoreProvider } from "../index/store.ts";
import { withResponseLog } from "../inventory/log-responses.ts";
import type { ResponseLog } from "../inventory/response-log.ts";
import { restrictToOwner } from "../inventory/restrict-to-owner.ts";
import { later } from "../lib/later.ts";
import { describePostgres } from "../lib/sql/postgres-database.ts";
import { storageFolder } from "../mirror/layout.ts";
import type { AnswerModel, AnswerSettings, Config, EmbeddingSettings } from "./config.ts";
import type { IndexFacts } from "./examine-index.ts";

const openai = later<typeof import("openai")>("openai/index.mjs");

/** The backend, and the ways to it that bypass the engine. */
export interface OpenedBackend {
  readonly backend: Backend;
  /** The wire protocol, served here or forwarded. */
  readonly wire: Wire;
  /** Creates a client of that protocol; for a principal, or for the product itself. */
  readonly client: (by?: Principal) => OpenAI;
  readonly facts: IndexFacts;
  /** The language model that writes answers, if there is one. */
  readonly writer: () => ChatModel | undefined;
  /** From now on this model writes answers; null: none. Only where the settings name none. */
  readonly writeWith: (model: AnswerModel | null) => Promise<void>;
  close(): Promise<void>;
}

export interface BackendOptions {
  readonly indexFolder: string;
  readonly extractor: Extractor;
  /** Records the responses and conversations created over the wire. */
  readonly responseLog: ResponseLog;
  /** Journals of uploads to a remote backend. */
  readonly uploads: UploadJournals;
  readonly searching?: Searching;
  /** The models that search domains, by this very backend; absent: the wire has none. */
  readonly domainModels?: DomainModels;
  /** Runs searches in this thread. */
  readonly searchesHere?: boolean;
  readonly now?: () => Date;
}

export function openBackend(config: Config, options: BackendOptions): Promise<OpenedBackend> {
  const { backend } = config;
  return backend.kind === "embedded" ? openEmbedded(config, options) : openRemote(backend, config, options);
}

async function openEmbedded(config: Config, options: BackendOptions): Promise<OpenedBackend> {
  const { indexFolder, extractor, now } = options;
  const { database, embeddings, storagePath, search } = config;
  const settings = revealed(embeddings);
  const vectorModel = await openVectorModel(settings);
  const { provider, place, vectors } = await openStores(database, vectorModel, { ...options, storagePath, settings });
  const embedder = (): Promise<Embedder> => vectorModel.first();
  let chat = await openChatModel(config.answers);
  const backend = await createEmbeddedBackend({
    provider,
    folder: indexFolder,
    extractor,
    embedder,
    model: () => chat?.model,
    defaultStoreId: search.defaultVectorStoreId,
    ...(options.searching && { searching: options.searching }),
    ...(now && { nowSeconds: () => Math.floor(now().getTime() / 1000) }),
  });
  const setting = embeddings.kind === "onnx" ? "EMBEDDINGS_ONNX_FOLDER" : "EMBEDDINGS_BASE_URL";
  const facts = { place, vectors, embedder: embeddings.kind === "built-in" ? undefined : embedder, setting };
  const base = withResponseLog(backend.wire, options.responseLog);
  const { domainModels: models } = options;
  const answering = models && { ...backend.answers, models, model: () => chat?.model };
  const wire = answering ? withResponseLog(withDomainModels(backend.wire, answering), options.responseLog) : base;
  const close = async (): Promise<void> => {
    await chat?.close();
    await backend.close();
  };
  const writeWith = async (model: AnswerModel | null): Promise<void> => {
    const before = chat;
    chat = await openChatModel({ ...config.answers, model });
    await before?.close();
  };
  const writer = (): ChatModel | undefined => chat?.model;
  return { backend, wire, client: clientOf(rejecting(base)), facts, writer, writeWith, close };
}

/** Rethrows failures inside the process as they are, so that the caller can log the real cause. */
function rejecting(wire: Wire): Wire {
  return async (request, call) => {
    const failures: unknown[] = [];
    const response = await wire(request, { ...call, tell: (failure) => failures.push(failure) });
    const failure = failures.find((one) => !(one instanceof WireError));
    if (failure !== undefined) throw failure;
    return response;
  };
}

/** Opens the language model that writes answers; undefined if none is configured. */
async function openChatModel({ model, instructions, temperature }: AnswerSettings) {
  if (!model) return undefined;
  const { createProxy } = await import("../backends/openai/proxy.ts");
  const { kind, baseUrl, organization, apiVersion, name } = model;
  const proxy = createProxy({ kind, apiKey: model.apiKey.reveal(), baseUrl, organization, apiVersion, model: name });
  const chat: ChatModel = {
    name,
    instructions,
    temperature: temperature ?? undefined,
    // Self-hosted servers may know only the older name, the newest OpenAI models only the newer one.
    limitField: kind === "openai" && baseUrl !== "" ? "max_tokens" : "max_completion_tokens",
    complete: (request) => proxy.forward(request),
  };
  return { model: chat, close: () => proxy.close() };
}

/** Nothing is kept here. */
const NO_QUOTA = { answers: 0, conversations: 0, bytes: 0 };

async function openRemote(
  settings: Exclude<Config["backend"], { kind: "embedded" }>,
  config: Config,
  { indexFolder, responseLog, uploads, domainModels }: BackendOptions,
): Promise<OpenedBackend> {
  const apiKey = settings.apiKey.reveal();
  const shared = { apiKey, model: settings.model };
  const options =
    settings.kind === "openai"
      ? { ...shared, kind: settings.kind, baseUrl: settings.baseUrl, organization: settings.organization }
      : { ...shared, kind: settings.kind, baseUrl: settings.endpoint, apiVersion: settings.apiVersion };
  const place = settings.kind === "openai" ? "Vector stores at OpenAI" : "Vector stores at Azure OpenAI";
  const facts = { place, vectors: "", embedder: undefined, setting: "" };
  const { createOpenAiBackend } = await import("../backends/openai/openai-backend.ts");
  const { createProxy } = await import("../backends/openai/proxy.ts");
  const backend = createOpenAiBackend(options, { journals: uploads, folder: indexFolder });
  const proxy = createProxy(options);
  const forward: Wire = (request, call) => proxy.forward(request, call?.tell);
  const owned = (one: Wire): Wire => restrictToOwner(withResponseLog(one, responseLog), responseLog);
  const { name: model, instructions, temperature } = { name: settings.model, ...config.answers };
  const chat: ChatModel | undefined =
    model === ""
      ? undefined
      : {
          name: model,
          instructions,
          temperature: temperature ?? undefined,
          limitField: "max_completion_tokens",
          complete: forward,
        };
  const answering = domainModels && { db: undefined, quota: NO_QUOTA, models: domainModels, model: () => chat };
  const wire = owned(answering ? withDomainModels(forward, answering) : forward);
  const close = async (): Promise<void> => {
    await backend.close();
    await proxy.close();
  };
  const writing = { writer: () => chat, writeWith: async () => undefined };
  return { backend, wire, client: clientOf(owned(forward)), facts, ...writing, close };
}

/** Creates the official client, connected to `wire` without a network. The address must only be well-formed. */
function clientOf(wire: Wire): OpenedBackend["client"] {
  return (by) =>
    new (openai().OpenAI)({
      baseURL: "http://backend.invalid",
      apiKey: "none",
      maxRetries: 2,
      fetch: (input, init) => wire(new Request(input, init), by && { by }),
    });
}

type StoreOptions = Pick<BackendOptions, "indexFolder" | "searchesHere"> & {
  readonly storagePath: string;
  /** The settings `model` was opened with: search threads open their own. */
  readonly settings: VectorModelSettings;
};

async function openStores(
  database: Config["database"],
  model: VectorModel,
  { storagePath, settings, searchesHere }: StoreOptions,
): Promise<{ provider: StoreProvider; place: string; vectors: string }> {
  const exactly = "Vectors are compared one by one, in memory.";
  if (database.kind === "sqlite") {
    const folder = storageFolder(database.folder, "index");
    const threads = searchesHere ? undefined : createSearchThreads({ folder, model: settings });
    const provider = openSqliteStores(folder, { model, ...(threads && { threads }) });
    return { provider, place: `SQLite files in ${folder}`, vectors: exactly };
  }
  const url = database.url.reveal();
  const provider = await openPostgresStores({ url, model, storageFolder: storagePath });
  const vectors =
    provider.vectorSearch === "pgvector" ? "Vectors are searched by pgvector." : `${exactly} pgvector is not there.`;
  return { provider, place: `PostgreSQL at ${describePostgres(url)}`, vectors };
}

function revealed(settings: EmbeddingSettings): VectorModelSettings {
  return settings.kind === "endpoint" ? { ...settings, apiKey: settings.apiKey.reveal() } : settings;
}
