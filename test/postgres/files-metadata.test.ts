// files_metadata.json is kept from PostgreSQL as from SQLite.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import { filesMetadataSuite } from "../contracts/files-metadata-suite.ts";
import { observePostgres, scansInPostgres } from "../ledger/observed-statements.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

const statements = observePostgres();

let server: PostgresServer;
let url: string;
let storage: string;
let ledgers: Ledgers;
before(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
  storage = await mkdtemp(join(tmpdir(), "lockstep-metadata-"));
  ledgers = openTestLedgers(join(storage, "crawler"), { url });
});
after(async () => {
  await ledgers.close();
  await server.stop();
  await rm(storage, { recursive: true, force: true });
});

filesMetadataSuite("PostgreSQL", () => ({
  storage,
  ledgers,
  async lose(domainId) {
    await ledgers.forgetDomain(domainId);
    rmSync(join(storage, "crawler", domainId), { recursive: true });
  },
}));

test("none of its statements reads a whole table of entries", async () => {
  const own = [...statements].filter((text) => text.includes("embedded_file"));
  assert.ok(own.length > 5, "they were not observed");
  assert.deepEqual(await scansInPostgres(url, own), []);
});
