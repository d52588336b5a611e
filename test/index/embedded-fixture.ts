import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmbeddedBackend, type EmbeddedBackend } from "../../src/backends/embedded/embedded-backend.ts";
import type { DomainId, ItemId, SourceId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { Attributes, DocumentFile, Index, IndexDraft } from "../../src/contracts/search-index.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { createNgramEmbedder } from "../../src/index/embed/ngram-embedder.ts";

export const DEMO = "DEMO" as DomainId;
export const LIBRARY = "library" as SourceId;
export const never = new AbortController().signal;

export function openBackend(folder: string): EmbeddedBackend {
  return createEmbeddedBackend({ folder, extractor: createExtractor(), embedder: createNgramEmbedder() });
}

/** A backend in a folder of its own, with one vector store and its index. */
export interface EmbeddedFixture {
  readonly folder: string;
  readonly backend: EmbeddedBackend;
  readonly store: VectorStoreId;
  readonly index: Index;
  makeFile(item: string, text: string, attributes?: Attributes): Promise<DocumentFile>;
  /** One draft with these texts by item; null removes the item. */
  commit(items: Readonly<Record<string, string | null>>, source?: SourceId): Promise<void>;
  close(): Promise<void>;
}

export async function embeddedFixture(): Promise<EmbeddedFixture> {
  const folder = await mkdtemp(join(tmpdir(), "embedded-"));
  const backend = openBackend(join(folder, "index"));
  const store = await backend.createVectorStore("test");
  const index = await openIndex(backend, store, DEMO);
  const makeFile = (item: string, text: string, attributes: Attributes = {}): Promise<DocumentFile> =>
    writeDocument(folder, item, text, attributes);
  return {
    folder,
    backend,
    store,
    index,
    makeFile,
    async commit(items, source = LIBRARY) {
      const draft = await index.draft(source);
      await apply(draft, items, makeFile);
      await draft.commit(never);
    },
    async close() {
      await backend.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
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

export async function apply(
  draft: IndexDraft,
  items: Readonly<Record<string, string | null>>,
  makeFile: EmbeddedFixture["makeFile"],
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
    label: { name, path: name, url: `https://t.example/${name}`, fileType: "md", attributes },
  };
}

/** Names of the documents whose text has the word, best first. */
export async function found(index: Index, word: string): Promise<string[]> {
  const hits = await index.search({ text: word, limit: 50 });
  return hits.filter((hit) => hit.text.toLowerCase().includes(word.toLowerCase())).map((hit) => hit.name);
}
