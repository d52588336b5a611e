import type { SourceConfig } from "../../contracts/domain.ts";
import { CancelledError, explain } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { Index } from "../../contracts/search-index.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import { plural } from "../../lib/text.ts";
import { sourceFolder } from "../../mirror/layout.ts";
import { Mirror } from "../../mirror/mirror.ts";
import { documentOf } from "../commit-plan.ts";
import { crawl } from "../crawl.ts";
import { type CrawlRequest, crawlRequest } from "../crawl-request.ts";
import type { EngineParts } from "../engine-parts.ts";
import { withLedger } from "../with-ledger.ts";
import type { Difference, VerifyRequest } from "./verification.ts";
import { countDifferences, type VerifyParts, type VerifyResult, verifyDomain } from "./verify-domain.ts";

/**
 * Verifies; where something differs or is behind, makes damaged documents of the index anew, crawls the sources whose ledger or labels
 * are wrong in full, then the domain with every file read, and verifies again. The certificate is that of the second verification; its `previous` is that of the first. Removals are guarded as in any crawl.
 */
export async function repairDomain(request: VerifyRequest, parts: VerifyParts, job: JobContext): Promise<VerifyResult> {
  const { result, damaged } = await verifyDomain(request, parts, job);
  if (result.certificate.statement.verdict === "agrees") return result;
  const crawlAgain = async (wishes: Partial<CrawlRequest>): Promise<void> => {
    const { problems } = await crawl(crawlRequest(request.domainId, wishes), parts, job);
    for (const problem of problems) job.log(`WARNING: ${problem}`);
  };
  const domain = await parts.domains.get(request.domainId);
  const index = domain.vectorStoreId
    ? await parts.backend.openIndex(domain.vectorStoreId, domain.domainId, job.signal)
    : undefined;
  for (const [config, items] of index ? damaged : []) {
    await remake({ domainId: domain.domainId, config, items }, index as Index, parts, job);
  }
  for (const { source_id, source_type, differences } of result.certificate.statement.sources) {
    const { scope } = parts.domains.kinds.find(source_type) ?? {};
    // What an incremental crawl takes for unchanged it leaves as it is, also where the ledger or a label is wrong.
    if (scope === undefined || !differences.some(isOutsideBodies)) continue;
    const config = domain.sources.find(
      ({ sourceId, sourceType }) => sourceId === source_id && sourceType === source_type,
    );
    if (config) await forgetListed({ domainId: domain.domainId, config }, differences, parts, job);
    await crawlAgain({ mode: "full", scope, sourceId: source_id });
  }
  await crawlAgain({ checksum: true, retryFailed: true });
  const after = (await verifyDomain(request, parts, job)).result;
  job.log(`Repaired: ${plural(countDifferences(result), "difference")} before, ${countDifferences(after)} now.`);
  return after;
}

/** Clears a field of these ledger entries, so that the next crawl writes them again instead of finding them unchanged. */
async function forgetListed(
  run: SourceRun,
  differences: readonly Difference[],
  parts: EngineParts,
  job: JobContext,
): Promise<void> {
  const items = differences.flatMap(({ layer, item_id }) => (layer === "ledger" ? [item_id as ItemId] : []));
  if (items.length === 0) return;
  await withLedger(run, { step: "download" }, parts, job, async ({ ledger }) => {
    for (const itemId of items) {
      const seen = (await ledger.get(itemId))?.seen;
      if (seen) ledger.put(itemId, { seen: { ...seen, rawUrl: "" } });
    }
  });
}

function isOutsideBodies({ layer, part }: Difference): boolean {
  return (
    layer === "ledger" || (layer === "index" && (part === "label" || part === "attributes" || part === "document"))
  );
}

/** Rebuilds these documents in the index without reusing stored parts. */
async function remake(
  {
    domainId,
    config,
    items,
  }: { readonly domainId: DomainId; readonly config: SourceConfig; readonly items: readonly ItemId[] },
  index: Index,
  parts: EngineParts,
  job: JobContext,
): Promise<void> {
  const run = { domainId, config };
  const mirror = new Mirror(parts.crawlerFolder, sourceFolder(domainId, config));
  job.log(`Source '${config.sourceId}': making ${plural(items.length, "damaged document")} anew.`);
  await withLedger(run, { step: "embed" }, parts, job, async ({ ledger, job: held }) => {
    const draft = await index.draft(config.sourceId, `repair ${job.jobId}`);
    try {
      for (const itemId of items) {
        await held.checkpoint();
        const entry = await ledger.get(itemId);
        if (!entry?.mirrored?.file) continue;
        await draft.put({ ...documentOf(run, entry, mirror), isAnew: true }, held.signal);
      }
      const { failed } = await draft.commit(held.signal);
      for (const { itemId, reason } of failed) job.log(`ERROR: item '${itemId}' could not be made anew: ${reason}`);
    } catch (error) {
      await draft.discard();
      if (error instanceof CancelledError || job.signal.aborted) throw error;
      job.log(`ERROR: source '${config.sourceId}': damaged documents could not be made anew: ${explain(error)}`);
    }
  });
}
