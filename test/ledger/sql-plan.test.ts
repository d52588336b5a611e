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
planSuite("stored in SQLite", async () => {
  const key = { planId: "plan_1", domainId, sourceType: "folder_sources", sourceId: parseSourceId("docs") };
  await ledgers.plans.begin({ ...key, request: { mode: "full" } });
  return {
    draft: await ledgers.plans.write(key, "p1"),
    stored: { ...key, reopen: async () => openTestLedgers(join(root, "crawler")) },
  };
});

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
  const plan = await SqlPlan.store(
    counting,
    { domainId, sourceType: "k", sourceId: source.config.sourceId, planId: "p" },
    "",
  );
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

test("ledgers of formats 1 to 3 get the tables of plans of today; their own plans are gone, and everything else stays", async () => {
  const { ledgerTables } = await import("../../src/ledger/ledger-tables.ts");
  const changes = [
    "DROP TABLE plan_item; DROP TABLE plan",
    "ALTER TABLE plan DROP COLUMN about; ALTER TABLE plan DROP COLUMN completed_at",
    "ALTER TABLE plan DROP COLUMN about; ALTER TABLE plan_item DROP COLUMN bytes",
  ];
  for (const [at, change] of changes.entries()) {
    const earlier = { ...source, domainId: parseDomainId(`EARLIER_${at}`) };
    const folder = join(root, "crawler", earlier.domainId);
    await mkdir(folder, { recursive: true });
    const old = new DatabaseSync(join(folder, "ledger.sqlite"));
    old.exec(ledgerTables("sqlite").sql);
    old.exec(
      `${change}; ALTER TABLE source DROP COLUMN checked_at; DROP TABLE acknowledged; DROP TABLE feedback; PRAGMA user_version = ${at + 1}`,
    );
    if (at > 0) {
      const columns = `plan_id, domain_id, kind, source_id, made_at${at > 1 ? ", completed_at" : ""}`;
      old.exec(
        `INSERT INTO plan (${columns}) VALUES ('plan_1', '${earlier.domainId}', '', '', ''${at > 1 ? ", 'x'" : ""})`,
      );
    }
    old.close();
    await (await ledgers.open(earlier, { readOnly: false })).close();
    const { domainId: id } = earlier;
    assert.deepEqual(await ledgers.plans.list(id), []);
    const key = { planId: "plan_2", domainId: id, sourceType: "folder_sources", sourceId: source.config.sourceId };
    await ledgers.plans.begin({ ...key, request: {} });
    await (await ledgers.plans.write(key, "")).close();
    assert.equal((await ledgers.plans.find("plan_2"))?.completedAt, "");
    await ledgers.plans.complete(key, []);
    assert.notEqual((await ledgers.plans.find("plan_2"))?.completedAt, "");
    await ledgers.forget(earlier);
    assert.deepEqual((await ledgers.plans.find("plan_2"))?.sources, [], "a forgotten source has none");
    await ledgers.plans.discard(key);
  }
});

test("takes the new name of its domain, and goes with it", async () => {
  const [from, to] = [parseDomainId("OLD_NAME"), parseDomainId("NEW_NAME")];
  await ledgers.plans.begin({ planId: "plan_3", domainId: from, request: {} });
  await ledgers.plans.complete({ planId: "plan_3", domainId: from }, []);
  await ledgers.renameDomain({ from, to });
  assert.equal((await ledgers.plans.find("plan_3"))?.domainId, to);
  await ledgers.forgetDomain(to);
  assert.equal(await ledgers.plans.find("plan_3"), undefined);
});
