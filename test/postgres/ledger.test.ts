import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { ledgerSuite } from "../contracts/ledger-suite.ts";
import { closeLedgers, newLedgerPlace } from "../ledgers/ledger-place.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

let server: PostgresServer;
let url = "";
let root: string;
let count = 0;
before(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
  root = await mkdtemp(join(tmpdir(), "lockstep-ledger-"));
});
after(async () => {
  await closeLedgers();
  await server.stop();
  await rm(root, { recursive: true, force: true });
});

ledgerSuite("PostgreSQL", () => newLedgerPlace(root, `D${++count}`, url));
