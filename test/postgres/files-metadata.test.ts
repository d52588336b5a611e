import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import { filesMetadataSuite } from "../contracts/files-metadata-suite.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

let server: PostgresServer;
let storage: string;
let ledgers: Ledgers;
before(async () => {
  server = await startPostgres();
  storage = await mkdtemp(join(tmpdir(), "lockstep-metadata-"));
  ledgers = openTestLedgers(join(storage, "crawler"), { url: await server.createDatabase() });
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
