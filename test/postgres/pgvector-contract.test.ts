// The index in PostgreSQL with pgvector keeps the contract of a search index.
import { tmpdir } from "node:os";
import { after, before } from "node:test";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { openPostgresStores, type PostgresStores } from "../../src/index/postgres/open-postgres-stores.ts";
import { filterSuite } from "../contracts/filter-suite.ts";
import { indexSuite } from "../contracts/index-suite.ts";
import { searchSuite } from "../contracts/search-suite.ts";
import { defaultParts, type StoreUnderTest, storeInHouse } from "../contracts/store-under-test.ts";
import { startPglite } from "./start-pglite.ts";

// One connection for all stores: PGlite takes no second one. Every space has its HNSW index from the first vector on.
const parts = defaultParts();
let pglite: Awaited<ReturnType<typeof startPglite>>;
let provider: PostgresStores;
before(async () => {
  pglite = await startPglite();
  const model = createFixedModel(parts.embedder);
  provider = await openPostgresStores({
    url: pglite.url,
    model,
    storageFolder: tmpdir(),
    maxConnections: 1,
    indexFrom: 1,
  });
});
after(async () => {
  await provider.close();
  await pglite.stop();
});

let stores = 0;
async function open(): Promise<StoreUnderTest> {
  const id = `vs_${++stores}` as VectorStoreId;
  return storeInHouse(provider, id, parts, () => provider.drop(id));
}

indexSuite("PostgreSQL with pgvector", open);
searchSuite("PostgreSQL with pgvector", open);
filterSuite("PostgreSQL with pgvector", open);
