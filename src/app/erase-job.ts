import type { EraseRequest } from "../engine/erase/erase.ts";
import { checkWanted } from "../engine/erase/find-items.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import type { App } from "./app.ts";

/** Erasing as the job it runs in. Its file must not name the document, so it has no address of the request but this. */
export async function eraseJob(
  app: Pick<App, "erase" | "domains">,
  request: EraseRequest,
  { dryRun }: { readonly dryRun: boolean },
): Promise<JobWork> {
  checkWanted(request);
  const { domainId } = request;
  await app.domains.get(domainId);
  return {
    start: {
      router: "crawler",
      action: "erase",
      object: domainId,
      dryRun,
      // What was asked names the document; so may the text of a search, which a dry run only looks for.
      endpoint: `erase ${domainId}`,
    },
    async work(job) {
      const data = await app.erase(request, job);
      return { ok: true, error: "", data };
    },
  };
}
