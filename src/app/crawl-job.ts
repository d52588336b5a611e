import { type CrawlRequest, STEPS } from "../engine/crawl-request.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import type { App } from "./app.ts";

/** A crawl, or one step of it, as the job it runs in: how its file is called, and what its end says. It is ok when nothing was a problem. */
export function crawlJob(
  app: Pick<App, "crawl">,
  request: CrawlRequest,
  options: { readonly dryRun: boolean },
): JobWork {
  return {
    start: { router: "crawler", action: actionOf(request), object: request.domainId, dryRun: options.dryRun },
    async work(job) {
      const result = await app.crawl(request, job);
      return { ok: result.problems.length === 0, error: result.problems.join(" "), data: result };
    },
  };
}

/** As the endpoints are called: `crawl`, `download_data`. */
function actionOf({ steps }: CrawlRequest): string {
  return steps.length === STEPS.length ? "crawl" : `${steps.join("_")}_data`;
}
