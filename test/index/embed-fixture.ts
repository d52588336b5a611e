import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Embedder } from "../../src/contracts/embedder.ts";
import type { DomainId, ItemId, SourceId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { DocumentFile } from "../../src/contracts/search-index.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { EmbeddedIndex } from "../../src/index/embedded-index.ts";
import type { VectorModel } from "../../src/index/embedding/vector-model.ts";
import { openSqliteStores } from "../../src/index/sqlite/open-sqlite-stores.ts";
import type { Store, StoreProvider } from "../../src/index/store.ts";

export const never = new AbortController().signal;
const SOURCE = "library" as SourceId;

/** One vector store in a folder of its own, which can be opened again with another model. */
export interface EmbedFixture {
  readonly folder: string;
  open(model: VectorModel): Promise<OpenStore>;
  close(): Promise<void>;
}

export interface OpenStore {
  readonly index: EmbeddedIndex;
  readonly store: Store;
  /** One draft with these texts by item. */
  commit(items: Readonly<Record<string, string>>): Promise<void>;
  /** The names of the documents found, best first. */
  found(text: string, using?: "text" | "vectors"): Promise<string[]>;
  /** How many vectors each space has, the active one first. */
  vectors(): Promise<number[]>;
  refresh(signal?: AbortSignal): Promise<string[]>;
}

/** Opens the store provider of a fixture's store, in its folder or in a database. */
export type OpenHouse = (folder: string, model: VectorModel) => Promise<StoreProvider>;

const inSqlite: OpenHouse = async (folder, model) => openSqliteStores(join(folder, "index"), { model });

export async function embedFixture(openStores: OpenHouse = inSqlite): Promise<EmbedFixture> {
  const folder = await mkdtemp(join(tmpdir(), "embed-"));
  const closing: (() => Promise<void>)[] = [];
  return {
    folder,
    async open(model) {
      const provider = await openStores(folder, model);
      closing.push(() => provider.close());
      const store = await provider.open("vs_test" as VectorStoreId);
      const index = new EmbeddedIndex({
        store: async () => store,
        extractor: createExtractor(),
        domain: "DEMO" as DomainId,
      });
      return describe(folder, index, store);
    },
    async close() {
      for (const close of closing) await close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function describe(folder: string, index: EmbeddedIndex, store: Store): OpenStore {
  return {
    index,
    store,
    async commit(items) {
      const draft = await index.draft(SOURCE);
      for (const [item, text] of Object.entries(items)) await draft.put(await makeFile(folder, item, text), never);
      const { failed } = await draft.commit(never);
      if (failed[0]) throw new Error(failed[0].reason);
    },
    async found(text, using) {
      const hits = await index.search({ text, limit: 10, ...(using && { using }) });
      return [...new Set(hits.map(({ name }) => name))];
    },
    async vectors() {
      const rows = await store.db.all<{ n: number }>(
        `SELECT (SELECT COUNT(*) FROM vectors v WHERE v.space_id = s.id) AS n FROM spaces s ORDER BY active DESC, id`,
      );
      return rows.map(({ n }) => n);
    },
    async refresh(signal = never) {
      const lines: string[] = [];
      await index.refreshVectors((line) => lines.push(line), signal);
      return lines;
    },
  };
}

async function makeFile(folder: string, item: string, text: string): Promise<DocumentFile> {
  const name = `${item}.md`;
  const path = join(folder, name);
  await writeFile(path, text);
  return {
    itemId: item as ItemId,
    path,
    sha256: createHash("sha256").update(text).digest("hex"),
    bytes: Buffer.byteLength(text),
    label: { name, path: name, url: "", fileType: "md", modifiedAt: "", attributes: {} },
  };
}

/** Knows the given words, each a dimension of its own; several spellings of a word share one. Keeps what it was asked. */
export function wordEmbedder(
  model: string,
  meanings: readonly (readonly string[])[],
): Embedder & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    model,
    revision: "1",
    dimensions: meanings.length,
    asked,
    async embed(texts) {
      asked.push(...texts);
      return texts.map((text) => {
        const has = meanings.map((words) => (words.some((word) => text.includes(word)) ? 1 : 0));
        const length = Math.hypot(...has);
        return Float32Array.from(has, (value) => (length > 0 ? value / length : 0));
      });
    },
  };
}
