import { CancelledError, explain } from "../contracts/errors.ts";
import type { Lease } from "../contracts/lease.ts";
import type { HeldDraft } from "../contracts/search-index.ts";
import { isInScope } from "./check-crawl.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { IndexTarget } from "./index-target.ts";
import { countAsked } from "./questions.ts";
import type { DomainCrawl } from "./run-context.ts";
import { leaseUnlessHeld, waitForLease } from "./with-ledger.ts";

/** Held by a crawl as long as it may write to its draft: other crawls leave that alone. */
function draftLease(generationId: string): string {
  return `draft/${generationId}`;
}

/**
 * Opens the draft that all sources of a crawl fill. Nothing if each source is to become visible when it is in: in the first crawl of a
 * domain, on request, in a new store that nobody reads yet, and where commits are gradual.
 */
export async function openTogether(
  { index, swap, crawl: name = "" }: IndexTarget,
  { domain, request, job }: Omit<DomainCrawl, "target">,
  parts: EngineParts,
): Promise<{ readonly together?: NonNullable<IndexTarget["together"]>; readonly lease?: Lease }> {
  if (swap) return {};
  const questions = await countAsked(domain.domainId, parts);
  if (index.commits === "gradual") {
    if (questions > 0)
      job.log(
        "The questions of the domain are not asked: its vector store is at a service, where changes are visible as they are made.",
      );
    return {};
  }
  if (!index.crawlDrafts) {
    if (Number.isFinite(questions) && questions > 0)
      job.log(`${questions} questions are asked before anything new is visible; a dry run has nothing to ask them of.`);
    return {};
  }
  // If the store cannot be read, each source says so when it comes to it.
  const held = await index.sources().catch(() => undefined);
  if (!held) return {};
  const isFirst = held.size === 0;
  const isAsked = !isFirst && questions > 0;
  if (isAsked && request.visibility === "source") {
    job.log(
      "visibility=source does not apply: the domain has questions, which are asked before anything new is visible.",
    );
  }
  if (isFirst || (request.visibility === "source" && !isAsked)) {
    const why = isFirst ? "The first crawl" : "visibility=source";
    if (domain.sources.length > 1) job.log(`${why}: each source becomes visible when it is in.`);
    return {};
  }
  const together = await index.crawlDrafts.open(name);
  return { together, lease: await waitForLease(parts, domain.domainId, draftLease(together.generationId), job) };
}

/**
 * Deletes drafts of crawls that were killed or cancelled, and what an earlier crawl held: it is in this crawl, or gone. Only when a crawl
 * of all sources is done: it has reused their texts and vectors by then.
 */
export async function sweepDeadDrafts(
  { index, together }: IndexTarget,
  heldDraft: HeldDraft | undefined,
  { domain, request, job }: Pick<DomainCrawl, "domain" | "request" | "job">,
  parts: EngineParts,
): Promise<void> {
  const isOfAll = domain.sources.every((config) => isInScope(config, request));
  const isWhole = isOfAll && request.sourceId === undefined && !request.gathered;
  if (!index.crawlDrafts || !isWhole || request.approvedPlan !== undefined) return;
  const dead: string[] = [];
  const leases: Lease[] = [];
  try {
    for (const id of await index.crawlDrafts.listOpen()) {
      const isOwn = id === together?.generationId || id === heldDraft?.generationId;
      const lease = isOwn ? undefined : await leaseUnlessHeld(parts, domain.domainId, draftLease(id), job);
      if (!lease) continue;
      leases.push(lease);
      dead.push(id);
    }
    if (dead.length > 0) await index.crawlDrafts.sweep(dead);
  } catch (error) {
    if (error instanceof CancelledError || job.signal.aborted) throw error;
    job.log(`WARNING: what a crawl that was ended left in the index could not be deleted: ${explain(error)}`);
  } finally {
    for (const lease of leases) await lease.release();
  }
}
