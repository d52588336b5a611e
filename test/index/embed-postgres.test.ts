// A store in PostgreSQL learns vectors from its own passages.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createLearntModel } from "../../src/index/embedding/learnt-model.ts";
import { openPostgresStores } from "../../src/index/postgres/open-postgres-stores.ts";
import { type PostgresServer, startPostgres } from "../postgres/start-postgres.ts";
import { embedFixture, type OpenHouse } from "./embed-fixture.ts";
import { spacesSuite } from "./embed-spaces-suite.ts";

let server: PostgresServer;
const databases = new Map<string, Promise<string>>();
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

/** A database for each folder. */
const inPostgres: OpenHouse = async (folder, model) => {
  const url = databases.get(folder) ?? server.createDatabase();
  databases.set(folder, url);
  return openPostgresStores({ url: await url, model, storageFolder: folder });
};

spacesSuite("PostgreSQL", inPostgres);

test("a store in PostgreSQL learns from its own passages", async () => {
  const fixture = await embedFixture(inPostgres);
  try {
    const { commit, refresh, found, store } = await fixture.open(createLearntModel());
    const passage = (at: number): string => `Note ${at}: ${at % 2 ? "otters swim in rivers" : "engines drive wheels"}.`;
    await commit(Object.fromEntries(Array.from({ length: 120 }, (_, at) => [`n${at}`, passage(at)])));
    assert.deepEqual(await refresh(), ["Learning vectors from 120 of 120 passages"]);
    assert.equal((await store.spaces.active(store.db)).embedder.model, "lockstep-learnt");
    const again = await fixture.open(createLearntModel());
    assert.equal((await again.found("otter", "vectors")).length > 0, true);
    assert.equal((await found("otter", "vectors")).length > 0, true);
  } finally {
    await fixture.close();
  }
});
