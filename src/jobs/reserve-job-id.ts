import { join, resolve } from "node:path";
import type { JobId } from "../contracts/ids.ts";
import { claimNumber, highestClaim } from "../lib/numbered-claim.ts";
import { createOneAtATime } from "../lib/one-at-a-time.ts";
import { findJobFiles } from "./find-job-files.ts";
import { jobNumber } from "./job-file-name.ts";

/** Enough for as many processes to start a job at the same moment without one being turned away. */
const KEPT_CLAIMS = 20;

const oneAtATime = createOneAtATime();

/**
 * The next job id, unique among all processes and router folders. The claims under `.lockstep/job-ids` decide; the
 * names of the job files count as well, so losing that folder cannot bring an id back that a kept job has. Within a
 * process one asks after the other: they would only get in each other's way.
 */
export function reserveJobId(jobsFolder: string): Promise<JobId> {
  return oneAtATime(resolve(jobsFolder), () => claimNextId(jobsFolder));
}

async function claimNextId(jobsFolder: string): Promise<JobId> {
  const claims = join(jobsFolder, ".lockstep", "job-ids");
  const files = await findJobFiles(jobsFolder);
  const highestFile = files.reduce((highest, file) => Math.max(highest, jobNumber(file.jobId)), 0);
  for (;;) {
    const number = Math.max((await highestClaim(claims))?.number ?? 0, highestFile) + 1;
    if (await claimNumber(claims, number, { content: "", kept: KEPT_CLAIMS })) return `jb_${number}` as JobId;
  }
}
