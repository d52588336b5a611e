import { join } from "node:path";
import type { Domain } from "../contracts/domain.ts";
import { BadInputError, CancelledError, ConflictError, explain, NotFoundError } from "../contracts/errors.ts";
import type { EntrySummary } from "../contracts/files-metadata.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import { type Lease, sourceLease } from "../contracts/lease.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { pathExists } from "../lib/file-system.ts";
import { plural } from "../lib/text.ts";
import { logDone, partsFor } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import { finishRenames, waitingJob } from "./rename-domain.ts";
import { findRetired } from "./retired-sources.ts";
import { folderOfRun, waitForLease } from "./with-ledger.ts";

const SHOWN_ENTRIES = 1000;

/** Travels as JSON in job results, hence the spelling. */
export interface CleanupResult {
  readonly domain_id: DomainId;
  readonly dry_run: boolean;
  readonly removed: number;
  readonly remaining: number;
  /** Why nothing was removed; "" when it was done. */
  readonly problem: string;
}

/**
 * Removes entries from `files_metadata.json` whose file is no longer in the domain's vector store, or whose item no
 * source has any more. Removes nothing if anything cannot be read (the store, a map file, a source that was never
 * crawled): the file or item may be there.
 */
export async function cleanupMetadata(domainId: DomainId, all: EngineParts, job: JobContext): Promise<CleanupResult> {
  const parts = partsFor(all, job);
  await finishRenames(parts, waitingJob(job), domainId);
  const domain = await parts.domains.get(domainId);
  const { metadata } = parts.ledgers;
  const result = { domain_id: domainId, dry_run: job.dryRun };
  try {
    const runs = await findRuns(domain, parts);
    const { removed, remaining } = await whileNotEmbedding(runs, parts, job, async (checkLeases) => {
      const damage = await metadata.readBack(domainId);
      if (damage !== "") throw new BadInputError(`files_metadata.json could not be read: ${damage}`);
      const rules = await gatherRules(domain, runs, parts, job);
      await checkLeases();
      const pruned = await findLeaving(metadata.entries(domainId, { asEdited: true }), rules);
      const fileIds = pruned.removed.map(({ fileId }) => fileId);
      const warnings = fileIds.length > 0 ? await metadata.remove(domainId, { fileIds }) : [];
      for (const warning of warnings) job.log(`WARNING: ${warning}`);
      return pruned;
    });
    logResult(removed, remaining, job);
    return { ...result, removed: removed.length, remaining, problem: "" };
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    const problem = `Nothing was removed from files_metadata.json: ${explain(error)}`;
    job.log(`ERROR: ${problem}`);
    const { remaining } = await findLeaving(metadata.entries(domainId), KEEP_ALL);
    return { ...result, removed: 0, remaining, problem };
  }
}

/** Decides which entries may go. */
interface PruneRules {
  /** Why the entry is not needed; "" if it is. */
  reasonToRemove(fileId: string, itemId: string): string;
  /** Whether a source still has the item: its next version may inherit the properties that users wrote. */
  isAlive(itemId: string): boolean;
}

const KEEP_ALL: PruneRules = { reasonToRemove: () => "", isAlive: () => true };

interface PrunedEntry extends EntrySummary {
  readonly reason: string;
}

/**
 * Finds entries to remove. An entry of a living item goes only if every property that a user wrote is on an entry that
 * stays.
 */
async function findLeaving(
  pages: AsyncIterable<readonly EntrySummary[]>,
  rules: PruneRules,
): Promise<{ readonly removed: readonly PrunedEntry[]; readonly remaining: number }> {
  let count = 0;
  const candidates: PrunedEntry[] = [];
  const kept = new Map<string, Set<string>>();
  const keep = ({ itemId, properties }: EntrySummary): void => {
    if (properties.length > 0) kept.set(itemId, new Set([...(kept.get(itemId) ?? []), ...properties]));
  };
  for await (const page of pages) {
    for (const entry of page) {
      count += 1;
      const reason = entry.fileId === "" ? "" : rules.reasonToRemove(entry.fileId, entry.itemId);
      if (reason === "") keep(entry);
      else candidates.push({ ...entry, reason });
    }
  }
  // Newest first: it inherited the properties of its predecessors, so it is the one to keep.
  candidates.sort((a, b) => (a.embeddedAt < b.embeddedAt ? 1 : -1));
  const removed = candidates.filter((entry) => {
    const isElsewhere = (key: string): boolean => kept.get(entry.itemId)?.has(key) === true;
    if (!rules.isAlive(entry.itemId) || entry.properties.every(isElsewhere)) return true;
    keep(entry);
    return false;
  });
  return { removed, remaining: count - removed.length };
}

