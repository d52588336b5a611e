import type { DomainId, JobId } from "../contracts/ids.ts";
import type { JobStore } from "../jobs/job-store.ts";

/** Routers whose jobs write into the folders of the domain that they are named after. */
const ROUTERS = ["crawler", "domains", "ingest"];

/** A job that works on the domain, or waits to. One whose process is gone does not count. */
export function busyWith(jobs: JobStore): (domainId: DomainId, except?: JobId) => Promise<JobId | undefined> {
  return async (domainId, except) => {
    for (const router of ROUTERS) {
      const [active] = await jobs.list({
        router,
        object: domainId,
        state: "active",
        matching: (job) => !job.stalled && !job.dryRun && job.jobId !== except,
        limit: 1,
      });
      if (active) return active.jobId;
    }
    return undefined;
  };
}
