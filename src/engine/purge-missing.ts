import { NotFoundError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { ManifestEntry } from "../contracts/manifest.ts";
import type { Index } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { slicesOf } from "../lib/slices-of.ts";
import { plural } from "../lib/text.ts";
import type { KnowledgeBase } from "../mirror/knowledge-base.ts";
import { asDeleted } from "../plan/lineage/manifest-entry.ts";
import { purge, type Removals } from "../plan/removals.ts";
import type { EngineParts } from "./engine-parts.ts";
import { holdOn } from "./erase/holds.ts";
import { folderOfRun, withLedger } from "./with-ledger.ts";

/** At most this much is repeated after a kill. */
export const PURGED_AT_ONCE = 200;

/**
 * Ends the wait for files whose grace period is over: what the index retained for their return goes, and their manifest entries become
 * deleted. Files that a kept generation shows wait for a later run. Takes the lease of the source's download step, so the caller must
 * hold none. Returns how many.
 */
export async function purgeMissing(run: SourceRun, index: Index, parts: EngineParts, job: JobContext): Promise<number> {
  if (!(await anyExpired(run, parts))) return 0;
  return await withTree(run, parts, job, async (tree) => {
    const { purged, waiting } = await purgeMissingOf(tree, index, parts);
    if (purged.length > 0) job.log(`Purged ${plural(purged.length, "document")} that had been missing for too long.`);
    if (waiting > 0) job.log(describeWaiting(waiting));
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
    return await work({ run, folder, ledger, knowledge: parts.openKnowledge(run), job: setting.job });
  });
}

/** Whether the tree has a manifest. */
export async function isKnown(run: SourceRun, { ledgers }: Pick<EngineParts, "ledgers">): Promise<boolean> {
  return (await ledgers.open(run, { readOnly: true })).manifest.isKnown;
}

/** What readers can go back to is kept whole. */
export function describeWaiting(documents: number): string {
  const what = plural(
    documents,
    "document that has been missing for too long waits",
    "documents that have been missing for too long wait",
  );
  return `${what} until no kept generation shows ${documents === 1 ? "it" : "them"}.`;
}

/** Without a lease: most of the time there is nothing to purge. */
async function anyExpired(run: SourceRun, parts: EngineParts): Promise<boolean> {
  const { go, stay } = await findOver(await parts.ledgers.open(run, { readOnly: true }), () => true, parts);
  return go.length + stay.length > 0;
}

/** Returns files whose grace period is over and that have left mirror and index; others wait for a later run, or are held. */
async function expiredOf(tree: OpenTree, parts: EngineParts): Promise<ManifestEntry[]> {
  const { ledger, job } = tree;
  const { go: expired, stay } = await findOver(ledger, await isFree(tree, parts), parts);
  const held = stay.length;
  if (held > 0) job.log(`${plural(held, "document")} would be purged, but ${held === 1 ? "is" : "are"} held.`);
  const known = await ledger.getMany(expired.map(({ docId }) => docId));
  return expired.filter((_, at) => !known[at]?.mirrored && !known[at]?.indexed?.fileId);
}

/** Returns a test whether a document of the tree may be purged: it has no hold. */
export async function isFree(
  { run }: Pick<OpenTree, "run">,
  { erasures }: Pick<EngineParts, "erasures">,
): Promise<(document: Pick<ManifestEntry, "docId">) => boolean> {
  const { holds } = await erasures.read(run.domainId);
  return ({ docId }) => holdOn(holds, { sourceId: run.config.sourceId, itemId: docId }) === undefined;
}

async function findOver(
  { manifest }: Ledger,
  isFree: (entry: Pick<ManifestEntry, "docId">) => boolean,
  { retention, now }: EngineParts,
): Promise<Pick<Removals<ManifestEntry>, "go" | "stay">> {
  const wait = { retention, now: now(), isFree };
  const [go, stay]: [ManifestEntry[], ManifestEntry[]] = [[], []];
  for await (const page of manifest.withStatus("missing")) {
    const over = purge(page, wait);
    go.push(...over.go);
    stay.push(...over.stay);
  }
  return { go, stay };
}

interface Purge {
  readonly purged: readonly ManifestEntry[];
  /** How many wait, because a kept generation shows them. */
  readonly waiting: number;
}

/**
 * Purges the index first, which leaves alone what a kept generation shows. The manifest comes last: after a kill everything is done again,
 * which changes nothing. The entry, its versions and their texts stay until the deleted entry expires (see maintenance).
 */
export async function purgeMissingOf(tree: OpenTree, index: Index | undefined, parts: EngineParts): Promise<Purge> {
  const { run, job } = tree;
  const entries = await expiredOf(tree, parts);
  const { manifest } = tree.ledger;
  const purged: ManifestEntry[] = [];
  for (const slice of slicesOf(entries, PURGED_AT_ONCE)) {
    await job.checkpoint();
    const items = slice.map(({ docId }) => docId);
    const retained = new Set(await index?.retained?.purge(run.config.sourceId, items));
    const leaving = slice.filter(({ docId }) => !retained.has(docId));
    purged.push(...leaving);
    await job.checkpoint();
    for (const entry of leaving) manifest.put(asDeleted(entry, parts.now()));
    await manifest.flush();
  }
  return { purged, waiting: entries.length - purged.length };
}
