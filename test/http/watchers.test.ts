// Hundreds of watchers of one job each get every event once, in order.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { JobContext } from "../../src/contracts/job.ts";
import { parseDomainInput } from "../kinds.ts";
import { crawlResult, type Served, serveScripted } from "./scripted-app.ts";
import { hashOf, type Watcher, watch } from "./watcher.ts";

let served: Served;
beforeEach(async () => {
  // Comments that fill a silence are no part of the file.
  served = await serveScripted({ keepAliveMs: 600_000, settings: { RATE_LIMIT_PER_SECOND: "0" } });
  await served.app.domains.create(parseDomainInput({ domain_id: "DEMO", name: "Demo" }));
});
afterEach(() => served.close());

interface Running {
  readonly jobId: string;
  /** Lets the job write events up to this one, and waits until it has. */
  writeTo(event: number): Promise<void>;
  finish(): Promise<void>;
}

/** A crawl that writes as many log events as it is told to, in bursts, as a crawl does. */
async function startJob(line: (i: number) => string): Promise<Running> {
  const started = Promise.withResolvers<string>();
  let allowed = 0;
  let written = 0;
  let over = false;
  served.script.crawl = async (request, job: JobContext) => {
    started.resolve(job.jobId);
    while (!over) {
      for (let i = 0; i < 50 && written < allowed; i++) job.log(line(++written));
      await nextTurn();
    }
    return crawlResult(request, job);
  };
  const crawl = fetch(`${served.url}/v2/crawler/crawl?domain_id=DEMO`);
  return {
    jobId: await started.promise,
    async writeTo(event) {
      allowed = event;
      while (written < allowed) await nextTurn();
    },
    async finish() {
      over = true;
      assert.equal((await crawl).status, 200);
    },
  };
}

function eventsFrom(file: Buffer, event: number): Buffer {
  const at = file.indexOf(`\nid: ${event}\n`);
  return file.subarray(file.lastIndexOf("event: ", at));
}

test("300 watch one running job: early, late, in the middle, slowly; each gets every event once, in order, as in the file", async () => {
  const EVENTS = 4000;
  const { jobId, writeTo, finish } = await startJob(
    (i) => `[ ${i} / ${EVENTS} ] 'Über ${i}.docx' ${"x".repeat(i % 150)}`,
  );
  const url = `${served.url}/v2/jobs/monitor?job_id=${jobId}&format=stream`;
  const many = (count: number, headers = {}): Watcher[] => Array.from({ length: count }, () => watch(url, headers));
  const attached = (watchers: readonly Watcher[]): Promise<unknown> =>
    Promise.all(watchers.map((watcher) => watcher.attached));

  const early = many(180);
  const slow = many(20);
  const leaving = many(20);
  await attached([...early, ...slow, ...leaving]);
  await writeTo(1500);
  for (const watcher of slow) watcher.stopReading();
  for (const watcher of leaving) {
    watcher.ended.catch(() => undefined);
    watcher.leave();
  }
  const late = many(50);
  const resumed = Array.from({ length: 30 }, (_, i) => ({
    after: 1 + i * 40,
    watcher: many(1, { "last-event-id": String(1 + i * 40) })[0],
  }));
  await attached([...late, ...resumed.flatMap(({ watcher }) => watcher ?? [])]);
  await writeTo(EVENTS);
  await finish();

  const file = await served.readJobFile(jobId);
  const whole = hashOf(file);
  assert.equal(file.toString().match(/^id: /gm)?.length, EVENTS + 2);
  for (const watcher of [...early, ...late]) assert.equal(await watcher.ended, whole);
  for (const { after, watcher } of resumed) {
    assert.equal(await watcher?.ended, hashOf(eventsFrom(file, after + 1)), `after ${after}`);
  }
  // They have not read since event 1500, and nobody waited for them.
  for (const watcher of slow) watcher.readOn();
  for (const watcher of slow) assert.equal(await watcher.ended, whole);
});

/** How many bytes each who follows a job was handed out, from now on. */
function countHandedOut(): readonly { bytes: number }[] {
  const counts: { bytes: number }[] = [];
  const { jobs } = served.app;
  const follow = jobs.follow.bind(jobs);
  Object.assign(jobs, {
    async *follow(...call: Parameters<typeof follow>): ReturnType<typeof follow> {
      const count = { bytes: 0 };
      counts.push(count);
      for await (const bytes of follow(...call)) {
        count.bytes += bytes.length;
        yield bytes;
      }
    },
  });
  return counts;
}

test("for a watcher that stops reading nothing is read ahead, however much the job writes, and the others go on", async () => {
  const { jobId, writeTo, finish } = await startJob((i) => `[ ${i} / 6000 ] ${String(i).repeat(1500)}`);
  const url = `${served.url}/v2/jobs/monitor?job_id=${jobId}&format=stream`;
  const handedOut = countHandedOut();
  const [quick, ...stopped] = Array.from({ length: 6 }, () => watch(url));
  assert.ok(quick);
  await Promise.all([quick, ...stopped].map((watcher) => watcher.attached));
  for (const watcher of stopped) watcher.stopReading();
  await writeTo(6000);
  await finish();
  const file = await served.readJobFile(jobId);
  assert.ok(file.length > 30_000_000);
  assert.equal(await quick.ended, hashOf(file));
  // What a connection takes by itself is the system's to say, but it is nowhere near half of this.
  const ahead = handedOut.map(({ bytes }) => bytes > file.length / 2).sort();
  assert.deepEqual(ahead, [false, false, false, false, false, true]);
  for (const watcher of stopped) watcher.readOn();
  for (const watcher of stopped) assert.equal(await watcher.ended, hashOf(file));
});
