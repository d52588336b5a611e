// Cleaning up files_metadata.json removes history, and never what people wrote about a present item.
import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { cleanupMetadataJob } from "../../src/app/jobs.ts";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import type { JobContext, JobRecord } from "../../src/contracts/job.ts";
import { sourceLease } from "../../src/contracts/lease.ts";
import { DOCS, DOMAIN, World } from "./world.ts";

type Entry = Record<string, unknown>;

test("history goes, the present stays: what was replaced and what was removed", async (t) => {
  const world = await crawled(t);
  await world.change("update", { path: "a.txt", text: "The axolotl budget is 13 euros." });
  await world.change("delete", { path: "b.txt" });
  await world.crawl();
  assert.deepEqual(await names(world), ["a.txt", "b.txt", "c.txt", "a.txt"]);
  const before = await readFile(metadataFile(world), "utf8");

  const dry = await cleanup(world, { dryRun: true });
  assert.deepEqual(dry.result, {
    ok: true,
    error: "",
    data: { domain_id: DOMAIN, dry_run: true, removed: 2, remaining: 2 },
  });
  assert.equal(await readFile(metadataFile(world), "utf8"), before);
  assert.match(await world.log(dry), /Would remove 'b\.txt' \(.*\): its file is not in the vector store any more\./);

  const real = await cleanup(world);
  assert.deepEqual(real.result?.data, { domain_id: DOMAIN, dry_run: false, removed: 2, remaining: 2 });
  assert.deepEqual(await names(world), ["c.txt", "a.txt"]);
  assert.deepEqual(await world.found("axolotl budget"), ["a.txt"]);
  const again = await cleanup(world);
  assert.equal(removedBy(again), 0);
});

test("a dry run counts what people did to the file, and takes nothing of it over", async (t) => {
  const world = await crawled(t);
  await cleanup(world);
  await world.change("update", { path: "a.txt", text: "The axolotl budget is 13 euros." });
  await world.change("delete", { path: "b.txt" });
  await world.crawl();
  const [a, b, , newest] = await readEntries(world);
  // The old version of a.txt has a property that the new one lacks; c.txt was taken out; one entry is nobody's.
  const stranger = { ...b, openai_file_id: "file-nobodys" };
  const edited = [{ ...a, reviewer: "Ann" }, b, newest, stranger];
  await writeFile(metadataFile(world), JSON.stringify(edited));
  const file = join(world.storage, "crawler", DOMAIN, "ledger.sqlite");
  const rows = (): unknown => {
    const db = new DatabaseSync(file, { readOnly: true });
    const found = db.prepare("SELECT entry_no, file_id, properties FROM embedded_file ORDER BY entry_no").all();
    const exported = db.prepare("SELECT * FROM export ORDER BY source_no, name").all();
    db.close();
    return JSON.stringify([found, exported]);
  };
  const before = rows();
  const dry = (await cleanup(world, { dryRun: true })).result?.data;
  assert.deepEqual(dry, { domain_id: DOMAIN, dry_run: true, removed: 2, remaining: 2 });
  assert.equal(rows(), before);
  assert.equal(await readFile(metadataFile(world), "utf8"), JSON.stringify(edited));
  const real = (await cleanup(world)).result?.data;
  assert.deepEqual(real, { domain_id: DOMAIN, dry_run: false, removed: 2, remaining: 2 });
});

test("what people wrote down about an item that is still there is never lost", async (t) => {
  const world = await crawled(t);
  await annotate(world, { "a.txt": { topic: "pets" }, "b.txt": { topic: "gone soon" } });
  await world.change("update", { path: "a.txt", text: "The axolotl budget is 13 euros." });
  await world.change("delete", { path: "b.txt" });
  await world.crawl();
  // Written on the old version only, after the new one was there.
  const entries = await readEntries(world);
  Object.assign(entries[0] ?? {}, { reviewer: "Ann" });
  await writeFile(metadataFile(world), JSON.stringify(entries));

  assert.equal(removedBy(await cleanup(world)), 1, "b.txt, with its topic");
  const left = (await readEntries(world)).map(({ filename, topic, reviewer }) => [filename, topic, reviewer]);
  assert.deepEqual(left, [
    ["a.txt", "pets", "Ann"],
    ["c.txt", undefined, undefined],
    ["a.txt", "pets", undefined],
  ]);

  // Once the new version has it too, the old one may go.
  const [, , newest] = await readEntries(world);
  await writeFile(metadataFile(world), JSON.stringify([entries[0], { ...newest, reviewer: "Ann" }]));
  await cleanup(world);
  assert.deepEqual(
    (await readEntries(world)).map(({ filename, topic, reviewer }) => [filename, topic, reviewer]),
    [["a.txt", "pets", "Ann"]],
  );
});

test("a document that somebody took out of the store keeps its properties for the next crawl", async (t) => {
  const world = await crawled(t);
  await annotate(world, { "a.txt": { topic: "pets" } });
  const { vectorStoreId } = await world.app.domains.get(DOMAIN);
  for (const { openai_file_id } of await readEntries(world)) {
    await world.openai().vectorStores.files.delete(String(openai_file_id), { vector_store_id: vectorStoreId });
  }
  await cleanup(world);
  assert.deepEqual(await names(world), ["a.txt"]);
  await world.crawl();
  await cleanup(world);
  const entries = await readEntries(world);
  assert.deepEqual(entries.map(({ filename }) => filename).sort(), ["a.txt", "b.txt", "c.txt"]);
  assert.equal(entries.find(({ filename }) => filename === "a.txt")?.["topic"], "pets");
});

