import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { JobId } from "../../src/contracts/ids.ts";
import type { JobContext, Result } from "../../src/contracts/job.ts";
import { createJobRunner, type JobRunner, type JobStart } from "../../src/jobs/job-runner.ts";
import { createJobStore, type JobStore } from "../../src/jobs/job-store.ts";
import { parseSseEvents, type SseEvent } from "../../src/lib/sse.ts";

export const CRAWL: JobStart = {
  router: "crawler",
  action: "crawl",
  object: "DEMO",
  endpoint: "/v2/crawler/crawl?domain_id=DEMO&format=stream",
  dryRun: false,
};

export const FINE: Result = { ok: true, error: "", data: { added: 3 } };

export interface Jobs {
  readonly folder: string;
  readonly store: JobStore;
  readonly runner: JobRunner;
  /** Name and content of the one file of the job. */
  file(id: JobId): Promise<{ readonly name: string; readonly path: string; readonly bytes: Buffer }>;
  names(): Promise<string[]>;
}

export async function openJobs(t: TestContext, timing: { stopGraceMs?: number } = {}): Promise<Jobs> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-jobs-"));
  const runner = createJobRunner({ jobsFolder: folder, controlPollMs: 10, ...timing });
  t.after(async () => {
    await runner.stop("Test over.");
    await rm(folder, { recursive: true, force: true });
  });
  const names = async (): Promise<string[]> => (await readdir(join(folder, "crawler"))).sort();
  return {
    folder,
    store: createJobStore(folder),
    runner,
    names,
    async file(id) {
      const found = (await names()).filter((name) => name.includes(`[${id}]`) && !name.endsWith("_requested"));
      assert.equal(found.length, 1, `files of ${id}: ${found.join(", ")}`);
      const path = join(folder, "crawler", found[0] ?? "");
      return { name: found[0] ?? "", path, bytes: await readFile(path) };
    },
  };
}

/** Ends when the job has logged the line: how tests wait for a job to get somewhere. */
export async function untilLogged(store: JobStore, id: JobId, line: string): Promise<void> {
  let seen = "";
  for await (const bytes of store.follow(id, { signal: AbortSignal.timeout(600_000) })) {
    seen += Buffer.from(bytes).toString();
    if (parseSseEvents(seen).some(({ event, data }) => event === "log" && data === line)) return;
  }
  assert.fail(`${id} never logged '${line}': ${seen}`);
}

export async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export function eventsOf(bytes: Buffer): SseEvent[] {
  return parseSseEvents(bytes.toString());
}

/** Work that goes through checkpoints until it is cancelled or paused for good. */
export async function endlessWork(job: JobContext): Promise<Result> {
  job.log("Working.");
  for (;;) {
    await job.checkpoint();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Work that ends when the test says so, and heeds neither pause nor cancel. */
export function heldWork(): {
  readonly work: (job: JobContext) => Promise<Result>;
  readonly started: Promise<JobContext>;
  readonly release: (result: Result) => void;
} {
  const [started, ended] = [Promise.withResolvers<JobContext>(), Promise.withResolvers<Result>()];
  return {
    started: started.promise,
    release: ended.resolve,
    work: (job) => {
      job.log("Working.");
      started.resolve(job);
      return ended.promise;
    },
  };
}

export function startChild(t: TestContext, args: string[]): ChildProcess {
  const child = fork(join(import.meta.dirname, "job-child.ts"), args);
  t.after(() => child.kill("SIGKILL"));
  return child;
}
