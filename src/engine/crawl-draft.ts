import { CancelledError, ConflictError, explain } from "../contracts/errors.ts";
import type { Lease } from "../contracts/lease.ts";
import type { CrawlDrafts, Index } from "../contracts/search-index.ts";
import { isInScope } from "./check-crawl.ts";
import type { CrawledSource } from "./crawl-source.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { IndexTarget } from "./index-target.ts";
import { countAsked } from "./questions.ts";
import type { DomainCrawl } from "./run-context.ts";
import { leaseUnlessHeld, waitForLease } from "./with-ledger.ts";

/** The lease of a crawl that may still write to its draft: other crawls do not delete the draft then. */
function draftLease(generationId: string): string {
  return `draft/${generationId}`;
}

/**
 * Opens the draft that all sources of a crawl fill. undefined if each source is committed by itself: in the first crawl of a domain, on
 * request, in a new store without readers, and if the backend has no atomic commits.
 */
export async function openCrawlDraft(
  { index, swap, crawlName = "" }: IndexTarget,
  { domain, request, job }: Omit<DomainCrawl, "target">,
  parts: EngineParts,
): Promise<{ readonly crawlDraft?: NonNullable<IndexTarget["crawlDraft"]>; readonly lease?: Lease }> {
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
    if (index.shown && Number.isFinite(questions) && questions > 0)
      job.log(`${questions} questions are asked before anything new is visible; a dry run has nothing to ask them of.`);
    return {};
  }
  // If the store cannot be read, each source says so when it comes to it.
  const stored = await index.sources().catch(() => undefined);
  if (!stored) return {};
  const isFirst = stored.size === 0;
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
  const crawlDraft = await index.crawlDrafts.open(crawlName);
  return { crawlDraft, lease: await waitForLease(parts, domain.domainId, draftLease(crawlDraft.generationId), job) };
}

export interface Committed {
  /** Sources whose changes are not committed, and why: those that would empty the domain although they put files, or all of them. */
  readonly failures: ReadonlyMap<CrawledSource, unknown>;
  /** null: nothing became visible. */
  readonly generation: number | null;
}

/** Makes what all sources staged visible in one moment. */
export async function commitCrawlDraft(
  crawled: readonly CrawledSource[],
  { target, job }: DomainCrawl,
): Promise<Committed> {
  const failures = new Map<CrawledSource, unknown>();
  let staged = crawled.filter((source) => source.staged !== undefined);
  if (!target?.crawlDraft) return { failures, generation: null };
  await job.checkpoint();
  for (;;) {
    try {
      const allowEmpty = staged.every((source) => source.staged?.allowEmpty);
      const generation = await target.crawlDraft.commit(job.signal, { allowEmpty });
      if (generation !== null && staged.length > 1) {
        job.log(`Index: what changed in ${staged.length} sources is visible now, as generation ${generation}.`);
      }
      return { failures, generation };
    } catch (error) {
      if (job.signal.aborted) throw new CancelledError("committing the crawl stopped", { cause: error });
      const emptying = staged.filter((source) => source.staged?.allowEmpty === false);
      const isRefused = error instanceof ConflictError && emptying.length > 0;
      for (const source of isRefused ? emptying : staged) failures.set(source, error);
      if (!isRefused) return { failures, generation: null };
      for (const source of emptying) await source.staged?.discard();
      staged = staged.filter((source) => !emptying.includes(source));
    }
  }
}

/**
 * Deletes drafts of killed or cancelled crawls, and of crawls whose changes were held: this crawl has found them again, unless they are
 * gone. Called when a crawl of all sources ended without a failed one, and so has reused their texts and vectors.
 */
export async function sweepDeadDrafts(
  { index, earlierDrafts = [] }: IndexTarget,
  { domain, request, job }: Pick<DomainCrawl, "domain" | "request" | "job">,
  parts: EngineParts,
): Promise<void> {
  const isOfAll = domain.sources.every((config) => isInScope(config, request));
  const isWhole = isOfAll && request.sourceId === undefined && !request.gathered;
  if (!index.crawlDrafts || !isWhole || request.approvedPlan !== undefined) return;
  try {
    const others = (await index.crawlDrafts.listOpen()).filter((id) => earlierDrafts.includes(id));
    await sweepUnlessHeld(others, index.crawlDrafts, { domain, job }, parts);
  } catch (error) {
    if (error instanceof CancelledError || job.signal.aborted) throw error;
    job.log(`WARNING: what a crawl that was ended left in the index could not be deleted: ${explain(error)}`);
  }
}

const ABANDONED_MS = 7 * 24 * 3600_000;

/**
 * The same for domains whose sources are only crawled one by one: deletes drafts that no crawl has used for a week, except held ones.
 * Returns the number of deleted drafts.
 */
export async function sweepOldDrafts(
  { crawlDrafts }: Pick<Index, "crawlDrafts">,
  { domain, job }: Pick<DomainCrawl, "domain" | "job">,
  parts: Pick<EngineParts, "ledgers" | "questions" | "now">,
): Promise<number> {
  const old = (await crawlDrafts?.listOpen(new Date(parts.now().getTime() - ABANDONED_MS))) ?? [];
  if (!crawlDrafts || old.length === 0) return 0;
  const held = new Set((await parts.questions.runs(domain.domainId)).map(({ heldDraft }) => heldDraft));
  const dead = old.filter((id) => !held.has(id));
  return await sweepUnlessHeld(dead, crawlDrafts, { domain, job }, parts);
}

async function sweepUnlessHeld(
  drafts: readonly string[],
  crawlDrafts: CrawlDrafts,
  { domain, job }: Pick<DomainCrawl, "domain" | "job">,
  parts: Pick<EngineParts, "ledgers">,
): Promise<number> {
  await using leases = new AsyncDisposableStack();
  const dead: string[] = [];
  for (const id of drafts) {
    const lease = await leaseUnlessHeld(parts, domain.domainId, draftLease(id), job);
    if (leases.use(lease)) dead.push(id);
  }
  if (dead.length > 0) await crawlDrafts.sweep(dead);
  return dead.length;
}
