import { tmpdir } from "node:os";
import { after, before } from "node:test";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { createFixedModel } from "../../src/index/embed/vector-model.ts";
import { openPostgresHouse } from "../../src/index/postgres/open-postgres-house.ts";
import { filterSuite } from "../contracts/filter-suite.ts";
import { generationsSuite } from "../contracts/generations-suite.ts";
import { indexSuite } from "../contracts/index-suite.ts";
import { ownerSuite } from "../contracts/owner-suite.ts";
import { searchSuite } from "../contracts/search-suite.ts";
import { defaultParts, type OwnStoreUnderTest, type Parts, storeInHouse } from "../contracts/store-under-test.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

let server: PostgresServer;
let url = "";
before(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
});
after(() => server.stop());

let stores = 0;
async function open(parts: Parts): Promise<OwnStoreUnderTest> {
  const model = createFixedModel(parts.embedder);
  const house = await openPostgresHouse({ url, model, storageFolder: tmpdir(), maxConnections: 4 });
  const id = `vs_${++stores}` as VectorStoreId;
  return storeInHouse(house, id, parts, async () => {
    await house.drop(id);
    await house.close();
  });
}

indexSuite("PostgreSQL", () => open(defaultParts()));
generationsSuite("PostgreSQL", open);
ownerSuite("PostgreSQL", () => open(defaultParts()));
searchSuite("PostgreSQL", () => open(defaultParts()));
filterSuite("PostgreSQL", () => open(defaultParts()));
