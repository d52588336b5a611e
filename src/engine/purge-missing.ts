import { NotFoundError } from "../contracts/errors.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { ManifestEntry } from "../contracts/manifest.ts";
import type { Index } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { plural } from "../lib/text.ts";
import { KnowledgeBase } from "../mirror/knowledge-base.ts";
import { asDeleted, isExpired } from "../plan/lineage/manifest-entry.ts";
import type { EngineParts } from "./engine-parts.ts";
import { folderOfRun, withLedger } from "./with-ledger.ts";

/** A kill repeats at most this much. */
const PURGED_AT_ONCE = 200;

/**
 * Files whose grace is over leave for good: out of the knowledge base and every state of the index. Their manifest entries say
 * deleted. To be called without a lease of the source; takes that of its download step. Returns how many. Nothing is purged in a
 * domain that is rolled back.
 */
export async function purgeMissing(run: SourceRun, index: Index, parts: EngineParts, job: JobContext): Promise<number> {
  if (!(await anyExpired(run, parts)) || (await isPinned(index))) return 0;
  return await withTree(run, parts, job, async (tree) => {
    if (await isPinned(index)) return 0;
    const purged = await purge(await expiredOf(tree, parts), tree, index, parts);
    if (purged.length > 0) job.log(`Purged ${plural(purged.length, "document")} that had been missing for too long.`);
    return purged.length;
  });
}

/** A tree that nobody else is changing. */
export interface OpenTree {
  readonly run: SourceRun;
  /** Of the source, absolute. */
  readonly folder: string;
  readonly ledger: Ledger;
  readonly knowledge: KnowledgeBase;
  /** Fails at its next checkpoint when the lease was lost. */
  readonly job: JobContext;
}

/**
 * Works on ledger and knowledge base under the lease of the source's download step. Throws when whoever had the lease before took the
 * domain or the ledger away: one that is not there must not be taken for an empty one.
 */
export async function withTree<T>(
  run: SourceRun,
  parts: EngineParts,
  job: JobContext,
  work: (tree: OpenTree) => Promise<T>,
): Promise<T> {
  const folder = folderOfRun(run, parts);
  return await withLedger(run, { step: "download", mustExist: true }, parts, job, async ({ ledger, ...setting }) => {
    await parts.domains.get(run.domainId);
    if (!(await isKnown(run, parts))) throw new NotFoundError("There is no manifest any more.");
    return await work({ run, folder, ledger, knowledge: new KnowledgeBase(folder), job: setting.job });
  });
}

/** Is anything remembered of the files of a tree? */
export async function isKnown(run: SourceRun, { ledgers }: Pick<EngineParts, "ledgers">): Promise<boolean> {
  return (await ledgers.open(run, { readOnly: true })).manifest.isKnown;
}

async function isPinned({ generations }: Index): Promise<boolean> {
  return (await generations?.state())?.pinned === true;
}

/** Waits for nobody: most of the time there is nothing to purge. */
async function anyExpired(run: SourceRun, parts: EngineParts): Promise<boolean> {
  return (await findExpired(await parts.ledgers.open(run, { readOnly: true }), parts)).length > 0;
}

/** Missing for long enough, and out of mirror and index: what is held, or just leaves, waits for a later run. */
export async function expiredOf({ ledger }: OpenTree, parts: EngineParts): Promise<ManifestEntry[]> {
  const expired = await findExpired(ledger, parts);
  const known = await ledger.getMany(expired.map(({ docId }) => docId));
  return expired.filter((_, at) => !known[at]?.mirrored && !known[at]?.indexed?.fileId);
}

async function findExpired({ manifest }: Ledger, { retention, now }: EngineParts): Promise<ManifestEntry[]> {
  const at = now();
  const expired: ManifestEntry[] = [];
  for await (const page of manifest.withStatus("missing")) {
    expired.push(...page.filter((entry) => isExpired(entry, retention, at)));
  }
  return expired;
}

export interface Purged {
  readonly entry: ManifestEntry;
  /** What the knowledge base kept of it. */
  readonly bytes: number;
}

/**
 * The index first, which may refuse (ConflictError: somebody rolled it back), and leaves alone what readers see, as after a rollback:
 * that waits for a crawl to hide it. The manifest last: killed before, all of it is done once more, which changes nothing.
 */
export async function purge(
  entries: readonly ManifestEntry[],
  tree: OpenTree,
  index: Index | undefined,
  parts: EngineParts,
): Promise<readonly Purged[]> {
  const { run, knowledge, job } = tree;
  const { manifest } = tree.ledger;
  const visible = new Set<ItemId>();
  for (const some of slices(entries)) {
    await job.checkpoint();
    const items = some.map(({ docId }) => docId);
    for (const docId of (await index?.retained?.purge(run.config.sourceId, items)) ?? []) visible.add(docId);
  }
  const leaving = entries.filter(({ docId }) => !visible.has(docId));
  await forgetMetadata(
    run,
    leaving.map(({ docId }) => docId),
    tree,
    parts,
  );
  const purged: Purged[] = [];
  for (const some of slices(leaving)) {
    await job.checkpoint();
    for (const entry of some) purged.push({ entry, bytes: await knowledge.remove(entry.docId) });
    await job.checkpoint();
    for (const entry of some) manifest.put(asDeleted(entry, parts.now()));
    await manifest.flush();
  }
  return purged;
}

/**
 * What people wrote down about a document stays with it while it may return, or a kept generation may show it again; purged, it is not
 * to be read anywhere.
 */
async function forgetMetadata(
  { domainId }: SourceRun,
  itemIds: readonly ItemId[],
  { job }: OpenTree,
  { ledgers: { metadata } }: EngineParts,
): Promise<void> {
  if (itemIds.length === 0) return;
  for (const warning of await metadata.remove(domainId, { itemIds })) job.log(`WARNING: ${warning}`);
}

export function* slices<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += PURGED_AT_ONCE) yield all.slice(at, at + PURGED_AT_ONCE);
}
