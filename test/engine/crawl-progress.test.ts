// A crawl says in its events which step of which source runs, how far it is, and which steps failed.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, test } from "node:test";
import type { SourceId } from "../../src/contracts/ids.ts";
import type { JobProgress, JobRecord } from "../../src/contracts/job.ts";
import { findJobFiles } from "../../src/jobs/job-file.ts";
import { parseSseEvents } from "../../src/lib/sse.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";

let stage: FolderStage;
beforeEach(async () => {
  stage = await FolderStage.open();
  const domain = await stage.app.domains.get(FOLDERS);
  const sources = ["first", "gone", "last"].map((name) => {
    return { ...stage.config, sourceId: name as SourceId, root: stage.at(name) };
  });
  await stage.app.domains.update({ ...domain, sources }, domain);
  for (const path of ["first/a.md", "first/b.md", "last/a.md"]) await stage.write(path, `The heron of ${path}.`);
});
afterEach(() => stage.close());

async function eventsOf({ jobId }: JobRecord) {
  const files = await findJobFiles(`${stage.storage}/jobs`);
  const file = files.find((one) => one.jobId === jobId);
  return parseSseEvents(await readFile(file?.path ?? "", "utf8"));
}

test("each log event names source and step; the steps of a source that fails, fail, and the others are counted", async () => {
  const { job } = await stage.tryCrawl();
  const events = await eventsOf(job);
  const names = events.map(({ event }) => event);
  assert.deepEqual(names, ["start_json", ...names.slice(2).map(() => "log"), "end_json"], "nothing else is allowed");
  const said = events.flatMap(({ comment }) => (comment ? [JSON.parse(comment) as JobProgress] : []));
  const steps = said.map(({ source, sources: { at, of }, step, failed }) => {
    return `${at}/${of} ${source} ${step}${failed.length > 0 ? `, failed: ${failed.join()}` : ""}`;
  });
  assert.deepEqual(
    steps.filter((step, at) => step !== steps[at - 1]),
    [
      "1/3 first download",
      "1/3 first process",
      "1/3 first embed",
      "2/3 gone download",
      "2/3 gone download, failed: download",
      "3/3 last download, failed: download",
      "3/3 last process, failed: download",
      "3/3 last embed, failed: download",
    ],
  );
  const lastOf = (source: string, step: string) =>
    said.findLast((one) => one.source === source && one.step === step)?.items;
  assert.deepEqual(
    [lastOf("first", "embed"), lastOf("last", "embed")],
    [
      { at: 2, of: 2 },
      { at: 1, of: 1 },
    ],
  );
  const uncounted = said.filter(
    ({ source, step, items }) => source === "last" && step === "download" && items?.of !== 1,
  );
  assert.ok(uncounted.length > 0 && uncounted.every(({ items }) => items === undefined), "the count starts again");
  const { progress } = await stage.app.jobs.get(job.jobId);
  assert.deepEqual(progress, said.at(-1));
  assert.deepEqual(job.progress, progress);
});

test("progress is the same for a reader while the job runs, and null in the files of other jobs", async () => {
  const { promise: release, resolve } = Promise.withResolvers<void>();
  const { jobId, done } = await stage.app.runner.start(
    { router: "crawler", action: "crawl", object: FOLDERS, endpoint: "test", dryRun: false },
    async (job) => {
      job.log("Before anything is said.");
      job.progress?.({ source: "first", sources: { at: 1, of: 2 }, step: "download" });
      job.log("[ 1 / 4 ] Downloaded 'a.md'.");
      job.log("WARNING: this one counts nothing.");
      await release;
      return { ok: true, error: "", data: {} };
    },
  );
  for await (const bytes of stage.app.jobs.follow(jobId, { signal: AbortSignal.timeout(600_000) })) {
    if (!Buffer.from(bytes).includes("counts nothing")) continue;
    const { progress } = await stage.app.jobs.get(jobId);
    const expected = {
      step: "download",
      source: "first",
      sources: { at: 1, of: 2 },
      items: { at: 1, of: 4 },
      failed: [],
    };
    assert.deepEqual(progress, expected);
    resolve();
  }
  await done;
  const { job } = await stage.maintain();
  assert.equal(job.progress, undefined);
  assert.ok((await eventsOf(job)).every(({ comment }) => comment === undefined));
});
