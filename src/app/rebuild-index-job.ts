import type { DomainId } from "../contracts/ids.ts";
import type { JobContext, Result } from "../contracts/job.ts";
import { crawlRequest } from "../engine/crawl-request.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import type { App } from "./app.ts";

export interface IndexRebuild {
  readonly domainId: DomainId;
  readonly force: boolean;
  /** soft: everything is queued. blueGreen: the domain is crawled in full, which looks at all of it, and readers see it in one moment. */
  readonly mode: "soft" | "blueGreen";
}

type Parts = Pick<App, "config" | "crawl" | "checkCrawl" | "domains" | "ingest">;

/** As the job it runs in. NotFoundError when there is no such domain. */
export async function rebuildIndexJob(
  app: Parts,
  rebuild: IndexRebuild,
  options: { readonly dryRun: boolean },
): Promise<JobWork> {
  const { domainId } = rebuild;
  await app.domains.get(domainId);
  const start = { router: "ingest", action: "rebuild", object: domainId, dryRun: options.dryRun };
  return { start, work: (job) => carryOut(app, rebuild, job) };
}

async function carryOut(app: Parts, { domainId, force, mode }: IndexRebuild, job: JobContext): Promise<Result> {
  const { queued } = await app.ingest.rebuild({ domainId, force }, job);
  const counted = { domain_id: domainId, mode, ...(job.dryRun ? { would_queue: queued } : { queued }) };
  if (mode === "soft") return { ok: true, error: "", data: counted };
  // The embedded index shows a crawl in one moment anyway.
  const request = crawlRequest(domainId, { mode: "full", swap: app.config.backend.kind !== "embedded" });
  await app.checkCrawl(request);
  const crawled = await app.crawl(request, job);
  const data = { ...crawled, ...counted };
  return { ok: crawled.problems.length === 0, error: crawled.problems.join(" "), data };
}
