// A server killed at any moment ends where an undisturbed one does.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { ServerProcess } from "./server-process.ts";
import { DOMAIN, World } from "./world.ts";

const FILES = 26;
/** Slow enough that every stage can be hit: each download waits a little at the tenant. */
const slow = { match: { url: "\\$value", times: "always" }, effect: { delayMs: 15 } };
/** The tenth download does not end before the server does, however late that is told to. */
const stuck = { match: { url: "\\$value", nth: 10, times: "always" }, effect: { delayMs: 60_000 } };

/** What crawls leave that nobody disturbs: the first one, and a later one that has everything to do. */
let undisturbed: Picture;
let undisturbedLater: Picture;
before(async () => {
  const world = await newWorld();
  await world.crawl();
  undisturbed = await picture(world);
  await upset(world);
  await world.crawl();
  undisturbedLater = await picture(world);
  await world.close();
});

async function newWorld(): Promise<World> {
  const world = await World.open();
  for (let i = 0; i < FILES; i++) {
    await world.change("add", {
      path: `folder${i % 3}/file${i}.txt`,
      text: `Report number${i} about gnu${i}.`,
      at: "2026-01-05T10:00:00Z",
    });
  }
  return world;
}

/** Everything a crawl leaves, without what differs from run to run (ids of the backend, our own clock). */
type Picture = Readonly<Record<string, unknown>>;

async function picture(world: World): Promise<Picture> {
  const rows = async (name: "sharepoint_map" | "files_map" | "vectorstore_map") =>
    (await world.map(name))
      .map((row) => {
        const timeless = Object.entries(row).filter(
          ([column]) => !/^(downloaded|uploaded|embedded)_|openai_file_id|vector_store_id|unique|url/.test(column),
        );
        return JSON.stringify(Object.fromEntries(timeless));
      })
      .sort();
  const searches = await Promise.all(Array.from({ length: FILES }, (_, i) => answering(world, `gnu${i}`)));
  return {
    seen: await rows("sharepoint_map"),
    files: await rows("files_map"),
    store: await rows("vectorstore_map"),
    disk: await world.disk(),
    failed: await world.disk("03_failed"),
    documents: (await world.storeFileIds()).length,
    searches,
    leftovers: (await readdir(world.folder(".lockstep"), { recursive: true })).filter((name) =>
      /journal|(staging|moving)\/./.test(name),
    ),
  };
}

/** Documents that have the very word, not only one like it. */
async function answering(world: World, word: string): Promise<string[]> {
  const hits = await world.search(word);
  return hits.filter(({ text }) => new RegExp(`\\b${word}\\b`).test(text)).map(({ name }) => name);
}

const moments: [title: string, line: RegExp][] = [
  ["while downloading", /\[ 7 \/ 26 \] Downloaded/],
  ["while embedding", /\[ 9 \/ 26 \] Indexing/],
  ["at the end of embedding", /\[ 26 \/ 26 \] Indexing/],
];

for (const [title, line] of moments) {
  test(`SIGKILL ${title}: the next crawl ends where an undisturbed one does`, async (t) => {
    const world = await newWorld();
    t.after(() => world.close());
    await world.fault(slow.match, slow.effect);
    const server = await ServerProcess.start(world.settings);
    const seen = await server.crawlUntil(DOMAIN, line);
    assert.match(seen, line);
    assert.equal(await server.end("SIGKILL"), "SIGKILL");
    const [killed] = await world.app.jobs.list();
    // The very last moment may come after the job has ended; every earlier one leaves a job without a process.
    if (killed?.state !== "completed") assert.deepEqual([killed?.state, killed?.stalled], ["running", true]);
    const { job } = await world.crawl();
    assert.equal(job.result?.error, "");
    assert.deepEqual(await picture(world), undisturbed);
    assert.deepEqual(await world.contradictions(), []);
    await world.close();
  });
}

/** A second crawl has everything to do at once: moves, removals, edits, new files, a file that cannot be read. */
async function upset(world: World): Promise<void> {
  for (let i = 0; i < 8; i++)
    await world.change("rename", { path: `folder${i % 3}/file${i}.txt`, name: `renamed${i}.txt` });
  for (let i = 8; i < 14; i++) await world.change("delete", { path: `folder${i % 3}/file${i}.txt` });
  for (let i = 14; i < 24; i++) {
    await world.change("update", {
      path: `folder${i % 3}/file${i}.txt`,
      text: `Edited gnu${i}.`,
      at: "2026-02-01T10:00:00Z",
    });
  }
  for (let i = 0; i < 6; i++) {
    await world.change("add", { path: `new${i}.txt`, text: `Brandnew gnu9${i}.`, at: "2026-02-01T10:00:00Z" });
  }
  await world.change("add", { path: "broken.pdf", text: "no pdf", at: "2026-02-01T10:00:00Z" });
}

