import type { DomainRename } from "../domains/domain-rename.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import type { App } from "./app.ts";

/** A rename as the job it runs in, named after what the domain was called when it began. */
export function renameJob(
  app: Pick<App, "renameDomain">,
  rename: DomainRename,
  options: { readonly dryRun: boolean },
): JobWork {
  return {
    start: { router: "domains", action: "rename", object: rename.from, dryRun: options.dryRun },
    async work(job) {
      const { domain, changes } = await app.renameDomain(rename, job);
      return { ok: true, error: "", data: { domain_id: domain.domainId, changes } };
    },
  };
}
