// Maintenance finds leftovers everywhere, tells them beforehand, and takes away only those.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import type { ItemId } from "../../src/contracts/ids.ts";
import { sourceLease } from "../../src/contracts/lease.ts";
import type { IndexDraft } from "../../src/contracts/search-index.ts";
import type { MaintenanceResult } from "../../src/engine/maintain/maintenance-result.ts";
import { writeDocument } from "../index/index-fixture.ts";
import { DOCS, FOLDERS, FolderStage } from "./folder-stage.ts";

const DAY_HOURS = 24;
const never = new AbortController().signal;

describe("maintenance", () => {
  let stage: FolderStage;
  beforeEach(async () => {
    stage = await FolderStage.open();
    for (const name of ["a", "b", "c"]) await stage.write(`${name}.md`, `The ${name}word stands.`);
    await stage.crawl();
  });
  afterEach(() => stage.close());

  const run: FolderStage["maintain"] = (wishes, options) => stage.maintain(wishes, options);
  const counts = ({ freed }: MaintenanceResult): Record<string, number> =>
    Object.fromEntries(freed.map(({ kind, count }) => [kind, count]));
  const plant = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(stage.folder, path)), { recursive: true });
    await writeFile(join(stage.folder, path), text);
  };
  const is = (path: string): boolean => existsSync(join(stage.folder, path));
  const folderOf = (docId: string): string => `knowledge_base/documents/${docId}`;
  const change = (work: (draft: IndexDraft) => Promise<void>): Promise<unknown> =>
    stage.index(async (index) => {
      const draft = await index.draft(DOCS);
      await work(draft);
      return draft.commit(never);
    });
  const put = (item: string): Promise<unknown> =>
    change(async (draft) => draft.put(await writeDocument(stage.storage, item, `The ${item} floats.`), never));
  /** As a process of before would have left them: one that readers see, and one that may return, and no generation shows. */
  const plantInIndex = async (): Promise<void> => {
    await put("doc_kept");
    await change((draft) => draft.remove("doc_kept" as ItemId, { mayReturn: true }));
    await stage.expireGenerations();
    await put("doc_ghost");
  };
  const hidden = (): Promise<ItemId[]> =>
    stage.index(async (index) => {
      const all: ItemId[] = [];
      for await (const page of index.retained?.listHidden(DOCS) ?? []) all.push(...page);
      return all;
    });
  const healthy = async (): Promise<void> => {
    for (const name of ["a", "b", "c"]) assert.deepEqual(await stage.found(`${name}word`), [`${name}.md`]);
    for (const { docId } of await stage.manifest()) assert.ok(await stage.kept(docId));
  };
  /** Everything in the storage folder but job files and the database, which are opened. */
  const storageNow = async (): Promise<string[]> => {
    const entries = await readdir(stage.storage, { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    const told = paths
      // Whoever reads a database in WAL mode writes into its -shm.
      .filter((path) => !/storage\/(jobs|index)\/|-shm$/.test(path))
      .map(async (path) => {
        const { mtimeMs } = await stat(path);
        return `${path} ${mtimeMs} ${(await readFile(path)).toString("base64")}`;
      });
    return (await Promise.all(told)).sort();
  };

  test("finds what was left in every place, tells it beforehand, and takes away that alone", async () => {
    const old = new Date(Date.now() - 2 * DAY_HOURS * 3600_000);
    await plantInIndex();
    await plant(`${folderOf("doc_orphan")}/content.md`, "Nobody's.");
    await plant(".staging/doc_left/content.md", "Half of something.");
    const temporary = ["storage-note.json.123-0a1b2c3d.tmp", "young.json.124-0a1b2c3d.tmp"];
    for (const name of temporary) await plant(name, "half");
    await utimes(join(stage.folder, temporary[0] ?? ""), old, old);
    await utimes(join(stage.folder, temporary[1] ?? ""), stage.now, stage.now);
    await plant("02_embedded/somebody's.123-0a1b2c3d.tmp", "a document");
    await utimes(join(stage.folder, "02_embedded/somebody's.123-0a1b2c3d.tmp"), old, old);

    const before = await storageNow();
    const dry = await run({}, { dryRun: true });
    assert.deepEqual(await storageNow(), before);
    assert.deepEqual(await stage.found("floats"), ["doc_ghost.md"]);
    const wanted = { document_folders: 1, staging: 1, index_documents: 2, temporary_files: 1 };
    assert.deepEqual(counts(dry.result), wanted, dry.log);
    assert.deepEqual(dry.result.things.map(({ what }) => what).sort(), [
      `crawler/FOLDERS/05_folders/docs/${temporary[0]}`,
      "doc_ghost",
      "doc_kept",
      "doc_left",
      "doc_orphan",
    ]);

    const done = await run();
    assert.equal(done.job.result?.error, "");
    assert.deepEqual(done.result.freed, dry.result.freed);
    assert.deepEqual(done.result.things, dry.result.things);
    assert.ok(!is(folderOf("doc_orphan")) && !is(".staging/doc_left") && !is(temporary[0] ?? ""));
    assert.ok(is(temporary[1] ?? "") && is("02_embedded/somebody's.123-0a1b2c3d.tmp"));
    assert.deepEqual(await stage.found("floats"), []);
    assert.deepEqual(await hidden(), ["doc_ghost"], "the generation before shows it, as long as that is kept");
    await healthy();
    const again = (await run()).result;
    assert.deepEqual(counts(again), {}, "there is nothing left to do");
    assert.match(again.left.join(), /1 document without a manifest entry leaves the index of .* with the last kept/);
  });

  test("files of an earlier release that were taken over leave after 30 days, wherever they are", async () => {
    await plant(".lockstep/before-ledger/files_map.csv", "As it was.");
    await plant("02_embedded/.lockstep/before-ledger/a.md", "a document");
    stage.later(30 * DAY_HOURS - 1);
    assert.equal(counts((await run()).result)["earlier_files"], undefined);
    stage.later(2);
    assert.equal(counts((await run({}, { dryRun: true })).result)["earlier_files"], 1);
    assert.ok(is(".lockstep/before-ledger/files_map.csv"));
    const { result } = await run();
    const gone = result.things.filter(({ kind }) => kind === "earlier_files");
    assert.deepEqual(
      gone.map(({ what, bytes }) => [what, bytes]),
      [["crawler/FOLDERS/05_folders/docs/.lockstep/before-ledger", 10]],
    );
    assert.ok(!is(".lockstep/before-ledger"));
    assert.ok(is("02_embedded/.lockstep/before-ledger/a.md"));
  });

  test("purges what is overdue without a crawl, and forgets it for good when that is long ago", async () => {
    const { docId } = await stage.document("c.md");
    await stage.remove("c.md");
    for (let look = 0; look < 3; look++) await stage.crawl();
    assert.deepEqual(counts((await run()).result), {}, "its grace is not over");
    stage.later(25);
    const waiting = (await run({ domainId: FOLDERS })).result;
    assert.deepEqual(counts(waiting), {});
    assert.match(waiting.left.join(), /^1 document that has been missing for too long waits until no kept generation/);
    await stage.write("c.md", "The cword stands.");
    await stage.crawl();
    await stage.expireGenerations();
    await stage.remove("c.md");
    for (let look = 0; look < 3; look++) await stage.crawl();
    // What maintenance itself finds overdue: crawls purge at their end.
    await stage.pushOutGenerations();
    assert.equal(counts((await run({}, { dryRun: true })).result)["purged_documents"], 1);
    assert.equal(counts((await run({ domainId: FOLDERS })).result)["purged_documents"], 1);
    assert.match((await stage.kept(docId))?.text ?? "", /cword stands/, "its versions stay as long as its entry");
    assert.deepEqual(await hidden(), []);
    stage.later(29 * DAY_HOURS);
    assert.deepEqual(counts((await run()).result), {});
    stage.later(2 * DAY_HOURS);
    const { result } = await run();
    assert.deepEqual(counts(result), { manifest_entries: 1 });
    assert.ok((result.freed[0]?.bytes ?? 0) > 0);
    assert.equal(await stage.kept(docId), undefined);
    assert.deepEqual(
      (await stage.manifest()).map(({ path }) => path),
      ["a.md", "b.md", "clock.md"],
    );
  });

  test("earlier versions but the last two leave when they are too old, from disk and manifest", async () => {
    for (const word of ["second", "third", "fourth", "fifth"]) {
      await stage.write("a.md", `The aword stands for the ${word} time, longer than before.`);
      await stage.crawl();
    }
    const { docId, versions } = await stage.document("a.md");
    assert.equal(versions.length, 5);
    stage.later(91 * DAY_HOURS);
    const wanted = { versions: 2, index_leftovers: 2 };
    assert.deepEqual(counts((await run({}, { dryRun: true })).result), wanted);
    assert.deepEqual(counts((await run()).result), wanted);
    assert.deepEqual((await stage.kept(docId))?.versions, ["v3", "v4"]);
    assert.deepEqual((await stage.document("a.md")).versions, versions.slice(2));
    await healthy();
  });

  test("a damaged manifest.json is set aside and written again; of a source that nothing is known of, nothing is touched", async () => {
    const manifest = join(stage.folder, "manifest.json");
    const whole = await readFile(manifest, "utf8");
    await writeFile(manifest, whole.slice(0, whole.length / 2));
    const damaged = await run();
    assert.deepEqual(counts(damaged.result), {});
    assert.match(damaged.log, /WARNING: .*manifest\.json is damaged.* set aside as manifest\.json\.corrupt-/);
    const filesIn = (text: string): unknown => (JSON.parse(text) as { files: unknown }).files;
    assert.deepEqual(filesIn(await readFile(manifest, "utf8")), filesIn(whole));
    await plant(`${folderOf("doc_orphan")}/content.md`, "Nobody's.");
    await stage.withLedgers((ledgers) => ledgers.forget({ domainId: FOLDERS, config: stage.config }));
    await rm(manifest);
    const gone = await run();
    assert.match(gone.result.left.join(), /has no manifest, so its knowledge base was left alone/);
    assert.ok(is(folderOf("doc_orphan")));
    assert.deepEqual(await stage.found("aword"), ["a.md"]);
  });

  test("more than a crawl would remove at once is held until somebody confirms it", async () => {
    for (let at = 0; at < 30; at++) await plant(`${folderOf(`doc_${at}`)}/content.md`, "Nobody's.");
    const held = await run();
    assert.equal(held.job.result?.ok, false);
    assert.match(
      held.result.problems.join(),
      /30 folders of source 'docs' .* stayed: that is 30 of 33.*--confirm-deletes/,
    );
    assert.ok(is(folderOf("doc_0")));
    assert.deepEqual(counts((await run({ confirmDeletes: true })).result), { document_folders: 30 });
    await healthy();
  });

  test("a domain that is rolled back keeps what its readers see, and all after it", async () => {
    await stage.remove("c.md");
    for (let look = 0; look < 3; look++) await stage.crawl();
    stage.later(25);
    await stage.app.rollback(FOLDERS, 1, { dryRun: false });
    const { result } = await run();
    assert.deepEqual(counts(result), {});
    assert.match(result.left.join(), /waits until no kept generation shows it/);
    assert.deepEqual(await stage.found("cword"), ["c.md"]);
    await stage.expireGenerations();
    assert.deepEqual(counts((await run()).result), {});
    assert.deepEqual(await stage.found("cword"), ["c.md"]);
    await stage.app.release(FOLDERS);
    await stage.expireGenerations();
    assert.equal((await stage.manifest()).find(({ path }) => path === "c.md")?.status, "deleted");
  });

  test("waits for whoever works on the source and says for whom; two of them, and a crawl, take turns", async () => {
    const lease = await stage.app.leases.acquire(
      FOLDERS,
      sourceLease({ sourceType: "folder_sources", sourceId: DOCS }, "download"),
      { owner: "job jb_77" },
    );
    await plant(`${folderOf("doc_orphan")}/content.md`, "Nobody's.");
    await stage.write("d.md", "The dword stands.");
    const all = Promise.all([run(), run(), stage.crawl()]);
    const jobs = join(stage.storage, "jobs", "maintenance");
    const isSaid = async (): Promise<boolean> => {
      const logs = (await readdir(jobs).catch(() => [])).map((name) => readFile(join(jobs, name), "utf8"));
      return (await Promise.all(logs)).every((log) => log.includes("Waiting for job jb_77")) && logs.length === 2;
    };
    while (!(await isSaid())) await nextRound();
    assert.ok(is(folderOf("doc_orphan")));
    await lease.release();
    const [one, other] = await all;
    assert.equal((counts(one.result)["document_folders"] ?? 0) + (counts(other.result)["document_folders"] ?? 0), 1);
    assert.deepEqual([one.job.result?.error, other.job.result?.error], ["", ""]);
    await healthy();
    assert.deepEqual(await stage.found("dword"), ["d.md"]);
  });

  test("killed half-way, it is completed by the next", async () => {
    await stage.remove("c.md");
    for (let look = 0; look < 3; look++) await stage.crawl();
    stage.later(25);
    await plant(".staging/doc_left/content.md", "Half of something.");
    await plant(`${folderOf("doc_orphan")}/content.md`, "Nobody's.");
    await plantInIndex();
    const child = join(import.meta.dirname, "maintenance-child.ts");
    const args = [child, stage.storage, stage.now.toISOString(), "3"];
    const [, signal] = await once(spawn(process.execPath, args, { stdio: "inherit" }), "exit");
    assert.equal(signal, "SIGKILL");
    const { job } = await run();
    assert.equal(job.result?.error, "");
    assert.deepEqual(counts((await run()).result), {});
    assert.ok(!is(folderOf("doc_orphan")));
    assert.deepEqual(await stage.below(".staging"), []);
    assert.deepEqual(await stage.found("floats"), []);
    const states = (await stage.manifest()).map(({ status }) => status).sort();
    assert.deepEqual(states, ["active", "active", "active", "deleted"]);
    await stage.expireGenerations();
    assert.deepEqual(await hidden(), []);
    assert.deepEqual(await stage.found("aword"), ["a.md"]);
  });
});
