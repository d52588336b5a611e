import { NotFoundError } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import { CANCELLED_BY_USER } from "../jobs/job-run.ts";
import type { JobStore } from "../jobs/job-store.ts";

/** Whether a job ended before its work did although nobody wished it: its process was killed, or the server stopped. */
export function wasCutOff(jobs: JobStore): (jobId: JobId) => Promise<boolean> {
  return async (jobId) => {
    try {
      const { state, result } = await jobs.get(jobId);
      return state === "cancelled" && result?.error !== CANCELLED_BY_USER;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  };
}
