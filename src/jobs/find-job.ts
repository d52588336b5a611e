import { NotFoundError } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import { sleep } from "../lib/time.ts";
import { findJobFiles } from "./find-job-files.ts";
import { isJobState } from "./job-file-name.ts";
import { type ReadJob, readJobFile } from "./read-job-file.ts";

/** NotFoundError when there is none. */
export function findJob(jobsFolder: string, id: JobId): Promise<ReadJob> {
  return retryRenamed(async () => {
    const files = await findJobFiles(jobsFolder);
    const file = files.find((candidate) => candidate.jobId === id && isJobState(candidate.extension));
    return file && readJobFile(file);
  }, id);
}

/** A listing may miss a file that is renamed while it is read, so "not there" is believed only the third time. */
export async function retryRenamed<T>(attempt: () => Promise<T | undefined>, id: JobId): Promise<T> {
  for (let tries = 1; tries <= 3; tries++) {
    const found = await attempt();
    if (found !== undefined) return found;
    await sleep(10);
  }
  throw new NotFoundError(`Job '${id}' does not exist.`);
}
