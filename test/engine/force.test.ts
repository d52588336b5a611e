// Force means again: what is damaged in the index survives every other crawl, and none that is forced.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import type { App } from "../../src/app/app.ts";
import { rebuildIndexJob } from "../../src/app/jobs.ts";
import type { DomainId } from "../../src/contracts/ids.ts";
import type { JobRecord } from "../../src/contracts/job.ts";
import { crawlRequest } from "../../src/engine/crawl-request.ts";
import { storageFolder } from "../../src/mirror/layout.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";
import { INGEST, IngestStage } from "./ingest-stage.ts";

type Stage = Pick<FolderStage, "storage"> & { readonly app: App };

async function inStore<T>({ storage, app }: Stage, domain: DomainId, work: (db: DatabaseSync) => T): Promise<T> {
  const { vectorStoreId } = await app.domains.get(domain);
  const db = new DatabaseSync(join(storageFolder(storage, "index"), `${vectorStoreId}.sqlite`));
  try {
    db.exec("PRAGMA busy_timeout = 5000");
    return work(db);
  } finally {
    db.close();
  }
}

/** Puts another word into the texts that have this one, and nothing into their vectors. */
async function damage(stage: Stage, domain: DomainId, word: string): Promise<void> {
  await inStore(stage, domain, (db) => {
    const chunks = `(SELECT id FROM chunks WHERE text LIKE '%${word}%')`;
    db.exec(`UPDATE vectors SET vector = zeroblob(length(vector)) WHERE chunk_id IN ${chunks}`);
    db.exec(`UPDATE chunks SET text = replace(text, '${word}', 'damaged') WHERE id IN ${chunks}`);
    db.exec(`UPDATE sections SET content = replace(content, '${word}', 'damaged')`);
  });
}

/** The ids of all passages with a vector: another one was embedded anew. */
async function passages(stage: Stage, domain: DomainId): Promise<unknown[]> {
  return await inStore(stage, domain, (db) =>
    db.prepare("SELECT chunk_id AS id FROM vectors WHERE vector <> zeroblob(length(vector)) ORDER BY id").all(),
  );
}

/** What a search for the word by text, and by meaning, is shown first, now or as of a generation. */
async function said(app: App, domainId: DomainId, word: string, generation?: number): Promise<string[]> {
  const asOf = generation === undefined ? {} : { generation };
  const texts: string[] = [];
  for (const using of ["text", "vectors"] as const) {
    const { sources } = await app.query({ text: word, limit: 1, domainId, vectorStoreId: undefined, using, ...asOf });
    texts.push(sources[0]?.text ?? "");
  }
  return texts;
}

async function assertHealed(app: App, domainId: DomainId, word: string): Promise<void> {
  for (const generation of [undefined, 1]) {
    for (const text of await said(app, domainId, word, generation)) {
      assert.match(text, new RegExp(word), `generation ${generation ?? "now"}`);
    }
  }
}

async function openRegistry(
  t: TestContext,
): Promise<{ stage: IngestStage; id: Awaited<ReturnType<IngestStage["add"]>> }> {
  const stage = await IngestStage.open();
  t.after(() => stage.close());
  stage.pages.answers.set("/a", { text: "The shyword stands in the garden." });
  stage.pages.answers.set("/b", { text: "Another page about trains." });
  const id = await stage.add("/a");
  await stage.round();
  await stage.add("/b");
  await stage.round();
  assert.equal((await stage.item(id)).status, "Indexed");
  return { stage, id };
}

const rebuild = async (stage: IngestStage, mode: "soft" | "blueGreen", force: boolean): Promise<JobRecord> => {
  const { start, work } = await rebuildIndexJob(stage.app, { domainId: INGEST, force, mode }, { dryRun: false });
  return await (await stage.app.runner.start({ ...start, endpoint: "test" }, work)).done;
};

