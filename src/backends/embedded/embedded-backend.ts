import type { Backend } from "../../contracts/backend.ts";
import type { Extractor } from "../../contracts/document.ts";
import type { Embedder } from "../../contracts/embedder.ts";
import type { Index } from "../../contracts/search-index.ts";
import { SqliteIndex } from "../../index/sqlite/sqlite-index.ts";
import { Catalog } from "./catalog.ts";
import { FileShelf } from "./file-shelf.ts";
import { StoreFolder } from "./store-folder.ts";
import { createWire } from "./wire/wire.ts";

export interface EmbeddedBackendOptions {
  /** Holds everything: the catalog, one file per vector store, and uploaded files. */
  readonly folder: string;
  readonly extractor: Extractor;
  readonly embedder: Embedder;
}

/** Vector stores without a key and without a network: the crawler writes through `openIndex`, everybody else speaks `wire`. */
export type EmbeddedBackend = Backend & {
  /** The OpenAI wire protocol; paths as `/files` or `/v1/files`. Never rejects: trouble becomes an error response. */
  wire(request: Request): Promise<Response>;
};

export function createEmbeddedBackend({ folder, extractor, embedder }: EmbeddedBackendOptions): EmbeddedBackend {
  const parts = { extractor, embedder };
  const catalog = new Catalog(folder);
  const stores = new StoreFolder(folder, catalog, embedder);
  const shelf = new FileShelf(folder, catalog, stores);
  const swept = shelf.sweepAbandoned();
  const wire = createWire({ catalog, stores, shelf, parts });
  return {
    acceptedTypes: extractor.types,
    createVectorStore: async (name) => stores.create({ name, metadata: {} }, Math.floor(Date.now() / 1000)),
    async openIndex(id, domain): Promise<Index | undefined> {
      if (!stores.find(id)) return undefined;
      return new SqliteIndex({ parts, domain, store: () => stores.get(id) });
    },
    wire,
    async close() {
      await swept;
      stores.close();
      catalog.close();
    },
  };
}
