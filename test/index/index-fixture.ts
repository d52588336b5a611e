import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Extractor } from "../../src/contracts/document.ts";
import type { Embedder } from "../../src/contracts/embedder.ts";
import type { DomainId, ItemId, SourceId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { Attributes, DocumentFile, Index, IndexDraft } from "../../src/contracts/search-index.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { EmbeddedIndex } from "../../src/index/embedded-index.ts";
import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { openSqliteStores } from "../../src/index/sqlite/open-sqlite-stores.ts";
import type { StoreProvider } from "../../src/index/store.ts";

export const DEMO = "DEMO" as DomainId;
export const LIBRARY = "library" as SourceId;
export const OTHER = "other" as SourceId;
export const STORE = "vs_test" as VectorStoreId;
export const never = new AbortController().signal;

export interface IndexParts {
  readonly extractor?: Extractor;
  readonly nowSeconds?: () => number;
}

export function openStores(folder: string, embedder: Embedder = createNgramEmbedder()): StoreProvider {
  return openSqliteStores(folder, { model: createFixedModel(embedder) });
}

export function openIndexIn(
  provider: StoreProvider,
  store = STORE,
  domain: DomainId | undefined = DEMO,
  parts: IndexParts = {},
): EmbeddedIndex {
  return new EmbeddedIndex({ extractor: createExtractor(), ...parts, domain, store: () => provider.open(store) });
}

/** A vector store in a folder of its own, without the wire protocol around it. */
export interface IndexFixture {
  readonly folder: string;
  readonly indexFolder: string;
  readonly provider: StoreProvider;
  readonly index: EmbeddedIndex;
  makeFile(item: string, text: string, attributes?: Attributes): Promise<DocumentFile>;
  /** One draft with these texts by item; null removes the item. */
  commit(items: Readonly<Record<string, string | null>>, source?: SourceId): Promise<void>;
  /** The column `n` of the first row. */
  count(sql: string): Promise<number>;
  close(): Promise<void>;
}

export async function indexFixture(parts: IndexParts & { readonly embedder?: Embedder } = {}): Promise<IndexFixture> {
  const folder = await mkdtemp(join(tmpdir(), "index-"));
  const indexFolder = join(folder, "index");
  const provider = openStores(indexFolder, parts.embedder);
  const index = openIndexIn(provider, STORE, DEMO, parts);
  const makeFile = (item: string, text: string, attributes: Attributes = {}): Promise<DocumentFile> =>
    writeDocument(folder, item, text, attributes);
  return {
    folder,
    indexFolder,
    provider,
    index,
    makeFile,
    async commit(items, source = LIBRARY) {
      const draft = await index.draft(source);
      await apply(draft, items, makeFile);
      await draft.commit(never, { allowEmpty: true });
    },
    async count(sql) {
      return Number((await (await provider.open(STORE)).db.get<{ n: number }>(sql))?.n);
    },
    async close() {
      await provider.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function apply(
  draft: IndexDraft,
  items: Readonly<Record<string, string | null>>,
  makeFile: IndexFixture["makeFile"],
): Promise<void> {
  for (const [item, text] of Object.entries(items)) {
    if (text === null) await draft.remove(item as ItemId);
    else await draft.put(await makeFile(item, text), never);
  }
}

export async function writeDocument(
  folder: string,
  item: string,
  text: string,
  attributes: Attributes = {},
): Promise<DocumentFile> {
  const name = `${item}.md`;
  const path = join(folder, name);
  await writeFile(path, text);
  return {
    itemId: item as ItemId,
    path,
    sha256: createHash("sha256").update(text).digest("hex"),
    bytes: Buffer.byteLength(text),
    label: { name, path: name, url: `https://t.example/${name}`, fileType: "md", modifiedAt: "", attributes },
  };
}

/** Names of the documents whose text has the word, best first; those with the same passage may be told as one hit. */
export async function found(index: Index, word: string, generation?: number): Promise<string[]> {
  const asOf = generation === undefined ? {} : { generation };
  const hits = await index.search({ text: word, limit: 50, ...asOf });
  return hits
    .filter((hit) => hit.text.toLowerCase().includes(word.toLowerCase()))
    .flatMap(({ name, details }) => [name, ...(details?.alsoIn ?? []).map((other) => other.name)]);
}

/** What an embedder is asked for, told to `seen`. */
export function countingEmbedder(embedder: Embedder, seen: (texts: readonly string[]) => void): Embedder {
  const { model, revision, dimensions } = embedder;
  return {
    model,
    revision,
    dimensions,
    embed(texts, signal) {
      seen(texts);
      return embedder.embed(texts, signal);
    },
  };
}