test("ReindexItem has an unchanged page extracted, cut and embedded anew, and only then calls it indexed", async (t) => {
  const { stage, id } = await openRegistry(t);
  await damage(stage, INGEST, "shyword");
  const before = await passages(stage, INGEST);
  stage.later(2);
  await stage.round();
  await stage.crawl({ mode: "full" });
  assert.deepEqual(await passages(stage, INGEST), before, "without force nothing is embedded");
  assert.doesNotMatch((await said(stage.app, INGEST, "shyword"))[0] ?? "", /shyword/);

  await stage.app.ingest.reindex({ id });
  await stage.work();
  assert.equal((await stage.item(id)).status, "Crawled");
  assert.deepEqual(
    (await stage.app.ingest.behind()).map(({ items }) => items),
    [1],
  );
  const [job] = await stage.round();
  assert.equal(job?.result?.ok, true, job?.result?.error);
  assert.equal((await stage.item(id)).status, "Indexed");
  await assertHealed(stage.app, INGEST, "shyword");
  const after = await passages(stage, INGEST);
  assert.equal(after.length, before.length + 1);
  await stage.crawl();
  assert.deepEqual([await stage.app.ingest.behind(), await passages(stage, INGEST)], [[], after], "once is enough");
});

test("a request is owed while its document cannot be put, whatever else the crawl does", async (t) => {
  const { stage, id } = await openRegistry(t);
  await damage(stage, INGEST, "shyword");
  await stage.app.ingest.reindex({ id });
  await stage.work();
  // The download alone serves nobody.
  await stage.crawl({ steps: ["download"] });
  assert.equal((await stage.item(id)).status, "Crawled");
  assert.doesNotMatch((await said(stage.app, INGEST, "shyword"))[0] ?? "", /shyword/);
  await stage.crawl({ steps: ["embed"] });
  assert.equal((await stage.item(id)).status, "Indexed");
  await assertHealed(stage.app, INGEST, "shyword");
});

test("RebuildIndex with force heals every registered page, soft and blueGreen; without it neither does", async (t) => {
  const { stage } = await openRegistry(t);
  for (const mode of ["soft", "blueGreen"] as const) {
    await damage(stage, INGEST, "shyword");
    const before = await passages(stage, INGEST);
    for (const force of [false, true]) {
      const job = await rebuild(stage, mode, force);
      assert.equal(job.result?.ok, true, job.result?.error);
      await stage.round();
      if (!force) assert.deepEqual(await passages(stage, INGEST), before, `${mode} without force`);
    }
    await assertHealed(stage.app, INGEST, "shyword");
  }
});

test("a full crawl with force heals every document of a folder and its kept text; with mode=full alone it does not", async (t) => {
  const stage = await FolderStage.open();
  t.after(() => stage.close());
  await stage.write("a.md", "The shyword stands.");
  await stage.write("copy.md", "The shyword stands.");
  await stage.crawl();
  await stage.write("b.md", "Another one.");
  await stage.crawl();
  await damage(stage, FOLDERS, "shyword");
  const holdings = await stage.holdings();
  const before = await passages(stage, FOLDERS);
  await stage.crawl({ mode: "full" });
  assert.deepEqual(await passages(stage, FOLDERS), before);
  const { source } = await stage.crawl({ mode: "full", force: true });
  assert.deepEqual([source.process.changed, source.embed.changed], [3, 3]);
  await assertHealed(stage.app, FOLDERS, "shyword");
  assert.deepEqual(
    (await stage.holdings()).map(({ itemId, fileId }) => [itemId, fileId]),
    holdings.map(({ itemId, fileId }) => [itemId, fileId]),
    "the same documents",
  );
  const { docId } = await stage.document("a.md");
  assert.deepEqual((await stage.kept(docId))?.versions, [], "and the same version");
});

test("force is refused with a sentence where it means nothing", async (t) => {
  const stage = await FolderStage.open();
  t.after(() => stage.close());
  await assert.rejects(stage.app.checkCrawl(crawlRequest(FOLDERS, { force: true })), {
    name: "BadInputError",
    message: "'force' needs mode=full: it makes everything anew, also what did not change.",
  });
  await stage.app.checkCrawl(crawlRequest(FOLDERS, { force: true, mode: "full" }));
});
