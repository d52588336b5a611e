import type { DomainId, JobId } from "../contracts/ids.ts";
import type { JobStore } from "../jobs/job-store.ts";

/** Routers whose jobs write into the folders of the domain in their `object`. */
const ROUTERS = ["crawler", "domains", "ingest", "maintenance"];

/** A maintenance job without a domain writes into the folders of all domains. */
const OF_ALL_DOMAINS = "maintenance";

/**
 * Returns a job that works on the domain, or waits to. Jobs whose process is gone do not count. Callers that want to crawl pass `besides`:
 * jobs of this action (watching never ends) and jobs of all domains then do not count, because both alternate with crawls.
 */
export function busyWith(
  jobs: JobStore,
  { besides }: { readonly besides?: string } = {},
): (domainId: DomainId, except?: JobId) => Promise<JobId | undefined> {
  return async (domainId, except) => {
    const filters = ROUTERS.map((router) => ({ router, object: domainId as string }));
    if (besides === undefined) filters.push({ router: OF_ALL_DOMAINS, object: "" });
    for (const filter of filters) {
      const [active] = await jobs.list({
        ...filter,
        state: "active",
        matching: (job) => !job.stalled && !job.dryRun && job.jobId !== except && job.action !== besides,
        limit: 1,
      });
      if (active) return active.jobId;
    }
    return undefined;
  };
}
