// The state of a domain keeps its contract in SQLite, and leases are renewed.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import type { DomainId } from "../../src/contracts/ids.ts";
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

test("a holder renews its lease for as long as it holds it", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const domainId = "RENEWED" as DomainId;
  const lease = await ledgers.leases.acquire(domainId, "x", { owner: "job jb_1" });
  const file = new DatabaseSync(join(storage, "crawler", domainId, "ledger.sqlite"));
  t.after(() => file.close());
  const expiresAt = () => file.prepare("SELECT expires_at FROM lease").get()?.["expires_at"];
  file.exec("UPDATE lease SET expires_at = 0");
  t.mock.timers.tick(15_000);
  while (expiresAt() === 0) await nextRound();
  await lease.release();
  assert.equal(expiresAt(), undefined);
});