const BLIND: readonly [title: string, spoil: (world: World) => Promise<void>, reason: RegExp][] = [
  [
    "the store does not exist any more",
    async (world) => void (await setStore(world, "vs_gone")),
    /vector store 'vs_gone' does not exist any more/,
  ],
  ["there is no store yet", async (world) => void (await setStore(world, "")), /has no vector store yet/],
  [
    "a map file is damaged",
    (world) => writeFile(world.folder("vectorstore_map.csv"), "nonsense"),
    /source 'docs': vectorstore_map\.csv cannot be used/,
  ],
  [
    "a map file is missing",
    (world) => rm(world.folder("vectorstore_map.csv")),
    /source 'docs' has no vectorstore_map\.csv; crawl it first/,
  ],
  [
    "a source was never crawled",
    async (world) => {
      const before = await world.app.domains.get(DOMAIN);
      const [docs] = before.sources;
      assert.ok(docs);
      const sources = [docs, { ...docs, sourceId: "more" as typeof docs.sourceId }];
      await world.app.domains.update({ ...before, sources }, before);
    },
    /source 'more' has no vectorstore_map\.csv/,
  ],
  [
    "the metadata itself is damaged",
    (world) => writeFile(metadataFile(world), "[{"),
    /files_metadata\.json could not be read/,
  ],
];
for (const [title, spoil, reason] of BLIND) {
  test(`nothing is removed while ${title}`, async (t) => {
    const world = await crawled(t);
    await world.change("delete", { path: "b.txt" });
    await world.crawl();
    await spoil(world);
    const before = await readFile(metadataFile(world), "utf8");
    for (const dryRun of [true, false]) {
      const job = await cleanup(world, { dryRun });
      const { state, result } = job;
      assert.equal(state, "completed");
      assert.equal(result?.ok, false);
      assert.match(result?.error ?? "", /^Nothing was removed from files_metadata\.json: /);
      assert.match(result?.error ?? "", reason);
      assert.equal(removedBy(job), 0);
      assert.equal(await readFile(metadataFile(world), "utf8"), before);
    }
  });
}

test("a source that was taken out keeps its entries until its documents are removed", async (t) => {
  const world = await crawled(t);
  const before = await world.app.domains.get(DOMAIN);
  await world.app.domains.update({ ...before, sources: [] }, before);
  await cleanup(world);
  assert.deepEqual(await names(world), ["a.txt", "b.txt", "c.txt"]);
});

test("it waits for a crawl that is embedding, and can be cancelled meanwhile", async (t) => {
  const world = await crawled(t);
  await world.change("delete", { path: "b.txt" });
  await world.crawl();
  const lease = await world.app.leases.acquire(DOMAIN, sourceLease(DOCS, "embed"), { owner: "job jb_99" });
  const { start, work } = await cleanupMetadataJob(world.app, DOMAIN, { dryRun: false });
  const waits = Promise.withResolvers<void>();
  const running = await world.app.runner.start({ ...start, endpoint: "story" }, (job) =>
    work(listening(job, (line) => line.startsWith("Waiting for job jb_99") && waits.resolve())),
  );
  await waits.promise;
  await world.app.jobs.control(running.jobId, "cancel");
  assert.equal((await running.done).state, "cancelled");
  assert.equal((await names(world)).length, 3);
  await lease.release();
  assert.equal(removedBy(await cleanup(world)), 1);
});

test("an unknown domain is told before there is a job", async (t) => {
  const world = await crawled(t);
  await assert.rejects(cleanupMetadataJob(world.app, "NOPE" as typeof DOMAIN, { dryRun: false }), {
    name: "NotFoundError",
  });
});

async function crawled(t: TestContext): Promise<World> {
  const world = await World.open();
  t.after(() => world.close());
  await world.change("add", { path: "a.txt", text: "The axolotl budget is 12 euros." });
  await world.change("add", { path: "b.txt", text: "Badgers sleep in winter." });
  await world.change("add", { path: "c.txt", text: "Cranes fly south." });
  await world.crawl();
  // In the order of the names, so that the tests can tell them apart.
  const entries = await readEntries(world);
  entries.sort((a, b) => (String(a["filename"]) < String(b["filename"]) ? -1 : 1));
  await writeFile(metadataFile(world), JSON.stringify(entries));
  return world;
}

async function cleanup(world: World, options: { dryRun: boolean } = { dryRun: false }): Promise<JobRecord> {
  const { start, work } = await cleanupMetadataJob(world.app, DOMAIN, options);
  const running = await world.app.runner.start({ ...start, endpoint: "story" }, work);
  return await running.done;
}

/** Whatever the job logs is also heard here. */
function listening(job: JobContext, hear: (line: string) => unknown): JobContext {
  const log = (line: string): void => {
    job.log(line);
    hear(line);
  };
  return { jobId: job.jobId, dryRun: job.dryRun, signal: job.signal, log, checkpoint: () => job.checkpoint() };
}

function removedBy({ result }: JobRecord): unknown {
  return (result?.data as Entry | undefined)?.["removed"];
}

function metadataFile(world: World): string {
  return join(world.storage, "domains", DOMAIN, "files_metadata.json");
}

async function readEntries(world: World): Promise<Entry[]> {
  return JSON.parse(await readFile(metadataFile(world), "utf8")) as Entry[];
}

async function names(world: World): Promise<unknown[]> {
  return (await readEntries(world)).map(({ filename }) => filename);
}

async function annotate(world: World, properties: Record<string, Entry>): Promise<void> {
  const entries = (await readEntries(world)).map((entry) => ({ ...entry, ...properties[String(entry["filename"])] }));
  await writeFile(metadataFile(world), JSON.stringify(entries));
}

async function setStore(world: World, id: string): Promise<void> {
  const before = await world.app.domains.get(DOMAIN);
  await world.app.domains.update({ ...before, vectorStoreId: id as VectorStoreId }, before);
}
