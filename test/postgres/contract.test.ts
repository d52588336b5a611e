// The index in PostgreSQL keeps the contract of a search index.
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { openPostgresStores, type PostgresStores } from "../../src/index/postgres/open-postgres-stores.ts";
import { filterSuite } from "../contracts/filter-suite.ts";
import { forceSuite } from "../contracts/force-suite.ts";
import { generationsSuite } from "../contracts/generations-suite.ts";
import { indexSuite } from "../contracts/index-suite.ts";
import { keptSuite } from "../contracts/kept-suite.ts";
import { ownerSuite } from "../contracts/owner-suite.ts";
import { previewSuite } from "../contracts/preview-suite.ts";
import { searchSuite } from "../contracts/search-suite.ts";
import { defaultParts, type OwnStoreUnderTest, type Parts, storeInHouse } from "../contracts/store-under-test.ts";
import { playDraftHistory } from "../index/draft-history.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

let server: PostgresServer;
let url = "";
let shared: PostgresStores;
before(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
  shared = await openStores(defaultParts());
});
after(async () => {
  await shared.close();
  await server.stop();
});

function openStores({ embedder }: Parts): Promise<PostgresStores> {
  return openPostgresStores({ url, model: createFixedModel(embedder), storageFolder: tmpdir(), maxConnections: 4 });
}

let stores = 0;
async function openAlone(parts: Parts): Promise<OwnStoreUnderTest> {
  const provider = await openStores(parts);
  const id = `vs_${++stores}` as VectorStoreId;
  return storeInHouse(provider, id, parts, async () => {
    await provider.drop(id);
    await provider.close();
  });
}

async function open(): Promise<OwnStoreUnderTest> {
  const id = `vs_${++stores}` as VectorStoreId;
  return storeInHouse(shared, id, defaultParts(), () => shared.drop(id));
}

indexSuite("PostgreSQL", open);
generationsSuite("PostgreSQL", openAlone);
forceSuite("PostgreSQL", openAlone);
previewSuite("PostgreSQL", openAlone);
keptSuite("PostgreSQL", openAlone);
ownerSuite("PostgreSQL", open);
searchSuite("PostgreSQL", open);
filterSuite("PostgreSQL", open);

test("history in PostgreSQL: every kept generation shows what it showed first", () => playDraftHistory(1, openAlone));
