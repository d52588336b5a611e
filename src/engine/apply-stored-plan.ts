import { ConflictError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { StoredPlan } from "../contracts/plan.ts";
import { findCompletePlan, sayMoved } from "./approval.ts";
import { crawl } from "./crawl.ts";
import type { CrawlRequest, CrawlResult } from "./crawl-request.ts";
import { silent } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";

/**
 * Carries out what a stored plan has and what still is as planned, like a crawl that does nothing else. A strict request first compares
 * everything in a dry run, and throws ConflictError before anything is changed if something is not as planned. Each source is compared
 * again when it is its turn: one that moved in between is left alone as a whole.
 */
export async function applyStoredPlan(
  request: CrawlRequest & { readonly approvedPlan: string },
  parts: EngineParts,
  job: JobContext,
): Promise<CrawlResult> {
  const plan = await findCompletePlan(request.approvedPlan, parts.ledgers);
  if (request.strict && !job.dryRun) {
    job.log("Comparing everything with the plan, before anything is done.");
    refuseMoved(await crawl(request, parts, { ...silent(job), dryRun: true }), plan, job);
  }
  return await crawl(request, parts, job);
}

function refuseMoved({ sources, problems }: CrawlResult, plan: StoredPlan, job: JobContext): void {
  let moved = 0;
  for (const { source_id, kept_to_plan } of sources) {
    const { not_as_planned: left = [], not_as_planned_more: more = 0 } = kept_to_plan ?? {};
    for (const { step, path, reason } of left)
      job.log(`Not as planned in '${source_id}', ${step}: '${path}': ${reason}.`);
    if (more > 0) job.log(`And ${more} more in '${source_id}'.`);
    moved += left.length + more;
  }
  if (moved > 0) throw new ConflictError(sayMoved(moved));
  const failed = sources.filter(({ error }) => error !== "");
  const asBefore = failed.filter(({ source_type, source_id, error }) => {
    return plan.sources.some(
      (one) => one.sourceType === source_type && one.sourceId === source_id && one.problem === error,
    );
  });
  // Each failed source has one problem; the others are of the domain, its settings or its store.
  if (asBefore.length === failed.length && problems.length === failed.length) return;
  throw new ConflictError(`Nothing was done, as strict asks for: ${problems.join(" ")}`);
}
