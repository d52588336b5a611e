import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { JobId } from "../contracts/ids.ts";
import type { ControlAction } from "../contracts/job.ts";
import { sleep } from "../lib/time.ts";
import { requestsFor } from "./find-job-files.ts";
import type { JobRun } from "./job-run.ts";

export interface RequestWatch {
  /** Watches as long as there are jobs. */
  start(): void;
  /** Ends the wait between two looks, for a process that wants to exit. */
  wake(): void;
}

/**
 * Looks for control files of all jobs of this process, and gives their files a sign of life. It reads each folder
 * once a round: system notifications do not reach across network disks, and one listing costs less than a watcher.
 */
export function createRequestWatch(
  jobs: ReadonlyMap<JobId, JobRun>,
  timing: { readonly pollMs: number; readonly heartbeatMs: number },
): RequestWatch {
  let watching = false;
  let waiting = new AbortController();
  let touchedAt = performance.now();

  async function watch(): Promise<void> {
    while (jobs.size > 0) {
      waiting = new AbortController();
      await sleep(timing.pollMs, waiting.signal);
      for (const [folder, group] of groupByFolder(jobs)) await look(folder, group);
      if (performance.now() - touchedAt < timing.heartbeatMs) continue;
      touchedAt = performance.now();
      // A missed sign of life is made up for by the next one.
      await Promise.allSettled([...jobs.values()].map((run) => run.file.touch()));
    }
  }
  function start(): void {
    if (watching) return;
    watching = true;
    touchedAt = performance.now();
    void watch().finally(() => {
      watching = false;
      if (jobs.size > 0) start();
    });
  }
  return { start, wake: () => waiting.abort() };
}

/** Deletes the requests for a job and tells the one that counts: cancel before pause before resume. */
export async function takeRequests(
  folder: string,
  jobId: JobId,
  names: readonly string[],
): Promise<ControlAction | undefined> {
  const requests = requestsFor(jobId, names);
  for (const { name } of requests) await rm(join(folder, name), { force: true });
  const asked = new Set(requests.map(({ request }) => request));
  return (["cancel", "pause", "resume"] as const).find((action) => asked.has(`${action}_requested`));
}

async function look(folder: string, group: readonly (readonly [JobId, JobRun])[]): Promise<void> {
  try {
    const names = await readdir(folder);
    for (const [jobId, run] of group) {
      const action = await takeRequests(folder, jobId, names);
      if (action) run.request(action);
      if (!names.includes(basename(run.file.path)) && !(await run.file.isMine())) {
        run.fail(new Error("The job was ended by another process."));
      }
    }
  } catch {
    // A folder that cannot be read now is read again in the next round; the work itself is not concerned.
  }
}

function groupByFolder(jobs: ReadonlyMap<JobId, JobRun>): Map<string, (readonly [JobId, JobRun])[]> {
  const groups = new Map<string, (readonly [JobId, JobRun])[]>();
  for (const job of jobs) {
    const folder = dirname(job[1].file.path);
    const group = groups.get(folder);
    if (group) group.push(job);
    else groups.set(folder, [job]);
  }
  return groups;
}
