// The ledger keeps its contract in PostgreSQL, and dry runs block nobody.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type DomainId, parseDomainId, parseSourceId } from "../../src/contracts/ids.ts";
import { openLedgerDatabases } from "../../src/ledger/ledger-databases.ts";
import { ledgerSuite } from "../contracts/ledger-suite.ts";
import { manifestSuite } from "../contracts/manifest-suite.ts";
import { planSuite } from "../contracts/plan-suite.ts";
import { FolderStage } from "../engine/folder-stage.ts";
import { World } from "../engine/world.ts";
import { entriesOf, facetsOf, id } from "../ledger/ledger-fixture.ts";
import { closeLedgers, newLedgerPlace, openForDryRun, openLedger } from "../ledger/ledger-place.ts";
import { closeManifests, newManifestPlace } from "../ledger/manifest-place.ts";
import { observePostgres, scansInPostgres } from "../ledger/observed-statements.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

const statements = observePostgres();
let server: PostgresServer;
let url = "";
let urlOfManifests = "";
let root: string;
let count = 0;
before(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
  urlOfManifests = await server.createDatabase();
  root = await mkdtemp(join(tmpdir(), "lockstep-ledger-"));
});
after(async () => {
  await closeLedgers();
  await closeManifests();
  await server.stop();
  await rm(root, { recursive: true, force: true });
});

const PLANNED = {
  planId: "plan_1",
  domainId: parseDomainId("PLANS"),
  sourceType: "folder_sources",
  sourceId: parseSourceId("docs"),
};
planSuite("stored in PostgreSQL", async () => {
  const open = () => openTestLedgers(join(root, "crawler"), { url });
  const ledgers = open();
  await ledgers.plans.begin({ ...PLANNED, request: { mode: "full" } });
  return {
    draft: await ledgers.plans.write(PLANNED, "p1"),
    stored: {
      ...PLANNED,
      async reopen() {
        await ledgers.close();
        return open();
      },
    },
  };
});

test("dry runs that are under way for long keep nobody from a connection, and are limited", async (t) => {
  const place = await newLedgerPlace(root, "DRY", url);
  const { ledger } = await openLedger(place);
  ledger.put(id("a"), facetsOf(1));
  await ledger.close();
  const runs: Awaited<ReturnType<typeof openForDryRun>>[] = [];
  t.after(() => Promise.all(runs.map((run) => run.end())));
  for (let n = 0; n < 10; n++) runs.push(await openForDryRun(place));
  await assert.rejects(openForDryRun(place), /10 dry runs are under way\. Try again when one of them has ended/);
  const { ledger: beside } = await openLedger(place);
  beside.put(id("a"), facetsOf(2));
  await beside.close();
  for (const run of runs) assert.deepEqual((await entriesOf(run.ledger))["a"], facetsOf(1));
  await runs.pop()?.end();
  const later = await openForDryRun(place);
  runs.push(later);
  assert.deepEqual((await entriesOf(later.ledger))["a"], facetsOf(2));
});

test("a dry run may be paused for as long as it likes", async () => {
  const databases = openLedgerDatabases({ url });
  const snapshot = await databases.snapshot("DRY" as DomainId);
  const setting = "SELECT current_setting('idle_in_transaction_session_timeout') AS timeout";
  assert.deepEqual(await snapshot?.sql.get(setting), { timeout: "0" });
  await snapshot?.end();
  await databases.close();
});

ledgerSuite("PostgreSQL", () => newLedgerPlace(root, `D${++count}`, url), { runs: 3 });
manifestSuite("PostgreSQL", () => newManifestPlace(root, `D${++count}`, urlOfManifests), { runs: 2 });

test("nothing of that, and of a crawl, reads a whole table of items", async () => {
  const stage = await FolderStage.open({ settings: { DATABASE_URL: url } });
  const world = await World.open({ settings: { DATABASE_URL: url } });
  try {
    for (const text of ["The zebra is striped.", "The zebra is gone."]) {
      await stage.write("a.md", text);
      await stage.crawl();
      await world.change("add", { path: `${text.length}.txt`, text });
      await world.crawl();
    }
  } finally {
    await stage.close();
    await world.close();
  }
  assert.deepEqual(await scansInPostgres(url, statements), []);
  const blind = ["SELECT 1 FROM item WHERE name = $1", "SELECT 1 FROM indexed WHERE store = $1"];
  assert.equal((await scansInPostgres(url, blind)).length, 2);
});
