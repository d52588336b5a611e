import type { Domain } from "../contracts/domain.ts";
import { explain } from "../contracts/errors.ts";
import type { ItemId, VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Lease } from "../contracts/lease.ts";
import type { FailedRef, Index } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { nowUtcMicros } from "../lib/time.ts";
import { heldBecause } from "../plan/removal-guard.ts";
import { dryTarget } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import { type IndexTarget, openIndexTarget } from "./index-target.ts";
import type { DomainCrawl, EmbedStep } from "./run-context.ts";
import { waitForLease } from "./with-ledger.ts";

/** Of whoever fills a fresh store for a domain. */
const LEASE = "swap";

/** The successor of a domain's vector store, on its way. */
export interface Swap {
  readonly before: VectorStoreId;
  /** The store that is to be replaced. */
  readonly index: Index;
  /** Why the successor does not have everything; while this is empty it may take over. */
  readonly shortfalls: string[];
  readonly lease: Lease;
}

/**
 * A fresh store that takes the place of the domain's own when everything is in it, so that readers of a gradual index,
 * too, never see half a crawl. Where there is nothing to replace, the domain's own store.
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
    return dryTarget(domain, job);
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

/** Changes the domain over to the new store if everything is in it. false: readers still have the old one, and `problems` says why. */
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
  // Noted before the domain names the new one: a run killed in between leaves a note too many, never a store forgotten.
  const superseded = { vectorStoreId: swap.before, state: "superseded", since: nowUtcMicros() } as const;
  await parts.ledgers.stores.put(domainId, superseded);
  await parts.domains.update({ ...domain, vectorStoreId: store }, domain);
  await parts.ledgers.stores.remove(domainId, store);
  const days = Math.round(parts.keepSupersededMs / DAY_MS);
  job.log(`Vector store '${swap.before}' was superseded by '${store}'; it is kept for ${days} more days.`);
  return true;
}

const DAY_MS = 24 * 3600 * 1000;

/** Deletes predecessors that were kept long enough, and successors that a killed run left unfinished. */
export async function sweepOtherStores(domain: Domain, parts: EngineParts, job: JobContext): Promise<void> {
  // A run that was killed after it had changed over left its records of a store that is the domain's own by now.
  if (domain.vectorStoreId) await dropMaps(domain, domain.vectorStoreId, parts);
  const stores = await parts.ledgers.stores.list(domain.domainId);
  if (stores.length === 0) return;
  const oldest = Date.now() - parts.keepSupersededMs;
  for (const { vectorStoreId, state, since } of stores) {
    if (state !== "superseded" || Date.parse(since) > oldest) continue;
    await dropStore(domain, vectorStoreId, parts, job);
  }
  if (stores.every(({ state }) => state !== "building")) return;
  const lease = await leaseUnlessHeld(domain, parts, job);
  if (!lease) return;
  try {
    await dropUnfinished(domain, parts, job);
  } finally {
    await lease.release();
  }
}

/** Only for whoever holds the lease: nobody else is building. */
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
      job.log(`Deleted vector store '${id}', which is not needed any more.`);
    }
    await dropMaps(domain, id, parts);
    await parts.ledgers.stores.remove(domain.domainId, id);
  } catch (error) {
    job.log(`WARNING: vector store '${id}' could not be deleted and will be tried again: ${explain(error)}`);
  }
}

/** What was written down about a store besides the domain's own map files. */
async function dropMaps(domain: Domain, id: VectorStoreId, parts: EngineParts): Promise<void> {
  for (const config of domain.sources) {
    await parts.ledgers.dropStore({ domainId: domain.domainId, config }, id);
  }
}

/** undefined: somebody is filling a store. */
async function leaseUnlessHeld({ domainId }: Domain, parts: EngineParts, job: JobContext): Promise<Lease | undefined> {
  const held = new AbortController();
  const options = { owner: `job ${job.jobId}`, signal: held.signal, onWait: () => held.abort() };
  try {
    return await parts.ledgers.leases.acquire(domainId, LEASE, options);
  } catch (error) {
    if (held.signal.aborted) return undefined;
    throw error;
  }
}

/** Why the store that is being filled must not take the place of the old one yet, as far as this source goes. */
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
  const told = new Set(failed.map(({ itemId }) => itemId));
  const missing = [...before].filter((itemId) => !now.has(itemId) && !told.has(itemId));
  const entries = await ledger.getMany(missing);
  const waiting = entries.filter((entry) => entry?.mirrored && !mirror.isFailed(entry.mirrored.file)).length;
  if (waiting > 0) shortfalls.push(`${waiting} documents of source '${sourceId}' are not ready to be embedded`);
  // What nothing is known of is gone, if the listing saw everything and so great a loss is believable.
  const gone = entries.filter((entry) => !entry).length;
  const loss = { missing: gone, known: before.size, listed: listing?.listed ?? 0 };
  if (gone > 0 && (!listing?.sawAll || heldBecause(loss, { ...request, limits: run.config.limits }))) {
    shortfalls.push(`${gone} documents of source '${sourceId}' would be lost, of which the map files know nothing`);
  }
  return shortfalls;
}

async function itemsIn(index: Index, { config }: SourceRun): Promise<ReadonlySet<ItemId>> {
  const items = new Set<ItemId>();
  for await (const refs of index.holdings(config.sourceId)) for (const { itemId } of refs) items.add(itemId);
  return items;
}
