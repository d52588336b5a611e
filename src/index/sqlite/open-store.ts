import type { Embedder } from "../../contracts/embedder.ts";
import { VectorCache } from "../search/vector-cache.ts";
import { VisibleDocumentsCache } from "../search/visible-documents.ts";
import { type Database, openDatabase } from "./open-database.ts";
import { embeddingKey } from "./prepare-body.ts";
import { STORE_SCHEMA } from "./store-schema.ts";

/** One vector store: its file, and what this process remembers of it to search fast. */
export interface Store {
  readonly db: Database;
  readonly vectors: VectorCache;
  readonly visible: VisibleDocumentsCache;
}

export function openStore(path: string, embedder: Embedder): Store {
  const db = openDatabase(path, STORE_SCHEMA);
  return {
    db,
    vectors: new VectorCache(db, embeddingKey(embedder), embedder.dimensions),
    visible: new VisibleDocumentsCache(db),
  };
}
