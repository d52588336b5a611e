import type { MaintenanceRequest } from "../engine/maintain/maintain.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import type { App } from "./app.ts";

/** Maintenance as the job it runs in; it may have to wait for crawls. NotFoundError when there is no such domain. */
export async function maintenanceJob(
  app: Pick<App, "maintain" | "domains">,
  request: MaintenanceRequest,
  { dryRun }: { readonly dryRun: boolean },
): Promise<JobWork> {
  if (request.domainId !== undefined) await app.domains.get(request.domainId);
  return {
    start: { router: "maintenance", action: "maintenance", object: request.domainId ?? "", dryRun },
    async work(job) {
      const data = await app.maintain(request, job);
      return { ok: data.problems.length === 0, error: data.problems.join(" "), data };
    },
  };
}
