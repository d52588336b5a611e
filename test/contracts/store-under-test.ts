import type { Extractor } from "../../src/contracts/document.ts";
import type { Embedder } from "../../src/contracts/embedder.ts";
import type { DomainId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { Index } from "../../src/contracts/search-index.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { EmbeddedIndex } from "../../src/index/embedded-index.ts";
import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import type { Store, StoreProvider } from "../../src/index/store.ts";

/** An empty vector store, and how to take it down again. */
export interface StoreUnderTest {
  /** The store as this domain sees it. */
  openIndex(domain: DomainId | undefined): Promise<Index>;
  close(): Promise<void>;
}

/** One of ours, of which a test may also look at the tables. */
export interface OwnStoreUnderTest extends StoreUnderTest {
  store(): Promise<Store>;
}

/** What a suite brings to watch what is done with it. The provider is to be opened with the embedder. */
export interface Parts {
  readonly embedder: Embedder;
  readonly extractor: Extractor;
  readonly nowSeconds: () => number;
}

export function defaultParts(): Parts {
  return {
    embedder: createNgramEmbedder(),
    extractor: createExtractor(),
    nowSeconds: () => Math.floor(Date.now() / 1000),
  };
}

/** A store of this provider for a suite; `close` takes down the provider, and whatever it lives in. */
export function storeInHouse(
  provider: StoreProvider,
  id: VectorStoreId,
  { extractor, nowSeconds }: Omit<Parts, "embedder">,
  close: () => Promise<void>,
): OwnStoreUnderTest {
  const store = (): Promise<Store> => provider.open(id);
  return {
    store,
    openIndex: async (domain) => new EmbeddedIndex({ store, extractor, nowSeconds, domain }),
    close,
  };
}
