// Plans of a run, and plans that are stored in the ledger.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { type ItemId, parseDomainId, parseSourceId } from "../../src/contracts/ids.ts";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import { planTables, SqlPlan } from "../../src/ledger/sql-plan.ts";
import type { SqlDatabase } from "../../src/lib/sql/sql.ts";
import { openTemporary } from "../../src/lib/sql/sqlite-database.ts";
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
  stored: { source, planId: "plan_1", reopen: async () => openTestLedgers(join(root, "crawler")) },
}));

test("what is judged again is written in batches, not one by one", async () => {
  const db = openTemporary({ sql: planTables("sqlite") });
  let statements = 0;
  const counted = (): SqlDatabase => {
    statements += 1;
    return db;
  };
  const counting: SqlDatabase = {
    ...db,
    run: (...call) => counted().run(...call),
    insert: (...call) => counted().insert(...call),
  };
  const plan = await SqlPlan.store(counting, { domainId, kind: "k", sourceId: source.config.sourceId, planId: "p" });
  const items = Array.from({ length: 2000 }, (_, n) => ({ step: "download", itemId: `i${n}` as ItemId }) as const);
  for (const item of items) plan.add({ ...item, change: "added", reason: "" });
  for (const item of items) plan.replace({ ...item, change: "kept", reason: "" });
  const found = await plan.find(
    "download",
    items.map(({ itemId }) => itemId),
  );
  assert.ok(found.size === 2000 && [...found.values()].every(({ change }) => change === "kept"));
  assert.ok(statements <= 20, `${statements} statements`);
  await db.close();
});

test("a ledger of format 2 gets tables of plans that say whether they are complete; its own plans are gone", async () => {
  const folder = join(root, "crawler", "EARLIER");
  await mkdir(folder, { recursive: true });
  const old = new DatabaseSync(join(folder, "ledger.sqlite"));
  const { ledgerTables } = await import("../../src/ledger/ledger-tables.ts");
  old.exec(ledgerTables("sqlite").sql);
  const columns = "plan_id, domain_id, kind, source_id, made_at";
  old.exec(`ALTER TABLE source DROP COLUMN checked_at; ALTER TABLE plan DROP COLUMN completed_at; PRAGMA user_version = 2;
    INSERT INTO plan (${columns}) VALUES ('plan_1', 'EARLIER', '', '', '')`);
  old.close();
  const earlier = { ...source, domainId: parseDomainId("EARLIER") };
  await (await ledgers.open(earlier, { readOnly: false })).close();
  assert.equal(await ledgers.planState(earlier.domainId, "plan_1"), "none");
  await (await ledgers.storePlan(earlier, "plan_2")).close();
  assert.equal(await ledgers.planState(earlier.domainId, "plan_2"), "incomplete");
  await ledgers.completePlan(earlier.domainId, "plan_2");
  assert.equal(await ledgers.planState(earlier.domainId, "plan_2"), "complete");
});

test("a ledger of format 1 gets the tables of plans; an unknown plan is none; a forgotten source has none", async () => {
  const folder = join(root, "crawler", "OLD");
  await mkdir(folder, { recursive: true });
  const old = new DatabaseSync(join(folder, "ledger.sqlite"));
  const { ledgerTables } = await import("../../src/ledger/ledger-tables.ts");
  old.exec(ledgerTables("sqlite").sql);
  old.exec("ALTER TABLE source DROP COLUMN checked_at; DROP TABLE plan_item; DROP TABLE plan; PRAGMA user_version = 1");
  old.close();
  const earlier = { ...source, domainId: parseDomainId("OLD") };
  await (await ledgers.open(earlier, { readOnly: false })).close();
  assert.equal(await ledgers.findPlan(earlier, "plan_1"), undefined);
  await (await ledgers.storePlan(earlier, "plan_1")).close();
  assert.ok(await ledgers.findPlan(earlier, "plan_1"));
  await ledgers.forget(earlier);
  assert.equal(await ledgers.findPlan(earlier, "plan_1"), undefined);
});
