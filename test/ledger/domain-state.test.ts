import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import { domainStateSuite } from "../contracts/domain-state-suite.ts";
import { openTestLedgers } from "./open-test-ledgers.ts";

let storage: string;
let ledgers: Ledgers;
before(async () => {
  storage = await mkdtemp(join(tmpdir(), "lockstep-state-"));
  ledgers = openTestLedgers(join(storage, "crawler"));
});
after(async () => {
  await ledgers.close();
  await rm(storage, { recursive: true, force: true });
});

domainStateSuite("SQLite", () => ({ storage, ledgers }));
