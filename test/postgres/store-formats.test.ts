// Stores of an earlier format are opened in PostgreSQL.
import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { keptGenerations } from "../../src/index/generations.ts";
import { openPostgresStores, type PostgresStores } from "../../src/index/postgres/open-postgres-stores.ts";
import { readState } from "../../src/index/store-state.ts";
import { defaultParts } from "../contracts/store-under-test.ts";
import { WITHOUT_NEWEST_AND_SHOWN } from "../index/old-store.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

let server: PostgresServer;
let url = "";
before(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
});
after(() => server.stop());

const STORE = "vs_old" as VectorStoreId;

function openStores(): Promise<PostgresStores> {
  const model = createFixedModel(defaultParts().embedder);
  return openPostgresStores({ url, model, storageFolder: tmpdir(), maxConnections: 2 });
}

test("a store of format 1 opens: its generations count each by itself, and a rollback can still be released", async () => {
  const earlier = await openStores();
  const { db } = await earlier.open(STORE);
  for (const statement of WITHOUT_NEWEST_AND_SHOWN.split(";")) if (statement.trim()) await db.run(statement);
  await db.run("ALTER TABLE vectors DROP COLUMN checksum");
  await db.run("DROP TABLE kept_documents");
  await db.run("DROP INDEX generations_crawl");
  await db.run("ALTER TABLE generations DROP COLUMN crawl");
  await db.run("UPDATE format SET version = 1");
  await db.run("INSERT INTO generations VALUES (2, 'DEMO', 'library', 1, 1000, 1000, 0, 0)");
  await db.run("INSERT INTO generations VALUES (3, 'DEMO', 'library', 2, 2000, 2000, 0, 0)");
  await db.run("UPDATE state SET active = 1, pinned = 1, next_generation = 4");
  await earlier.close();
  const provider = await openStores();
  try {
    const { db } = await provider.open(STORE);
    assert.deepEqual(await db.all("SELECT item_id FROM kept_documents"), []);
    const rows = await keptGenerations(db);
    assert.deepEqual(
      rows.map(({ number, crawl, sourceId }) => [number, crawl, sourceId]),
      [
        [2, "", "library"],
        [1, "", "library"],
      ],
    );
    const { shown, newest, pinned } = await readState(db);
    assert.deepEqual([shown, newest, pinned], [1, 2, 1], "what was rolled back is still there");
    assert.match(rows[0]?.generationId ?? "", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.notEqual(rows[0]?.generationId, rows[1]?.generationId);
  } finally {
    await provider.close();
  }
});
