// A store of an earlier project is migrated and undone without losing a document.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { migrateJob } from "../../src/app/jobs.ts";
import { BadInputError, NotFoundError } from "../../src/contracts/errors.ts";
import { type ItemId, parseDomainId, parseSourceId } from "../../src/contracts/ids.ts";
import type { JobRecord } from "../../src/contracts/job.ts";
import type { MigrateRequest, MigrateResult } from "../../src/engine/migrate/migrate.ts";
import { KnowledgeBase } from "../../src/mirror/knowledge-base.ts";
import { contentsOf, type EarlierFileSpec, writeEarlierStore } from "./earlier-store.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";
import { playMigrateCrashes, STEP } from "./play-migrate-crashes.ts";

let stage: FolderStage;
before(async () => {
  stage = await FolderStage.open();
});
after(() => stage.close());
/** Every test begins with a source that was never crawled, and files that speak of different animals. */
beforeEach(async () => {
  await forgetSource();
  await rm(stage.root, { recursive: true, force: true });
  await stage.write("walrus.txt", WALRUS);
  await stage.write("sub/otter.txt", OTTER);
});

async function forgetSource(): Promise<void> {
  await rm(stage.folder, { recursive: true, force: true });
  await stage.withLedgers((ledgers) => ledgers.forget({ domainId: FOLDERS, config: stage.config }));
}

const WALRUS = "The walrus has long tusks and rests on the ice.";
const OTTER = "The otter holds the hand of its friend while it sleeps.";
const DOC = "doc_1234567" as ItemId;

const files = (): Readonly<Record<string, EarlierFileSpec>> => ({
  [stage.at("sub/otter.txt")]: { docId: DOC, bytes: OTTER },
  [stage.at("walrus.txt")]: { docId: DOC, bytes: WALRUS, text: "walrus, once", earlier: ["walrus, before"] },
  "/elsewhere/../etc/passwd": { docId: "doc_x", bytes: "root" },
});

async function migrate(wishes: Partial<MigrateRequest> = {}, { dryRun } = { dryRun: false }): Promise<JobRecord> {
  const request = { domainId: FOLDERS, sourceId: undefined, from: "", undo: false, force: false, ...wishes };
  const { start, work } = await migrateJob(stage.app, request, { dryRun });
  return await (await stage.app.runner.start({ ...start, endpoint: "test" }, work)).done;
}

const outcomeOf = ({ result }: JobRecord) => (result?.data as MigrateResult | undefined)?.sources[0];
const idsByPath = async () => (await stage.manifest()).map(({ path, docId, status }) => [path, docId, status]);

