// Workers run queued jobs, take over from stopped or killed ones, and each job has one end.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ServerProcess } from "../engine/server-process.ts";
import { DOMAIN, World } from "../engine/world.ts";
import { addFiles, askForCrawl, slowDown } from "./queued-crawl.ts";
import { WorkerProcess } from "./worker-process.ts";

const FILES = 12;

/** One machine, no PostgreSQL: the queue is a file. */
let world: World;
let server: ServerProcess;
before(async () => {
  world = await World.open({ settings: { RUN_JOBS_IN: "workers", CRAWLER_CONCURRENCY: "1" } });
  await addFiles(world, FILES);
  await slowDown(world, 150);
  server = await ServerProcess.start(world.settings);
});
after(async () => {
  await server.end("SIGTERM");
  await world.close();
});

test("a job that waits can be seen, and cancelled before any worker comes", async () => {
  const crawl = await askForCrawl(server, DOMAIN);
  await crawl.until(/Waiting for a worker\./);
  const [job] = await world.app.jobs.list();
  assert.ok(job);
  assert.deepEqual([job.state, job.stalled, job.action], ["running", false, "crawl"]);
  const answer = await server.getJson(`/v2/jobs/control?job_id=${job.jobId}&action=cancel`);
  assert.equal(answer.ok, true);
  const events = await crawl.events();
  assert.deepEqual(
    events.map(({ event }) => event),
    ["start_json", "log", "end_json"],
  );
  assert.equal((await world.app.jobs.get(job.jobId)).state, "cancelled");
});

test("a server that is stopped leaves the jobs that wait, and whoever waits for them is told", async () => {
  const answer = server.getJson(`/v2/crawler/crawl?domain_id=${DOMAIN}&mode=incremental`);
  const { jobs } = world.app;
  while ((await jobs.list({ state: "active" })).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(await server.end("SIGTERM"), 0);
  assert.equal((await answer).ok, false);
  server = await ServerProcess.start(world.settings);
  const [waiting] = await jobs.list({ state: "active" });
  assert.ok(waiting);
  await jobs.control(waiting.jobId, "cancel");
});

test("a stopped worker leaves its job to the next one, a killed one too; the job has one end, and everything agrees", async (t) => {
  const crawl = await askForCrawl(server, DOMAIN);
  const stopped = await WorkerProcess.start(world.settings);
  t.after(() => stopped.end("SIGKILL"));
  await crawl.until(/\[ 2 \/ 12 \] Downloaded/);
  assert.equal(await stopped.end("SIGTERM"), 0);
  await crawl.until(new RegExp(`Worker ${stopped.name} runs the job\\.[\\s\\S]*Waiting for a worker\\.`));
  const killed = await WorkerProcess.start(world.settings);
  t.after(() => killed.end("SIGKILL"));
  await crawl.until(new RegExp(`Worker ${killed.name} runs the job\\.[\\s\\S]*Downloaded`));
  assert.equal(await killed.end("SIGKILL"), "SIGKILL");
  const last = await WorkerProcess.start(world.settings);
  t.after(() => last.end("SIGKILL"));
  const events = await crawl.events();
  const lines = events.filter(({ event }) => event === "log").map(({ data }) => data);
  assert.ok(lines.includes(`Worker ${last.name} goes on with the job: the last one ended before it did.`));
  assert.equal(events.filter(({ event }) => event === "end_json").length, 1);
  assert.deepEqual(
    events.map(({ id }) => Number(id)),
    events.map((_, at) => at + 1),
  );
  assert.match(events.at(-1)?.data ?? "", /"ok": true/);
  assert.deepEqual(await world.contradictions(), []);
  for (let i = 0; i < FILES; i++) assert.equal((await world.found(`gnu${i}`))[0], `file${i}.txt`);
  assert.equal(await last.end("SIGTERM"), 0);
});

test("a caller who asks for json gets the answer of the worker", async (t) => {
  const worker = await WorkerProcess.start(world.settings);
  t.after(() => worker.end("SIGKILL"));
  const steps = ["download_data", "process_data", "embed_data", "crawl"];
  for (const step of steps) {
    const answer = await server.getJson(`/v2/crawler/${step}?domain_id=${DOMAIN}&mode=incremental`);
    assert.deepEqual([answer.ok, answer.error], [true, ""], step);
    assert.equal((answer.data as { state: string }).state, "completed");
  }
  const refused = await server.getJson("/v2/crawler/crawl?domain_id=NOWHERE&mode=incremental");
  assert.equal(refused.ok, false);
  assert.equal(await worker.end("SIGTERM"), 0);
  const jobs = await world.app.jobs.list({ limit: steps.length });
  assert.deepEqual(jobs.map(({ action }) => action).reverse(), steps);
});
