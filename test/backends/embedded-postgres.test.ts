// The embedded backend keeps the whole wire contract in PostgreSQL.
import { dirname } from "node:path";
import { after, before } from "node:test";
import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { openPostgresStores } from "../../src/index/postgres/open-postgres-stores.ts";
import type { StoreProvider } from "../../src/index/store.ts";
import { type PostgresServer, startPostgres } from "../postgres/start-postgres.ts";
import { batchesSuite } from "./embedded-batches-suite.ts";
import { filesSuite } from "./embedded-files-suite.ts";
import { storeFilesSuite } from "./embedded-store-files-suite.ts";
import { uploadsSuite } from "./embedded-uploads-suite.ts";
import { vectorStoresSuite } from "./embedded-vector-stores-suite.ts";

let server: PostgresServer;
/** By folder: whoever opens the same one means the same database. */
const databases = new Map<string, Promise<string>>();
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

async function postgresHouse(folder: string): Promise<StoreProvider> {
  const database = databases.get(folder) ?? server.createDatabase();
  databases.set(folder, database);
  const model = createFixedModel(createNgramEmbedder());
  return openPostgresStores({ url: await database, model, storageFolder: dirname(folder), maxConnections: 4 });
}

for (const suite of [filesSuite, uploadsSuite, vectorStoresSuite, storeFilesSuite, batchesSuite]) {
  suite("PostgreSQL", postgresHouse);
}
