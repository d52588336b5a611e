// The state of a domain keeps its contract in PostgreSQL.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import { domainStateSuite } from "../contracts/domain-state-suite.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

let server: PostgresServer;
let storage: string;
let url: string;
let ledgers: Ledgers;
before(async () => {
  server = await startPostgres();
  storage = await mkdtemp(join(tmpdir(), "lockstep-state-"));
  url = await server.createDatabase();
  ledgers = openTestLedgers(join(storage, "crawler"), { url });
});
after(async () => {
  await ledgers.close();
  await server.stop();
  await rm(storage, { recursive: true, force: true });
});

domainStateSuite("PostgreSQL", () => ({ storage, ledgers, url }));
