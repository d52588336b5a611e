import { type Domain, describePlace, SOURCE_KINDS, type SourceConfig } from "../contracts/domain.ts";
import { NotFoundError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Source } from "../contracts/source.ts";
import { nowUtcMicros } from "../lib/time.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import { archiveCrawl } from "./archive-crawl.ts";
import { concludeTarget, openTarget } from "./crawl-index.ts";
import { type CrawlRequest, type CrawlResult, type SourceResult, STEPS } from "./crawl-request.ts";
import { crawlSource } from "./crawl-source.ts";
import type { EngineParts, SourceRun } from "./engine-parts.ts";
import type { IndexTarget } from "./index-target.ts";
import { findRetired, retiredSource } from "./retired-sources.ts";

/**
 * Brings a domain in step with its sources, or takes some of the steps to it:
 *
 *     source ──list──▶ detect ──plan──▶ fetch ──▶ mirror ──▶ process ──▶ extract ──▶ draft ──commit──▶ index
 *     └───────────────── download ─────────────────────┘                └──────────── embed ─────────────┘
 *
 * One source after the other, each with its own draft. A source that fails keeps what it had while the others go on.
 */
export async function crawl(request: CrawlRequest, parts: EngineParts, job: JobContext): Promise<CrawlResult> {
  const startedAt = nowUtcMicros();
  const domain = await parts.domains.get(request.domainId);
  const problems: string[] = [];
  const target = await openTarget(domain, request, parts, job, problems);
  const sources: SourceResult[] = [];
  try {
    for await (const result of crawlSources(domain, request, target, parts, job)) {
      if (result.error) problems.push(`Source '${result.source_id}': ${result.error.replace(/\.$/, "")}.`);
      sources.push(result);
    }
    if (target) await concludeTarget(domain, request, target, parts, job, problems);
  } finally {
    await target?.swap?.lease.release();
  }
  const { domainId: domain_id, mode, scope, steps } = request;
  const vector_store_id = target?.store ?? "";
  const result = { domain_id, mode, scope, steps, dry_run: job.dryRun, vector_store_id, sources, problems };
  return { ...result, report_id: await archiveCrawl(request, { ...result, startedAt }, parts, job) };
}

/** Those of the request, then, if it names none, those that are not in the domain any more. */
async function* crawlSources(
  domain: Domain,
  request: CrawlRequest,
  target: IndexTarget | undefined,
  parts: EngineParts,
  job: JobContext,
): AsyncGenerator<SourceResult> {
  const retired = (await findRetired(domain, parts.crawlerFolder)).filter((one) => isInScope(one, request));
  const run = (config: SourceConfig, others: readonly SourceConfig[]): SourceRun => {
    const sharesId = others.some(({ sourceId }) => sourceId === config.sourceId);
    return { domainId: domain.domainId, config, sharesId };
  };
  for (const config of selectSources(domain, request)) {
    await job.checkpoint();
    job.log(`Source '${config.sourceId}': ${describePlace(config)}`);
    const open = (): Source => parts.openSource(config, (line) => job.log(line));
    yield await crawlSource(run(config, retired), open, request, target, parts, job);
  }
  for (const config of request.sourceId === undefined ? retired : []) {
    await job.checkpoint();
    yield await retireSource(run(config, domain.sources), request, target, parts, job);
  }
}

/** The sources a request means. NotFoundError for one that the domain does not have. */
export function selectSources(
  domain: Domain,
  request: Pick<CrawlRequest, "sourceId" | "scope">,
): readonly SourceConfig[] {
  const inScope = domain.sources.filter((config) => isInScope(config, request));
  if (request.sourceId === undefined) return inScope;
  const found = inScope.filter(({ sourceId }) => sourceId === request.sourceId);
  if (found.length > 0) return found;
  const known = inScope.map(({ sourceId }) => `'${sourceId}'`).join(", ") || "none";
  const where = request.scope === "all" ? "" : ` in scope '${request.scope}'`;
  throw new NotFoundError(
    `Source '${request.sourceId}' does not exist in domain '${domain.domainId}'${where}. It has: ${known}.`,
  );
}

function isInScope({ sourceType }: SourceConfig, { scope }: Pick<CrawlRequest, "scope">): boolean {
  return scope === "all" || scope === SOURCE_KINDS[sourceType].scope;
}

/** A source that was taken out of the domain leaves with all it had, once nothing of it is held. */
async function retireSource(
  run: SourceRun,
  request: CrawlRequest,
  target: IndexTarget | undefined,
  parts: EngineParts,
  job: JobContext,
): Promise<SourceResult> {
  job.log(`Source '${run.config.sourceId}' is not in the domain any more: what it had is removed.`);
  const result = await crawlSource(run, () => retiredSource(run.config), request, target, parts, job);
  if (result.error) return { ...result, error: `it was taken out of the domain; ${result.error}` };
  const isGone = target?.isOwn === true && STEPS.every((step) => request.steps.includes(step));
  if (isGone && !job.dryRun) await new Mirror(parts.crawlerFolder, sourceFolder(run.domainId, run.config)).destroy();
  return result;
}
