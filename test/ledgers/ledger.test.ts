import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { ledgerSuite } from "../contracts/ledger-suite.ts";
import { closeLedgers, newLedgerPlace } from "./ledger-place.ts";

let root: string;
let count = 0;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "lockstep-ledger-"));
});
after(async () => {
  await closeLedgers();
  await rm(root, { recursive: true, force: true });
});

ledgerSuite("SQLite", () => newLedgerPlace(root, `D${++count}`), { many: 50_000 });