const laterMoments: [title: string, line: RegExp][] = [
  ["after the first removal", /Removed '/],
  ["while files move", /Moved '/],
  ["while downloading", /\[ 3 \/ 17 \] Downloaded/],
  ["while indexing", /\[ 5 \/ 17 \] Indexing/],
  ["when a file has just failed", /ERROR: index '.*broken.pdf'/],
];

for (const [title, line] of laterMoments) {
  test(`SIGKILL in a later crawl ${title}: the next one ends where an undisturbed one does`, async (t) => {
    const world = await newWorld();
    t.after(() => world.close());
    await world.crawl();
    await upset(world);
    await world.fault(slow.match, slow.effect);
    const server = await ServerProcess.start(world.settings);
    await server.crawlUntil(DOMAIN, line);
    await server.end("SIGKILL");
    await world.control("DELETE", "log");
    await world.crawl();
    assert.deepEqual(await picture(world), undisturbedLater);
    const fetched = (await world.requests()).filter((url) => url.includes("$value")).length;
    assert.ok(fetched <= 17, `no unchanged or moved file is downloaded again: ${fetched}`);
  });
}

test("a server that starts ends the jobs whose process is gone", async (t) => {
  const world = await newWorld();
  t.after(() => world.close());
  await world.fault(stuck.match, stuck.effect);
  const killed = await ServerProcess.start(world.settings);
  await killed.crawlUntil(DOMAIN, /\[ 5 \/ 26 \] Downloaded/);
  await killed.end("SIGKILL");
  assert.equal((await world.app.jobs.list())[0]?.state, "running");
  const next = await ServerProcess.start(world.settings);
  const [job] = await world.app.jobs.list();
  await next.end("SIGTERM");
  assert.equal(job?.state, "cancelled");
  assert.equal(job.result?.ok, false);
  await world.close();
});

test("SIGTERM in the middle of a crawl: the job ends cancelled, the server leaves with 0, the next crawl completes", async (t) => {
  const world = await newWorld();
  t.after(() => world.close());
  await world.fault(stuck.match, stuck.effect);
  const server = await ServerProcess.start(world.settings);
  await server.crawlUntil(DOMAIN, /\[ 5 \/ 26 \] Downloaded/);
  assert.equal(await server.end("SIGTERM"), 0);
  const [job] = await world.app.jobs.list();
  assert.equal(job?.state, "cancelled");
  assert.deepEqual(job.result, { ok: false, error: "Server stopped.", data: {} });
  const files = await readdir(join(world.storage, "jobs", "crawler"));
  assert.match(files.join(), /_\[crawl\]_\[jb_1\]_\[STORY\]\.cancelled/);
  await world.control("DELETE", "faults");
  assert.equal((await world.crawl()).job.result?.error, "");
  assert.deepEqual(await picture(world), undisturbed);
  await world.close();
});

test("pause, resume and cancel from another process", async (t) => {
  const world = await newWorld();
  t.after(() => world.close());
  await world.fault(slow.match, { delayMs: 100 });
  const server = await ServerProcess.start(world.settings);
  const crawling = server.crawlUntil(DOMAIN, /end_json/);
  const { jobs } = world.app;
  const untilState = async (state: string): Promise<void> => {
    while ((await jobs.list())[0]?.state !== state) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await untilState("running");
  const [job] = await jobs.list();
  assert.ok(job);
  await jobs.control(job.jobId, "pause");
  await untilState("paused");
  await jobs.control(job.jobId, "resume");
  await untilState("running");
  await jobs.control(job.jobId, "cancel");
  assert.match(await crawling, /"state": ?"cancelled"/);
  assert.equal((await jobs.get(job.jobId)).result?.error, "Cancelled by user.");
  await server.end("SIGTERM");
  assert.equal((await world.crawl()).job.result?.error, "");
  assert.deepEqual(await picture(world), undisturbed);
  await world.close();
});
