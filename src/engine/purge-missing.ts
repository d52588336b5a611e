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
import { holdOn } from "./erase/holds.ts";
import { folderOfRun, withLedger } from "./with-ledger.ts";

/** At most this much is repeated after a kill. */
const PURGED_AT_ONCE = 200;

/**
 * Purges files whose grace period is over: from the knowledge base and all generations of the index. Their manifest
 * entries become deleted. Takes the lease of the source's download step, so the caller must hold none. Returns how
 * many. Purges nothing in a domain that is rolled back.
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

/** A tree under its lease. */
export interface OpenTree {
  readonly run: SourceRun;
  /** The source's folder, absolute. */
  readonly folder: string;
  readonly ledger: Ledger;
  readonly knowledge: KnowledgeBase;
  /** Fails at its next checkpoint if the lease is lost. */
  readonly job: JobContext;
}

/**
 * Runs `work` under the lease of the source's download step. Throws if the domain or its ledger was deleted meanwhile:
 * a missing ledger must not be taken for an empty one.
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

/** Whether the tree has a manifest. */
export async function isKnown(run: SourceRun, { ledgers }: Pick<EngineParts, "ledgers">): Promise<boolean> {
  return (await ledgers.open(run, { readOnly: true })).manifest.isKnown;
}

async function isPinned({ generations }: Index): Promise<boolean> {
  return (await generations?.state())?.pinned === true;
}

/** Without a lease: most of the time there is nothing to purge. */
async function anyExpired(run: SourceRun, parts: EngineParts): Promise<boolean> {
  return (await findExpired(await parts.ledgers.open(run, { readOnly: true }), parts)).length > 0;
}

/** Returns files whose grace period is over and that have left mirror and index; others wait for a later run, or are held. */
export async function expiredOf(tree: OpenTree, parts: EngineParts): Promise<ManifestEntry[]> {
  const { ledger, job } = tree;
  const all = await findExpired(ledger, parts);
  const expired = all.filter(await isFree(tree, parts));
  const held = all.length - expired.length;
  if (held > 0) job.log(`${plural(held, "document")} would be purged, but ${held === 1 ? "is" : "are"} held.`);
  const known = await ledger.getMany(expired.map(({ docId }) => docId));
  return expired.filter((_, at) => !known[at]?.mirrored && !known[at]?.indexed?.fileId);
}

/** Returns a test whether a document of the tree may be purged: nobody holds it. */
export async function isFree(
  { run }: Pick<OpenTree, "run">,
  { erasures }: Pick<EngineParts, "erasures">,
): Promise<(document: Pick<ManifestEntry, "docId">) => boolean> {
  const { holds } = await erasures.read(run.domainId);
  return ({ docId }) => holdOn(holds, { sourceId: run.config.sourceId, itemId: docId }) === undefined;
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
  /** Size of its texts in the knowledge base. */
  readonly bytes: number;
}

/**
 * Purges the index first: it may refuse (ConflictError while rolled back), and skips what searches show, as after a
 * rollback, until a crawl hides it. The manifest comes last: after a kill everything is done again, which changes
 * nothing.
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
  for (const slice of slices(entries)) {
    await job.checkpoint();
    const items = slice.map(({ docId }) => docId);
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
  for (const slice of slices(leaving)) {
    await job.checkpoint();
    for (const entry of slice) purged.push({ entry, bytes: await knowledge.remove(entry.docId) });
    await job.checkpoint();
    for (const entry of slice) manifest.put(asDeleted(entry, parts.now()));
    await manifest.flush();
  }
  return purged;
}

/**
 * Users' properties stay with a document while it may return, or a kept generation may show it again; when it is
 * purged, they are deleted everywhere.
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
