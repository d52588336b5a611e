// Maintenance beside crawls, renames, deletions and rollbacks takes away nothing that is needed.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { type ItemId, parseDomainId } from "../../src/contracts/ids.ts";
import { sourceLease } from "../../src/contracts/lease.ts";
import type { Generation } from "../../src/contracts/search-index.ts";
import type { MaintenanceRequest } from "../../src/engine/maintain/maintain.ts";
import type { MaintenanceResult } from "../../src/engine/maintain/maintenance-result.ts";
import { writeDocument } from "../index/index-fixture.ts";
import { DOCS, FOLDERS, FolderStage, type Maintained } from "./folder-stage.ts";

const never = new AbortController().signal;

describe("maintenance beside others", () => {
  let stage: FolderStage;
  beforeEach(async () => {
    stage = await FolderStage.open();
    for (const name of ["a", "b", "c"]) await stage.write(`${name}.md`, `The ${name}word stands.`);
    await stage.crawl();
  });
  afterEach(() => stage.close());

  const run: FolderStage["maintain"] = (wishes, options) => stage.maintain(wishes, options);
  /** Maintenance of all domains that is waiting for the source while `meanwhile` happens. */
  const runBehind = async (
    wishes: Partial<MaintenanceRequest>,
    meanwhile: () => Promise<void>,
  ): Promise<Maintained> => {
    const lease = await stage.app.leases.acquire(
      FOLDERS,
      sourceLease({ sourceType: "folder_sources", sourceId: DOCS }, "download"),
      { owner: "job jb_77" },
    );
    const running = run(wishes);
    const jobs = join(stage.storage, "jobs", "maintenance");
    const logs = async (): Promise<string[]> => {
      const names = await readdir(jobs).catch(() => []);
      return await Promise.all(names.map((name) => readFile(join(jobs, name), "utf8")));
    };
    while (!(await logs()).some((log) => log.includes("Waiting for job jb_77"))) await nextRound();
    await meanwhile();
    await lease.release();
    return await running;
  };
  const missForLong = async (name: string): Promise<void> => {
    await stage.remove(name);
    for (let look = 0; look < 3; look++) await stage.crawl();
    stage.later(25);
  };
  const counts = ({ freed }: MaintenanceResult): Record<string, number> =>
    Object.fromEntries(freed.map(({ kind, count }) => [kind, count]));

  test("a domain is neither deleted nor renamed under it; one that is taken away all the same does not come back", async () => {
    const domain = await stage.app.domains.get(FOLDERS);
    let documents = 0;
    const { result } = await runBehind({ confirmDeletes: true }, async () => {
      await assert.rejects(stage.app.planDeletion(FOLDERS, { withVectorStore: false }), /in use by job/);
      const rename = { from: FOLDERS, to: parseDomainId("OTHERS") };
      await assert.rejects(stage.app.planRename(rename, never), /in use by job/);
      documents = (await stage.holdings()).length;
      await stage.app.domains.remove(FOLDERS);
    });
    assert.match(result.problems.join(), /Source 'docs' of domain 'FOLDERS' was left alone: .*does not exist/);
    assert.deepEqual(await readdir(join(stage.storage, "crawler")), []);
    await stage.app.domains.create(domain);
    assert.equal(documents, 3);
    assert.equal((await stage.holdings()).length, 3, "its vector store stays as it is");
  });

  test("a ledger that goes while it waits is not taken for an empty one", async () => {
    const { result } = await runBehind({ confirmDeletes: true }, async () => {
      await rm(join(stage.folder, "manifest.json"));
      await stage.withLedgers((ledgers) => ledgers.forget({ domainId: FOLDERS, config: stage.config }));
    });
    assert.match(result.problems.join(), /Source 'docs' of domain 'FOLDERS' was left alone: There is no manifest/);
    assert.deepEqual(counts(result), {});
    assert.ok(!existsSync(join(stage.folder, "manifest.json")));
    assert.equal((await stage.holdings()).length, 3);
    assert.equal((await readdir(join(stage.folder, "knowledge_base", "documents"))).length, 3);
  });

  test("what a rollback brings back while it waits is not purged, and is when its time has come", async () => {
    const { docId } = await stage.document("c.md");
    await missForLong("c.md");
    const { result } = await runBehind({}, async () => {
      await stage.app.rollback(FOLDERS, 1, { dryRun: false });
    });
    assert.match(result.left.join(), /waits until no kept generation shows it/);
    assert.deepEqual([counts(result), result.problems], [{}, []]);
    assert.deepEqual(await stage.found("cword"), ["c.md"]);
    assert.match((await stage.kept(docId))?.text ?? "", /cword/);

    await stage.app.release(FOLDERS, { dryRun: false });
    assert.deepEqual(await stage.found("cword"), []);
    await stage.expireGenerations();
    assert.equal((await stage.manifest()).find((entry) => entry.docId === docId)?.status, "deleted");
    const hidden = await stage.index(async (index) => {
      const items: ItemId[] = [];
      for await (const page of index.retained?.listHidden(DOCS) ?? []) items.push(...page);
      return items;
    });
    assert.ok(!hidden.includes(docId));
  });

  test("what a source of another kind left under the same id is its own: only its retirement takes it away", async () => {
    await mkdir(join(stage.storage, "crawler", FOLDERS, "04_web", DOCS, "02_embedded"), { recursive: true });
    const plant = async (): Promise<void> =>
      await stage.index(async (index) => {
        const draft = await index.draft(DOCS);
        await draft.put(await writeDocument(stage.storage, "url_x", "The webword floats."), never);
        await draft.commit(never);
      });
    await plant();
    await stage.crawl({ mode: "full" });
    assert.deepEqual(await stage.found("webword"), ["url_x.md"]);
    const { result } = await run({ confirmDeletes: true });
    assert.match(result.left.join(), /taken out had the same id/);
    assert.deepEqual(counts(result), {});
    assert.deepEqual(await stage.found("webword"), ["url_x.md"]);
  });

  test("a dry run and the real one hold the same", async () => {
    for (const name of ["a", "b", "c"]) await stage.remove(`${name}.md`);
    for (let look = 0; look < 3; look++) await stage.crawl({ confirmDeletes: true });
    stage.later(25);
    const orphan = join(stage.folder, "knowledge_base", "documents", "doc_orphan");
    for (const folder of [0, 1, 2].map((at) => `${orphan}${at}`)) {
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, "content.md"), "Nobody's.");
    }
    const dry = await run({}, { dryRun: true });
    const real = await run();
    assert.deepEqual(real.result.problems, dry.result.problems);
    assert.deepEqual(real.result.freed, dry.result.freed);
    assert.deepEqual(real.result.left, dry.result.left);
    assert.deepEqual(counts(real.result), { document_folders: 3 });
  });

  test("what it takes out of search counts as part of the crawl before, and pushes out no generation", async () => {
    const kept = async (): Promise<readonly Generation[]> => (await stage.app.generations(FOLDERS)).kept;
    await stage.index(async (index) => {
      const draft = await index.draft(DOCS, (await kept())[0]?.crawl);
      await draft.put(await writeDocument(stage.storage, "doc_ghost", "The ghost floats."), never);
      await draft.commit(never);
    });
    const before = await kept();
    assert.deepEqual(counts((await run()).result), { index_documents: 1 });
    const after = await kept();
    assert.deepEqual(await stage.found("floats"), []);
    assert.equal(after.length, before.length + 1);
    assert.equal(after.filter(({ intermediate }) => !intermediate).length, 1);
  });
});
