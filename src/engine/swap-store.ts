import type { Domain } from "../contracts/domain.ts";
import { explain } from "../contracts/errors.ts";
import type { ItemId, VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { FailedRef, Index } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { nowUtcMicros } from "../lib/time.ts";
import { garbage } from "../plan/removals.ts";
import { logDone, NO_STORE } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import { type IndexTarget, openIndexTarget } from "./index-target.ts";
import type { DomainCrawl, EmbedStep } from "./run-context.ts";
import { leaseUnlessHeld, waitForLease } from "./with-ledger.ts";

/** Lease of the job that fills a new store for a domain. */
const LEASE = "swap";

/**
 * Opens a new store that replaces the domain's own when it is complete, so that readers of a gradual index never see
 * half a crawl. Returns the domain's own store if there is nothing to replace.
 */
export async function openSwapTarget(
  crawl: Pick<DomainCrawl, "domain" | "job" | "problems">,
  parts: EngineParts,
): Promise<IndexTarget | undefined> {
  const { domain, job, problems } = crawl;
  const own = await openIndexTarget(crawl, undefined, parts);
  if (!own || !domain.vectorStoreId) return own;
  if (job.dryRun) {
    job.log(`A fresh vector store would take the place of '${domain.vectorStoreId}'.`);
    return await openIndexTarget({ ...crawl, domain: { ...domain, vectorStoreId: NO_STORE } }, undefined, parts);
  }
  const lease = await waitForLease(parts, domain.domainId, LEASE, job);
  try {
    await dropUnfinished(domain, parts, job);
    const store = await parts.backend.createVectorStore(domain.vectorStoreName || domain.domainId);
    await parts.ledgers.stores.put(domain.domainId, { vectorStoreId: store, state: "building", since: nowUtcMicros() });
    const index = await parts.backend.openIndex(store, domain.domainId, job.signal);
    if (!index) throw new Error(`open vector store '${store}': it vanished as soon as it was made`);
    job.log(`Building vector store '${store}', which will take the place of '${domain.vectorStoreId}'.`);
    return {
      store,
      index,
      isOwn: false,
      swap: { before: domain.vectorStoreId, index: own.index, shortfalls: [], lease },
    };
  } catch (error) {
    await lease.release();
    problems.push(`A fresh vector store could not be made, so nothing was embedded: ${explain(error)}`);
    job.log(`ERROR: ${problems.at(-1)}`);
    return undefined;
  }
}

/** Switches the domain to the new store if it is complete. false: the old one stays, and `problems` says why. */
export async function finishSwap(
  { store, swap }: IndexTarget,
  { domain, job, problems }: DomainCrawl,
  parts: EngineParts,
): Promise<boolean> {
  if (!swap) return false;
  const { domainId } = domain;
  if (swap.shortfalls.length === 0) {
    swap.shortfalls.push(...((await swap.index.carryOthers?.(store, job.signal)) ?? []));
  }
  if (swap.shortfalls.length > 0) {
    const why = swap.shortfalls.join("; ").replace(/\.$/, "");
    problems.push(`The vector store was not swapped, readers still have '${swap.before}': ${why}.`);
    job.log(`WARNING: ${problems.at(-1)}`);
    await dropUnfinished(domain, parts, job);
    return false;
  }
  // Record the old store first: a kill in between leaves a superfluous record, never a forgotten store.
  const superseded = { vectorStoreId: swap.before, state: "superseded", since: nowUtcMicros() } as const;
  await parts.ledgers.stores.put(domainId, superseded);
  await parts.domains.update({ ...domain, vectorStoreId: store }, domain);
  await parts.ledgers.stores.remove(domainId, store);
  const days = Math.round(parts.keepSupersededMs / DAY_MS);
  job.log(`Vector store '${swap.before}' was superseded by '${store}'; it is kept for ${days} more days.`);
  return true;
}

const DAY_MS = 24 * 3600 * 1000;

/** Deletes expired superseded stores, and unfinished ones of killed runs. */
export async function sweepOtherStores(domain: Domain, parts: EngineParts, job: JobContext): Promise<void> {
  // A run that was killed after the switch left rows for a store that is the domain's own by now.
  if (domain.vectorStoreId) await dropMaps(domain, domain.vectorStoreId, parts);
  const stores = await parts.ledgers.stores.list(domain.domainId);
  if (stores.length === 0) return;
  const oldest = Date.now() - parts.keepSupersededMs;
  for (const { vectorStoreId, state, since } of stores) {
    if (state !== "superseded" || Date.parse(since) > oldest) continue;
    await dropStore(domain, vectorStoreId, parts, job);
  }
  if (stores.every(({ state }) => state !== "building")) return;
  // Another job may be filling a store.
  await using lease = await leaseUnlessHeld(parts, domain.domainId, LEASE, job);
  if (lease) await dropUnfinished(domain, parts, job);
}

/** The caller must hold the swap lease. */
async function dropUnfinished(domain: Domain, parts: EngineParts, job: JobContext): Promise<void> {
  for (const { vectorStoreId, state } of await parts.ledgers.stores.list(domain.domainId)) {
    if (state === "building") await dropStore(domain, vectorStoreId, parts, job);
  }
}

async function dropStore(domain: Domain, id: VectorStoreId, parts: EngineParts, job: JobContext): Promise<void> {
  try {
    const { domains } = await parts.domains.list();
    const isUsed = id === parts.defaultVectorStoreId || domains.some(({ vectorStoreId }) => vectorStoreId === id);
    if (!isUsed) {
      await parts.backend.deleteVectorStore(id);
      logDone(job, `Deleted vector store '${id}', which is not needed any more.`);
    }
    await dropMaps(domain, id, parts);
    await parts.ledgers.stores.remove(domain.domainId, id);
  } catch (error) {
    job.log(`WARNING: vector store '${id}' could not be deleted and will be tried again: ${explain(error)}`);
  }
}

/** Deletes the index rows of a store that is not the domain's own. */
async function dropMaps(domain: Domain, id: VectorStoreId, parts: EngineParts): Promise<void> {
  for (const config of domain.sources) {
    await parts.ledgers.dropStore({ domainId: domain.domainId, config }, id);
  }
}

/** Returns why this source keeps the new store from replacing the old one. */
export async function findShortfalls(
  failed: readonly FailedRef[],
  { run, request, listing, ledger, mirror, target: { index, swap } }: EmbedStep,
): Promise<string[]> {
  if (!swap) return [];
  const { sourceId } = run.config;
  const shortfalls: string[] = [];
  const passing = failed.filter(({ permanent }) => !permanent).length;
  if (passing > 0) shortfalls.push(`${passing} documents of source '${sourceId}' failed, and may succeed next time`);
  const [before, now] = [await itemsIn(swap.index, run), await itemsIn(index, run)];
  const reported = new Set(failed.map(({ itemId }) => itemId));
  const missing = [...before].filter((itemId) => !now.has(itemId) && !reported.has(itemId));
  const entries = await ledger.getMany(missing);
  const waiting = entries.filter((entry) => entry?.mirrored && !mirror.isFailed(entry.mirrored.file)).length;
  if (waiting > 0) shortfalls.push(`${waiting} documents of source '${sourceId}' are not ready to be embedded`);
  const unknown = missing.filter((_, at) => !entries[at]);
  const policy = { limits: run.config.limits, confirmDeletes: request.confirmDeletes };
  const guard = { known: before.size, listed: listing?.listed ?? 0, ...policy };
  const { stay } = garbage(unknown, { isCertain: listing?.sawAll === true, guard });
  if (stay.length > 0) {
    shortfalls.push(
      `${stay.length} documents of source '${sourceId}' would be lost: the map files have no row for them`,
    );
  }
  return shortfalls;
}

async function itemsIn(index: Index, { config }: SourceRun): Promise<ReadonlySet<ItemId>> {
  const items = new Set<ItemId>();
  for await (const refs of index.holdings(config.sourceId)) for (const { itemId } of refs) items.add(itemId);
  return items;
}
