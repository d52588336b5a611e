import type { Domain } from "../contracts/domain.ts";
import { CancelledError, explain, NotFoundError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Source } from "../contracts/source.ts";
import { nowUtcMicros } from "../lib/time.ts";
import type { CrawlRequest } from "./crawl-request.ts";
import { crawlSource } from "./crawl-source.ts";
import type { EngineParts } from "./engine-parts.ts";
import { CLEAR_STORE, type IndexTarget, openIndexTarget } from "./index-target.ts";
import { finishSwap, openSwapTarget, sweepOtherStores } from "./swap-store.ts";

/** Where the documents of this crawl go. undefined: nowhere, since nobody asked or nothing can be embedded now. */
export async function openTarget(
  domain: Domain,
  request: CrawlRequest,
  parts: EngineParts,
  job: JobContext,
  problems: string[],
): Promise<IndexTarget | undefined> {
  if (!request.steps.includes("embed")) return undefined;
  if (!job.dryRun) await sweepOtherStores(domain, parts, job);
  const target = request.swap
    ? await openSwapTarget(domain, parts, job, problems)
    : await openIndexTarget(domain, request.vectorStoreId, parts, job, problems);
  // With the time: numbers of jobs may come again when all that had one are removed.
  const crawl = request.gathered ? `items ${nowUtcMicros().slice(0, 10)}` : `${job.jobId} ${nowUtcMicros()}`;
  return target && { ...target, crawl };
}

/** What is due when all sources are in the index. */
export async function concludeTarget(
  domain: Domain,
  request: CrawlRequest,
  target: IndexTarget,
  parts: EngineParts,
  job: JobContext,
  problems: string[],
): Promise<void> {
  if (job.dryRun) return;
  if (target.swap && (await finishSwap(domain, target, parts, job, problems))) {
    problems.push(...(await takeOver(domain, request, target, parts, job)));
  }
  try {
    await target.index.refreshVectors?.((line) => job.log(line), job.signal);
  } catch (error) {
    if (job.signal.aborted) throw new CancelledError("refreshing the vectors stopped", { cause: error });
    problems.push(sayStale(error, target));
    job.log(`ERROR: ${problems.at(-1)}`);
  }
}

/** Whoever deleted the store took the earlier vectors along: then nothing answers. */
function sayStale(error: unknown, { store, isOwn }: IndexTarget): string {
  return error instanceof NotFoundError
    ? `The vector store '${store}' does not exist any more.${isOwn ? ` ${CLEAR_STORE}` : ""}`
    : `The vectors could not be brought up to date, and the earlier ones answer: ${explain(error)}`;
}

/**
 * The store is the domain's own now: an embedding step finds everything in it and writes it into the domain's map files.
 * Killed before its end, the next crawl does the same.
 */
async function takeOver(
  domain: Domain,
  request: CrawlRequest,
  { store, index, crawl = "" }: IndexTarget,
  parts: EngineParts,
  job: JobContext,
): Promise<string[]> {
  const problems: string[] = [];
  const embedding: CrawlRequest = { ...request, steps: ["embed"], mode: "incremental", swap: false };
  for (const config of domain.sources) {
    await job.checkpoint();
    const run = { domainId: domain.domainId, config };
    const target: IndexTarget = { store, index, crawl, isOwn: true };
    const { result } = await crawlSource(run, neverOpened, embedding, target, parts, job);
    const { error } = result;
    if (error) problems.push(`Source '${config.sourceId}' after the swap: ${error.replace(/\.$/, "")}.`);
    else await parts.ledgers.dropStore(run, store);
  }
  return problems;
}

/** Embedding does not look at the source. */
function neverOpened(): Source {
  throw new Error("open source: only the embedding was asked for");
}
