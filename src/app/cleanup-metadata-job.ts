import type { DomainId } from "../contracts/ids.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import type { App } from "./app.ts";

/** The cleanup as the job it runs in; it may have to wait for a crawl. NotFoundError when there is no such domain. */
export async function cleanupMetadataJob(
  app: Pick<App, "cleanupMetadata" | "domains">,
  domainId: DomainId,
  options: { readonly dryRun: boolean },
): Promise<JobWork> {
  await app.domains.get(domainId);
  return {
    start: { router: "crawler", action: "cleanup_metadata", object: domainId, dryRun: options.dryRun },
    async work(job) {
      const { problem, ...data } = await app.cleanupMetadata(domainId, job);
      return { ok: problem === "", error: problem, data };
    },
  };
}
