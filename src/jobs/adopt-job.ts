import { join } from "node:path";
import type { JobId } from "../contracts/ids.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { findJob } from "./find-job.ts";
import { encodeLog } from "./job-events.ts";
import { type JobFile, reopenJobFile } from "./job-file.ts";
import type { ReadJob } from "./read-job-file.ts";
import { JOBS_LOCK } from "./request-control.ts";

/** What makes a job of another process one of this process. */
export interface Adoption {
  /** The line that says who goes on with it. */
  readonly line: string;
  /** Asked before the end is written: false, or a failure to tell, leaves the end to whoever has the job now. */
  readonly stillMine: () => Promise<boolean>;
  /** Aborts when somebody else has the job. */
  readonly lost: AbortSignal;
}

export interface AdoptedJob {
  readonly file: JobFile;
  readonly job: ReadJob;
}

/**
 * Takes on a job that was left for others or whose process ended; that no process has it any more is for the caller to
 * know. undefined: it is over. NotFoundError when there is none.
 */
export function adoptJobFile(
  jobsFolder: string,
  jobId: JobId,
  line: string,
  onTrouble: (error: unknown) => void,
): Promise<AdoptedJob | undefined> {
  return withFileLock(join(jobsFolder, JOBS_LOCK), async () => {
    const job = await findJob(jobsFolder, jobId);
    if (job.record.endedAt !== "") return undefined;
    const file = await reopenJobFile(job.file, onTrouble);
    file.append(encodeLog(file.nextEventId(), line));
    // Once this is written the job does not wait any more, and cancelling it means to ask.
    await file.settle();
    return { file, job };
  });
}
