// Plans of a run, and plans that are stored in the ledger.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { parseDomainId, parseSourceId } from "../../src/contracts/ids.ts";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import { SqlPlan } from "../../src/ledger/sql-plan.ts";
import { planSuite } from "../contracts/plan-suite.ts";
import { ofKind } from "../kinds.ts";
import { openTestLedgers } from "./open-test-ledgers.ts";

const domainId = parseDomainId("PLANS");
const source = { domainId, config: { ...ofKind("folder_sources"), sourceId: parseSourceId("docs") } };
let root: string;
let ledgers: Ledgers;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "lockstep-plans-"));
  ledgers = openTestLedgers(join(root, "crawler"));
});
after(async () => {
  await ledgers.close();
  await rm(root, { recursive: true, force: true });
});

planSuite("of one run", async () => ({ draft: SqlPlan.temporary() }));
planSuite("stored in SQLite", async () => ({
  draft: await ledgers.storePlan(source, "plan_1"),
  async reopen() {
    const others = openTestLedgers(join(root, "crawler"));
    return (await others.findPlan(source, "plan_1")) ?? assert.fail("it is not there");
  },
}));

test("a ledger of format 1 gets the tables of plans; an unknown plan is none; a forgotten source has none", async () => {
  const folder = join(root, "crawler", "OLD");
  await mkdir(folder, { recursive: true });
  const old = new DatabaseSync(join(folder, "ledger.sqlite"));
  const { ledgerTables } = await import("../../src/ledger/ledger-tables.ts");
  old.exec(ledgerTables("sqlite").sql);
  old.exec("DROP TABLE plan_item; DROP TABLE plan; PRAGMA user_version = 1");
  old.close();
  const earlier = { ...source, domainId: parseDomainId("OLD") };
  await (await ledgers.open(earlier, { readOnly: false })).close();
  assert.equal(await ledgers.findPlan(earlier, "plan_1"), undefined);
  await (await ledgers.storePlan(earlier, "plan_1")).close();
  assert.ok(await ledgers.findPlan(earlier, "plan_1"));
  await ledgers.forget(earlier);
  assert.equal(await ledgers.findPlan(earlier, "plan_1"), undefined);
});