test("a store of an earlier project becomes that of the source, and a crawl keeps its documents", async () => {
  const store = join(dirname(stage.root), "kts");
  await writeEarlierStore(store, files());
  const untouched = await contentsOf(store);
  const preview = await migrate({ from: store }, { dryRun: true });
  assert.deepEqual([outcomeOf(preview)?.outcome, existsSync(stage.folder)], ["migrated", false]);
  const job = await migrate({ from: store });
  const { backup = "", ...outcome } = outcomeOf(job) ?? {};
  assert.deepEqual(outcome, {
    ...{ domain_id: FOLDERS, source_id: "docs", outcome: "migrated" },
    ...{ files: 2, new_ids: 1, left_out: 1, documents: 1, versions: 1 },
  });
  const log = await stage.log(job);
  assert.match(log, /passwd' is left out: it is not below/);
  assert.match(log, /'sub\/otter.txt' gets the id doc_[0-9a-f]{32}: 'doc_1234567'/);
  assert.match(log, /1 document of no file/);
  const { "migration.json": _note, ...kept } = await contentsOf(backup);
  assert.deepEqual([kept, await contentsOf(store)], [untouched, untouched]);

  const ids = await idsByPath();
  assert.deepEqual(ids.at(-1), ["walrus.txt", DOC, "active"]);
  await stage.crawl();
  assert.deepEqual(await idsByPath(), ids, "unchanged files keep their ids");
  assert.deepEqual(await stage.found("tusks"), ["walrus.txt"]);
  assert.equal((await stage.document("walrus.txt")).lineage.length, 0, "nothing happened to it");
  const knowledge = new KnowledgeBase(stage.folder);
  assert.equal((await knowledge.read(DOC, "v1"))?.markdown, "walrus, before");
  assert.match((await knowledge.readText(DOC)) ?? "", /long tusks/);
});

test("a source with a manifest of an earlier layout is not crawled before it is migrated; undone, it is as it was", async () => {
  await writeEarlierStore(stage.folder, files(), { knowledgeBase: true });
  const untouched = await contentsOf(stage.folder);
  const { job } = await stage.tryCrawl();
  assert.equal((job.result?.error ?? "").match(/lockstep migrate/g)?.length, 1, "it is said, and once");
  assert.equal(outcomeOf(await migrate())?.outcome, "migrated");
  const ids = await idsByPath();
  assert.equal(outcomeOf(await migrate())?.outcome, "nothing_to_do");
  assert.equal(outcomeOf(await migrate({ undo: true }))?.outcome, "undone");
  const ours = [".lockstep", "backup", "02_embedded", "03_failed"];
  const mapless = ([path]: [string, string]) => !path.endsWith(".csv");
  const left = Object.fromEntries(Object.entries(await contentsOf(stage.folder, ours)).filter(mapless));
  assert.deepEqual(left, untouched);
  assert.equal(outcomeOf(await migrate({ undo: true }))?.outcome, "nothing_to_do");
  assert.equal(outcomeOf(await migrate())?.outcome, "migrated");
  assert.deepEqual(await idsByPath(), ids, "also those that got a new id have the same one again");
});

test("what crawls wrote since is undone only when that is said, and is kept beside the backup", async () => {
  await writeEarlierStore(stage.folder, files());
  await migrate();
  await stage.crawl();
  const refused = await migrate({ undo: true });
  assert.match(refused.result?.error ?? "", /crawl has written.*--force/);
  assert.equal((await stage.document("walrus.txt")).docId, DOC);
  assert.equal(outcomeOf(await migrate({ undo: true, force: true }))?.outcome, "undone");
  assert.match(await readFile(join(stage.folder, "manifest.json"), "utf8"), /size_bytes/);
  const [replaced = ""] = (await readdir(join(stage.folder, "backup"))).filter((name) => name.endsWith(".replaced"));
  const kept = await contentsOf(join(stage.folder, "backup", replaced));
  assert.match(kept[`knowledge_base/documents/${DOC}/content.md`] ?? "", /long tusks/);
  assert.match(kept["manifest.json"] ?? "", /"layout":2/);
  await migrate();
  await stage.crawl();
  assert.deepEqual(await stage.found("tusks"), ["walrus.txt"]);
});

test("after a forced undo of a store from elsewhere, migrating again goes on with the documents that search has", async () => {
  const store = join(dirname(stage.root), "again");
  await writeEarlierStore(store, files());
  await migrate({ from: store });
  await stage.crawl();
  const held = (await stage.holdings()).map(({ itemId }) => itemId).sort();
  const refused = (await migrate({ undo: true })).result?.error ?? "";
  assert.ok(
    refused.includes(`recalls the documents from the mirror`) &&
      refused.includes(`migrate again first, with --from ${store}`),
  );
  const undone = await migrate({ undo: true, force: true });
  assert.match(await stage.log(undone), /WARNING: A crawl then recalls the documents from the mirror/);
  assert.equal(existsSync(join(stage.folder, "manifest.json")), false);
  await migrate({ from: store });
  await stage.crawl();
  assert.deepEqual((await stage.holdings()).map(({ itemId }) => itemId).sort(), held);
});

test("undone and migrated over and over within one second, everything is kept under names of its own", async () => {
  await writeEarlierStore(stage.folder, files());
  const killed = join(stage.folder, "backup", "2020-01-01_00-00-00.partial");
  await mkdir(join(killed, "documents"), { recursive: true });
  for (let i = 0; i < 3; i++) {
    assert.equal(outcomeOf(await migrate())?.outcome, "migrated");
    assert.equal(outcomeOf(await migrate({ undo: true }))?.outcome, "undone");
  }
  const kept = await readdir(join(stage.folder, "backup"));
  assert.deepEqual(
    ["undone", "replaced", "partial"].map((end) => kept.filter((name) => name.endsWith(`.${end}`)).length),
    [3, 3, 0],
  );
});

test("a text older than its file is kept as an earlier version", async () => {
  await writeEarlierStore(stage.folder, {
    [stage.at("walrus.txt")]: { docId: DOC, bytes: WALRUS, text: "walrus, once", editedLater: true },
  });
  await migrate();
  await stage.crawl();
  const knowledge = new KnowledgeBase(stage.folder);
  assert.match((await knowledge.read(DOC, "v2"))?.markdown ?? "", /long tusks/);
  assert.equal((await knowledge.read(DOC, "v1"))?.markdown, "walrus, once");
});

test("a renamed file keeps its identity before the place where it was, and before a file that shares it by accident", async () => {
  for (const status of ["missing", "deleted"] as const) {
    await forgetSource();
    await writeEarlierStore(stage.folder, {
      [stage.at("sub/otter.txt")]: { docId: DOC, bytes: OTTER },
      [stage.at("old.txt")]: { docId: DOC, bytes: WALRUS, text: "walrus, once", earlier: ["walrus, before"], status },
      [stage.at("walrus.txt")]: { docId: DOC, bytes: WALRUS },
      [stage.at("gone.txt")]: { docId: "doc_gone", bytes: "gone", text: "gone", status },
    });
    const job = await migrate();
    assert.match(await stage.log(job), /'.*old.txt' is left out: it is gone, and another file has its document now/);
    const ids = await idsByPath();
    assert.deepEqual(ids.slice(-1), [["walrus.txt", DOC, "active"]]);
    assert.deepEqual(ids[0], ["gone.txt", "doc_gone", status]);
    const knowledge = new KnowledgeBase(stage.folder);
    assert.equal((await knowledge.read(DOC, "v2"))?.markdown, "walrus, once");
    assert.equal((await knowledge.read(DOC, "v1"))?.markdown, "walrus, before");
  }
  await stage.crawl();
  assert.equal((await stage.document("walrus.txt")).docId, DOC);
  assert.deepEqual(await stage.found("tusks"), ["walrus.txt"]);
});

test("nothing is migrated into a source that is not meant", async () => {
  const refuses = async (wishes: Partial<MigrateRequest>, reason: RegExp, kind = BadInputError): Promise<void> => {
    await assert.rejects(migrate(wishes), (error: unknown) => error instanceof kind && reason.test(error.message));
  };
  await refuses({ domainId: undefined, undo: true }, /name it/);
  await refuses({ from: "/x", undo: true }, /Either --from or --undo/);
  await refuses({ force: true }, /--force is for --undo/);
  await refuses({ sourceId: parseSourceId("nothing") }, /no folder source 'nothing'/, NotFoundError);
  await refuses({ domainId: parseDomainId("NONE") }, /NONE/, NotFoundError);

  const store = join(dirname(stage.root), "foreign");
  await mkdir(store, { recursive: true });
  const errorOf = async (wishes: Partial<MigrateRequest>) => (await migrate(wishes)).result?.error ?? "";
  assert.match(await errorOf({ from: store }), /no manifest.json of an earlier layout/);
  await writeEarlierStore(store, { "/elsewhere/a.txt": { docId: "doc_a", bytes: "a" } });
  assert.match(await errorOf({ from: store }), /None of its 1 file is below .*right source/);
  await stage.crawl();
  assert.match(await errorOf({ from: store }), /has a manifest already/);
  assert.equal((await stage.manifest()).length, 2);
});

test("killed at any moment, a store is old or new, and the next attempt ends it", async () => {
  await playMigrateCrashes(Math.floor(Math.random() * STEP));
});
