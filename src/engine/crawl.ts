import { join } from "node:path";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { CancelledError, explain, NotFoundError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import type { CrawlRequest, CrawlResult, SourceResult } from "./crawl-request.ts";
import { type Downloaded, download } from "./download.ts";
import { embed } from "./embed.ts";
import type { EngineParts } from "./engine-parts.ts";
import { type IndexTarget, openIndexTarget } from "./index-target.ts";
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
  for (const config of selectSources(domain, request)) {
    await job.checkpoint();
    job.log(`Source '${config.sourceId}': ${config.siteUrl}${config.urlPart}`);
    const result = await crawlSource(domain, config, request, target, parts, job);
    if (result.error) problems.push(`Source '${config.sourceId}': ${result.error}.`);
    sources.push(result);
  }
  const { domainId: domain_id, mode, scope } = request;
  return { domain_id, mode, scope, dry_run: job.dryRun, vector_store_id: target?.store ?? "", sources, problems };
}

/** The sources a request means. NotFoundError for a source that is not there, in the domain or in the scope. */
export function selectSources(domain: Domain, request: Pick<CrawlRequest, "sourceId">): readonly SourceConfig[] {
  if (request.sourceId === undefined) return domain.sources;
  const found = domain.sources.filter(({ sourceId }) => sourceId === request.sourceId);
  if (found.length > 0) return found;
  const known = domain.sources.map(({ sourceId }) => `'${sourceId}'`).join(", ") || "none";
  throw new NotFoundError(
    `Source '${request.sourceId}' does not exist in domain '${domain.domainId}'. It has: ${known}.`,
  );
}

async function crawlSource(
  domain: Domain,
  config: SourceConfig,
  request: CrawlRequest,
  target: IndexTarget | undefined,
  parts: EngineParts,
  job: JobContext,
): Promise<SourceResult> {
  const run = { domainId: domain.domainId, config };
  const mirror = new Mirror(parts.crawlerFolder, sourceFolder(domain.domainId, config));
  const blank = { source_id: config.sourceId, source_type: config.sourceType, embed: noCounts() };
  let downloaded: Downloaded;
  try {
    downloaded = await withLedger(run, "download", parts, job, async (ledger) => {
      const source = parts.openSource(config, job.log);
      return await download(run, request, { source, ledger, mirror }, parts, job);
    });
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    job.log(`ERROR: source '${config.sourceId}' is skipped: ${explain(error)}`);
    return { ...blank, complete: false, error: explain(error), download: noCounts() };
  }
  const complete = downloaded.completeness === "complete";
  const sofar = { ...blank, complete, download: downloaded.counts };
  if (!target) return { ...sofar, error: downloaded.problems.join("; ") };
  try {
    const embedded = await withLedger(run, "embed", parts, job, (ledger) => {
      const metadataPath = join(parts.domainsFolder, domain.domainId, "files_metadata.json");
      return embed(run, { ...request, sawAll: complete }, { ledger, mirror, ...target, metadataPath }, job);
    });
    return { ...sofar, embed: embedded.counts, error: [...downloaded.problems, ...embedded.problems].join("; ") };
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    job.log(`ERROR: embedding of source '${config.sourceId}' failed: ${explain(error)}`);
    return { ...sofar, error: [...downloaded.problems, explain(error)].join("; ") };
  }
}