/** The sources of the domain, and those that were taken out but whose documents are not removed yet. */
async function findRuns(domain: Domain, parts: EngineParts): Promise<SourceRun[]> {
  const { domainId } = domain;
  for (const config of domain.sources) {
    const { keepsMaps } = config.kind.abilities;
    const map = join(folderOfRun({ domainId, config }, parts), "vectorstore_map.csv");
    if (keepsMaps && !(await pathExists(map))) {
      throw new BadInputError(`source '${config.sourceId}' has no vectorstore_map.csv; crawl it first`);
    }
    if (!keepsMaps && (await parts.ledgers.version({ domainId, config })) === "") {
      throw new BadInputError(`source '${config.sourceId}' was not crawled yet; crawl it first`);
    }
  }
  const retired = await findRetired(domain, parts);
  return [...domain.sources, ...retired].map((config) => ({ domainId, config }));
}

/**
 * Holds the embed leases of all sources while `work` runs: an embed step writes to the store first and records it
 * later, so a snapshot in between would be inconsistent.
 */
async function whileNotEmbedding<T>(
  runs: readonly SourceRun[],
  parts: EngineParts,
  job: JobContext,
  work: (checkLeases: () => Promise<void>) => Promise<T>,
): Promise<T> {
  await using taken = new AsyncDisposableStack();
  const leases: Lease[] = [];
  for (const run of runs) {
    leases.push(taken.use(await waitForLease(parts, run.domainId, sourceLease(run.config, "embed"), job)));
  }
  return await work(async () => {
    for (const lease of leases) {
      if (!(await lease.stillHeld())) throw new ConflictError("a crawl took a source over meanwhile; try again");
    }
  });
}

async function gatherRules(
  domain: Domain,
  runs: readonly SourceRun[],
  parts: EngineParts,
  job: JobContext,
): Promise<PruneRules> {
  const { domainId, vectorStoreId } = domain;
  if (vectorStoreId === "") throw new BadInputError(`domain '${domainId}' has no vector store yet; crawl it first`);
  const index = await parts.backend.openIndex(vectorStoreId, domainId, job.signal);
  if (!index) throw new NotFoundError(`the vector store '${vectorStoreId}' does not exist any more`);
  const [inStore, wanted, alive] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const run of runs) {
    await job.checkpoint();
    for await (const refs of index.holdings(run.config.sourceId)) for (const { fileId } of refs) inStore.add(fileId);
    for await (const entries of (await openWhole(run, parts)).entries()) {
      for (const { itemId, mirrored, indexed } of entries) {
        alive.add(itemId);
        // An item on disk and in the store without a row gets its row in the next embed step.
        if (mirrored || indexed) wanted.add(itemId);
      }
    }
  }
  return {
    reasonToRemove(fileId, itemId) {
      if (!inStore.has(fileId)) return "its file is not in the vector store any more";
      return wanted.has(itemId) ? "" : "no source has its item any more";
    },
    isAlive: (itemId) => alive.has(itemId),
  };
}

/** Throws if a map file cannot be read: it would count as empty, which is right for a crawl and wrong here. */
async function openWhole(run: SourceRun, parts: EngineParts): Promise<Ledger> {
  const ledger = await parts.ledgers.open(run, { readOnly: true });
  const { problems } = ledger;
  if (problems.length > 0) throw new ConflictError(`source '${run.config.sourceId}': ${problems.join("; ")}`);
  return ledger;
}

function logResult(removed: readonly PrunedEntry[], remaining: number, job: JobContext): void {
  const tell = (what: string): void => logDone(job, `Removed ${what}`, `Would remove ${what}`);
  for (const { fileId, name, reason } of removed.slice(0, SHOWN_ENTRIES)) tell(`'${name}' (${fileId}): ${reason}.`);
  if (removed.length > SHOWN_ENTRIES) job.log(`... and ${removed.length - SHOWN_ENTRIES} more.`);
  const entries = plural(removed.length, "entry", "entries");
  tell(`${entries} of files_metadata.json; ${plural(remaining, "remains", "remain")}.`);
}
