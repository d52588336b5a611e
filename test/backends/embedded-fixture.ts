import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import {
  createEmbeddedBackend,
  type EmbeddedBackend,
  type EmbeddedBackendOptions,
} from "../../src/backends/embedded/embedded-backend.ts";
import type { DomainId, SourceId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { DocumentFile, Index } from "../../src/contracts/search-index.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import type { StoreProvider } from "../../src/index/store.ts";
import { apply, DEMO, LIBRARY, never, openStores, writeDocument } from "../index/index-fixture.ts";
import { type ServedWire, serveWire } from "./embedded-serve.ts";
import { createFaults, type Faults } from "./faults/faults.ts";
import { createFaultyBackend } from "./faults/faulty-backend.ts";
import { checkingFetch } from "./wire-schemas.ts";

/** Where the stores of a test live: given the folder of its backend. */
export type OpenHouse = (folder: string) => StoreProvider | Promise<StoreProvider>;

export const sqliteHouse: OpenHouse = (folder) => openStores(folder);

/** A backend in a folder of its own behind a real port, with one vector store and its index. */
export interface EmbeddedFixture {
  readonly folder: string;
  readonly backend: EmbeddedBackend;
  readonly faults: Faults;
  readonly url: string;
  /** The official client. Every answer it gets is checked against the published schemas. */
  readonly client: OpenAI;
  readonly store: VectorStoreId;
  readonly index: Index;
  /** Moves the clock by which files, uploads and stores expire. */
  advance(seconds: number): void;
  upload(name: string, text: string): Promise<string>;
  makeFile(item: string, text: string): Promise<DocumentFile>;
  /** One draft with these texts by item; null removes the item. */
  commit(items: Readonly<Record<string, string | null>>, source?: SourceId): Promise<void>;
  /** Another process's view of the same stores. */
  second(): Promise<EmbeddedBackend>;
  /** File names of what a search finds and that has the very words, best first: what is only similar may come too. */
  search(store: string, body: OpenAI.VectorStoreSearchParams): Promise<string[]>;
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Record<string, unknown>;
}

export async function openBackend(
  provider: StoreProvider,
  folder: string,
  {
    faults,
    ...options
  }: Partial<Pick<EmbeddedBackendOptions, "extractor" | "nowSeconds" | "quota">> & { faults?: Faults } = {},
): Promise<EmbeddedBackend> {
  const embedder = createNgramEmbedder();
  const parts = { provider, folder, extractor: createExtractor(), embedder: async () => embedder, ...options };
  return faults ? createFaultyBackend(parts, faults) : createEmbeddedBackend(parts);
}

export async function embeddedFixture(open: OpenHouse = sqliteHouse): Promise<EmbeddedFixture> {
  const folder = await mkdtemp(join(tmpdir(), "embedded-"));
  const inside = join(folder, "index");
  const faults = createFaults();
  let ahead = 0;
  const nowSeconds = (): number => Math.floor(Date.now() / 1000) + ahead;
  const backend = await openBackend(await open(inside), inside, { faults, nowSeconds });
  const served = await serveWire(backend.wire);
  const client = clientOf(served);
  const store = await backend.createVectorStore("test");
  const index = await openIndex(backend, store, DEMO);
  const makeFile = (item: string, text: string): Promise<DocumentFile> => writeDocument(folder, item, text);
  const others: EmbeddedBackend[] = [];
  return {
    folder,
    backend,
    faults,
    url: served.url,
    client,
    store,
    index,
    advance(seconds) {
      ahead += seconds;
    },
    upload: (name, text) => upload(client, name, text),
    makeFile,
    async commit(items, source = LIBRARY) {
      const draft = await index.draft(source);
      await apply(draft, items, makeFile);
      await draft.commit(never, { allowEmpty: true });
    },
    async second() {
      const other = await openBackend(await open(inside), inside, { nowSeconds });
      others.push(other);
      return other;
    },
    async search(id, body) {
      const { data } = await client.vectorStores.search(id, body);
      const wanted = [body.query].flat().map((query) => query.toLowerCase());
      const texts = data.map((hit) => ({ name: hit.filename, text: hit.content[0]?.text.toLowerCase() ?? "" }));
      return texts.filter(({ text }) => wanted.some((query) => text.includes(query))).map(({ name }) => name);
    },
    ask: (method, path, body) => ask(served, method, path, body),
    async close() {
      await served.close();
      for (const one of [...others, backend]) await one.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function clientOf({ url }: Pick<ServedWire, "url">): OpenAI {
  return new OpenAI({ apiKey: "anything", baseURL: `${url}/v1`, maxRetries: 0, fetch: checkingFetch });
}

export async function openIndex(
  backend: EmbeddedBackend,
  store: VectorStoreId,
  domain: DomainId | undefined,
): Promise<Index> {
  const index = await backend.openIndex(store, domain);
  if (!index) throw new Error(`open index: ${store} is not there`);
  return index;
}

export async function upload(client: OpenAI, name: string, text: string): Promise<string> {
  const file = await client.files.create({ file: await toFile(Buffer.from(text), name), purpose: "assistants" });
  return file.id;
}

/** A plain request, for what the client cannot be made to send. */
async function ask({ url }: ServedWire, method: string, path: string, body?: unknown): Promise<Answer> {
  const init =
    body === undefined ? { method } : { method, body: typeof body === "string" ? body : JSON.stringify(body) };
  const response = await checkingFetch(`${url}${path}`, init);
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Record<string, unknown>,
  };
}
