import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DomainId, ItemId, SourceId, VectorStoreId } from "../src/contracts/ids.ts";
import type { DocumentFile, SearchQuery } from "../src/contracts/search-index.ts";
import { createExtractor } from "../src/extract/extractor.ts";
import { EmbeddedIndex } from "../src/index/embedded-index.ts";
import { createLearntModel } from "../src/index/embedding/learnt-model.ts";
import { openSqliteStores } from "../src/index/sqlite/open-sqlite-stores.ts";
import type { Collection } from "./collection.ts";
import type { Ranking } from "./measures.ts";

/** A collection in a vector store of its own, put there as a crawl does it. */
export interface ProductSearch {
  readonly indexed: number;
  /** Why the others are not. */
  readonly refused: readonly string[];
  readonly indexingMs: number;
  readonly learningMs: number;
  ranking(using: SearchQuery["using"]): Ranking;
  close(): Promise<void>;
}

const DEPTH = 100;

export async function openProductSearch(collection: Collection): Promise<ProductSearch> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-eval-"));
  const provider = openSqliteStores(join(folder, "index"), { model: createLearntModel() });
  const close = async (): Promise<void> => {
    await provider.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const index = new EmbeddedIndex({
      store: () => provider.open("vs_eval" as VectorStoreId),
      extractor: createExtractor(),
      domain: "EVAL" as DomainId,
    });
    return { ...(await build(index, folder, collection)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(
  index: EmbeddedIndex,
  folder: string,
  { documents }: Collection,
): Promise<Omit<ProductSearch, "close">> {
  const { signal } = new AbortController();
  const startedAt = performance.now();
  const draft = await index.draft("collection" as SourceId);
  for (const [at, { title, text }] of documents.entries()) {
    await draft.put(await makeFile(folder, at, title === "" ? text : `# ${title}\n\n${text}`), signal);
  }
  const { ready, failed } = await draft.commit(signal);
  const indexedAt = performance.now();
  await index.refreshVectors(() => undefined, signal);
  return {
    indexed: ready.length,
    refused: failed.map(({ reason }) => reason),
    indexingMs: indexedAt - startedAt,
    learningMs: performance.now() - indexedAt,
    ranking: (using) => async (question) => {
      const hits = await index.search({ text: question, limit: DEPTH, ...(using && { using }) });
      const places = new Set(hits.map(({ name }) => Number.parseInt(name, 10)));
      return [...places].map((at) => documents[at]?.id ?? "");
    },
  };
}

/** Named by their place in the collection: an id may have characters that no file name can have. */
async function makeFile(folder: string, at: number, content: string): Promise<DocumentFile> {
  const name = `${at}.md`;
  const path = join(folder, name);
  await writeFile(path, content);
  return {
    itemId: `item-${at}` as ItemId,
    path,
    sha256: createHash("sha256").update(content).digest("hex"),
    bytes: Buffer.byteLength(content),
    label: { name, path: name, url: "", fileType: "md", modifiedAt: "", attributes: {} },
  };
}
