import type { DomainId, JobId } from "../contracts/ids.ts";
import type { JobStore } from "../jobs/job-store.ts";

/** Routers whose jobs write into the folders of the domain that they are named after. */
const ROUTERS = ["crawler", "domains", "ingest", "maintenance"];

/** Its jobs that name no domain write into those of all. */
const OF_ALL_DOMAINS = "maintenance";

/**
 * A job that works on the domain, or waits to. One whose process is gone does not count. `besides` is for whoever wants to crawl: jobs
 * of this action do not count, because to watch a domain goes on for ever, nor those of all domains; both take turns with crawls.
 */
export function busyWith(
  jobs: JobStore,
  { besides }: { readonly besides?: string } = {},
): (domainId: DomainId, except?: JobId) => Promise<JobId | undefined> {
  return async (domainId, except) => {
    const places = ROUTERS.map((router) => ({ router, object: domainId as string }));
    if (besides === undefined) places.push({ router: OF_ALL_DOMAINS, object: "" });
    for (const place of places) {
      const [active] = await jobs.list({
        ...place,
        state: "active",
        matching: (job) => !job.stalled && !job.dryRun && job.jobId !== except && job.action !== besides,
        limit: 1,
      });
      if (active) return active.jobId;
    }
    return undefined;
  };
}
