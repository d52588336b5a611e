import { join } from "node:path";
import { type Domain, describePlace, SOURCE_KINDS, type SourceConfig } from "../contracts/domain.ts";
import { CancelledError, explain, NotFoundError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Source } from "../contracts/source.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import type { CrawlRequest, CrawlResult, SourceResult } from "./crawl-request.ts";
import { download } from "./download.ts";
import { embed } from "./embed.ts";
import type { EngineParts, SourceRun } from "./engine-parts.ts";
import { type IndexTarget, openIndexTarget } from "./index-target.ts";
import { findRetired, retiredSource } from "./retired-sources.ts";
import { noCounts } from "./tally.ts";
import { withLedger } from "./with-ledger.ts";

/**
 * Brings a domain in step with its sources:
 *
 *     source ──list──▶ detect ──plan──▶ fetch ──▶ mirror ──▶ extract ──▶ draft ──commit──▶ index
 *
 * One source after the other, each with its own draft. A source that fails keeps what it had while the others go on.
 */
export async function crawl(request: CrawlRequest, parts: EngineParts, job: JobContext): Promise<CrawlResult> {
  const domain = await parts.domains.get(request.domainId);
  const problems: string[] = [];
  const target = await openIndexTarget(domain, parts, job, problems);
  const sources: SourceResult[] = [];
  const add = (result: SourceResult): void => {
    if (result.error) problems.push(`Source '${result.source_id}': ${result.error.replace(/\.$/, "")}.`);
    sources.push(result);
  };
  for (const config of selectSources(domain, request)) {
    await job.checkpoint();
    job.log(`Source '${config.sourceId}': ${describePlace(config)}`);
    const open = (): Source => parts.openSource(config, (line) => job.log(line));
    add(await crawlSource({ domainId: domain.domainId, config }, open, request, target, parts, job));
  }
  if (request.sourceId === undefined) {
    for (const config of await findRetired(domain, parts.crawlerFolder)) {
      await job.checkpoint();
      add(await retireSource({ domainId: domain.domainId, config }, request, target, parts, job));
    }
  }
  const { domainId: domain_id, mode, scope, steps } = request;
  const vector_store_id = target?.store ?? "";
  return { domain_id, mode, scope, steps, dry_run: job.dryRun, vector_store_id, sources, problems, report_id: "" };
}

/** The sources a request means. NotFoundError for one that the domain does not have. */
export function selectSources(
  domain: Domain,
  request: Pick<CrawlRequest, "sourceId" | "scope">,
): readonly SourceConfig[] {
  const inScope = domain.sources.filter(
    ({ sourceType }) => request.scope === "all" || request.scope === SOURCE_KINDS[sourceType].scope,
  );
  if (request.sourceId === undefined) return inScope;
  const found = inScope.filter(({ sourceId }) => sourceId === request.sourceId);
  if (found.length > 0) return found;
  const known = inScope.map(({ sourceId }) => `'${sourceId}'`).join(", ") || "none";
  throw new NotFoundError(
    `Source '${request.sourceId}' does not exist in domain '${domain.domainId}'. It has: ${known}.`,
  );
}

async function crawlSource(
  run: SourceRun,
  openSource: () => Source,
  request: CrawlRequest,
  target: IndexTarget | undefined,
  parts: EngineParts,
  job: JobContext,
): Promise<SourceResult> {
  const { sourceId: source_id, sourceType: source_type } = run.config;
  const mirror = new Mirror(parts.crawlerFolder, sourceFolder(run.domainId, run.config));
  const result = {
    source_id,
    source_type,
    complete: false,
    download: noCounts(),
    process: noCounts(),
    embed: noCounts(),
  };
  const problems: string[] = [];
  try {
    const source = openSource();
    const downloaded = await withLedger(run, "download", parts, job, (ledger, guarded) =>
      download(run, request, { source, ledger, mirror }, parts, guarded),
    );
    result.complete = downloaded.look.complete;
    result.download = downloaded.counts;
    problems.push(...downloaded.problems);
    if (target) {
      const metadataPath = join(parts.domainsFolder, run.domainId, "files_metadata.json");
      const embedded = await withLedger(run, "embed", parts, job, async (opening, guarded) => {
        const tools = { ledger: await opening, mirror, ...target, metadataPath };
        return await embed({ run, request, look: downloaded.look, tools, job: guarded });
      });
      result.embed = embedded.counts;
      problems.push(...embedded.problems);
    } else if (job.dryRun) {
      result.embed.added = downloaded.counts.added;
    }
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    job.log(`ERROR: source '${source_id}' could not be finished: ${explain(error)}`);
    problems.push(explain(error));
  }
  return { ...result, error: problems.join("; ") };
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
  if (target && !job.dryRun) await new Mirror(parts.crawlerFolder, sourceFolder(run.domainId, run.config)).destroy();
  return result;
}
