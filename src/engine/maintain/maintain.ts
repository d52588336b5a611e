import { join } from "node:path";
import type { Domain } from "../../contracts/domain.ts";
import { CancelledError, explain, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { ManifestEntry } from "../../contracts/manifest.ts";
import type { Index } from "../../contracts/search-index.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import { namesIn } from "../../lib/file-system.ts";
import { slicesOf } from "../../lib/slices-of.ts";
import { plural } from "../../lib/text.ts";
import { bytesBelow } from "../../mirror/bytes-below.ts";
import { garbage, purge } from "../../plan/removals.ts";
import { sweepOldDrafts } from "../crawl-draft.ts";
import { partsFor } from "../dry-run.ts";
import type { EngineParts } from "../engine-parts.ts";
import { finishErasures } from "../erase/erase.ts";
import {
  describeWaiting,
  isFree,
  isKnown,
  type OpenTree,
  PURGED_AT_ONCE,
  purgeMissingOf,
  withTree,
} from "../purge-missing.ts";
import { readDomain } from "../read-domain.ts";
import { finishRenames, waitingJob } from "../rename-domain.ts";
import { findRetired, sharesId } from "../retired-sources.ts";
import { withLedger } from "../with-ledger.ts";
import { type FreedKind, type FreedThing, type MaintenanceResult, MaintenanceTally } from "./maintenance-result.ts";

export interface MaintenanceRequest {
  /** undefined: all domains, and what belongs to none. */
  readonly domainId: DomainId | undefined;
  /** Also delete our uploads that are in no vector store. */
  readonly unreferenced: boolean;
  /** Do removals beyond the limits of a source instead of holding them. */
  readonly confirmDeletes: boolean;
}

export interface MaintenanceParts extends EngineParts {
  /** Deletes expired jobs, reports and files of killed processes, which belong to no domain. */
  removeOld(tally: MaintenanceTally, options: { readonly dryRun: boolean }): Promise<void>;
}

/** The context of one run. */
interface Maintenance {
  readonly request: MaintenanceRequest;
  readonly parts: MaintenanceParts;
  readonly job: JobContext;
  readonly tally: MaintenanceTally;
}

/** The index of a domain, as far as maintenance may touch it. */
interface MaintainedIndex {
  /** undefined: there is none, or it cannot be opened. */
  readonly index: Index | undefined;
  /** false: it cannot be opened; then nothing that it may hold is purged. */
  readonly isUsable: boolean;
}

/**
 * Removes unneeded data, source by source under the lease of its download step, so it never runs during a crawl of the
 * source. If manifest or map files are unreliable, nothing of their source is removed. Repeatable after a kill. A dry
 * run reports the same and changes nothing.
 */
export async function maintain(
  request: MaintenanceRequest,
  all: MaintenanceParts,
  job: JobContext,
): Promise<MaintenanceResult> {
  const parts = partsFor(all, job);
  const tally = new MaintenanceTally(job);
  const maintenance: Maintenance = { request, parts, job, tally };
  for (const domainId of await domainsOf(maintenance)) {
    await job.checkpoint();
    await attempt(`Domain '${domainId}'`, maintenance, async () => {
      job.log(`Domain '${domainId}'`);
      const domain = await unlessDeleted(domainId, maintenance);
      if (domain) await maintainDomain(domain, maintenance);
    });
  }
  await job.checkpoint();
  if (request.domainId === undefined) {
    await attempt("Old jobs, reports and temporary files", maintenance, () => parts.removeOld(tally, job));
  }
  if (request.unreferenced) await attempt("Uploads", maintenance, () => sweepUploads(maintenance));
  return tally.result(request.domainId ?? "");
}

async function domainsOf({ request, parts, job, tally }: Maintenance): Promise<readonly DomainId[]> {
  await finishRenames(parts, waitingJob(job), request.domainId);
  if (request.domainId !== undefined) return [request.domainId];
  const { domains, broken } = await parts.domains.list();
  for (const { domainId, reason } of broken) tally.problem(`Domain '${domainId}' was left alone: ${reason}`);
  return domains.map(({ domainId }) => domainId);
}

/** When all domains are maintained, skips one that is deleted meanwhile. */
async function unlessDeleted(domainId: DomainId, { request, parts, job }: Maintenance): Promise<Domain | undefined> {
  try {
    return await readDomain(domainId, parts, job);
  } catch (error) {
    if (error instanceof NotFoundError && request.domainId === undefined) return undefined;
    throw error;
  }
}

/** Stored plans expire after 30 days. */
const PLAN_LIFETIME_MS = 30 * 24 * 3600_000;

/** Also removes plans whose dry run did not finish. */
async function removeOldPlans({ domainId }: Domain, { parts, job, tally }: Maintenance): Promise<void> {
  const before = new Date(parts.now().getTime() - PLAN_LIFETIME_MS).toISOString();
  for (const plan of await parts.ledgers.plans.list(domainId)) {
    if (plan.madeAt >= before) continue;
    await job.checkpoint();
    await parts.ledgers.plans.discard(plan);
    tally.add({ kind: "plans", domain_id: domainId, source_id: "", what: plan.planId, bytes: 0 });
  }
}

async function maintainDomain(domain: Domain, maintenance: Maintenance): Promise<void> {
  await finishErasures(domain.domainId, maintenance.parts, maintenance.job);
  await removeOldPlans(domain, maintenance);
  const opened = await openIndex(domain, maintenance);
  const { parts, job } = maintenance;
  const retired = await findRetired(domain, parts);
  for (const config of domain.sources.filter(({ kind }) => !kind.abilities.hasIds)) {
    await job.checkpoint();
    const run = { domainId: domain.domainId, config, sharesId: sharesId(config, retired) };
    await attempt(`Source '${config.sourceId}' of domain '${domain.domainId}'`, maintenance, () =>
      maintainTree(run, opened, maintenance),
    );
  }
  if (!opened.index?.retained) return;
  const { index } = opened;
  await attempt(`The index of domain '${domain.domainId}'`, maintenance, async () => {
    const drafts = await sweepOldDrafts(index, { domain, job }, parts);
    maintenance.tally.addMany("index_leftovers", drafts, 0);
  });
  const pace = { checkpoint: () => job.checkpoint() };
  const { documents, texts, bytes } = await opened.index.retained.collectGarbage(pace);
  maintenance.tally.addMany("index_leftovers", documents + texts, bytes);
}

/** A failure does not stop the rest. */
async function attempt(what: string, { tally }: Maintenance, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    tally.problem(`${what} was left alone: ${explain(error)}`);
  }
}

async function openIndex(domain: Domain, { parts, job, tally }: Maintenance): Promise<MaintainedIndex> {
  const { domainId, vectorStoreId } = domain;
  if (vectorStoreId === "") return { index: undefined, isUsable: true };
  try {
    return { index: await parts.backend.openIndex(vectorStoreId, domainId, job.signal), isUsable: true };
  } catch (error) {
    if (job.signal.aborted) throw new CancelledError("maintenance stopped", { cause: error });
    tally.problem(`The vector store of domain '${domainId}' could not be opened: ${explain(error)}`);
    return { index: undefined, isUsable: false };
  }
}

async function sweepUploads({ parts, job, tally }: Maintenance): Promise<void> {
  if (!parts.backend.sweepUploads) return tally.leave("This backend keeps no uploads of crawled files.");
  const { domains } = await parts.domains.list();
  const stores = domains.flatMap(({ vectorStoreId }) => vectorStoreId || []);
  const watch = { signal: job.signal, report: (line: string): void => job.log(line) };
  const pace = { checkpoint: () => job.checkpoint() };
  const { removed, unknown } = await parts.backend.sweepUploads({ stores, ...pace, ...watch });
  for (const { fileId, bytes } of removed) {
    tally.add({ kind: "uploads", domain_id: "", source_id: "", what: fileId, bytes });
  }
  if (unknown > 0) {
    tally.leave(`${unknown} further uploads are in no vector store and of unknown origin, so they stay.`);
  }
}

const ASKED_AT_ONCE = 1000;

/** Removes unneeded data of one tree from manifest, knowledge base and index. */
async function maintainTree(run: SourceRun, opened: MaintainedIndex, maintenance: Maintenance): Promise<void> {
  const { parts, job, tally } = maintenance;
  if (!(await isKnown(run, parts))) {
    for await (const _ of parts.openKnowledge(run).list()) {
      const whose = `Source '${run.config.sourceId}' of domain '${run.domainId}'`;
      return tally.leave(`${whose} has no manifest, so its knowledge base was left alone. A crawl makes one.`);
    }
    return;
  }
  await withTree(run, parts, job, async (tree) => {
    const work: MaintainedTree = { ...maintenance, job: tree.job, tree };
    // First: every other change of the knowledge base clears the staging folder, too.
    await sweepStaging(work);
    await pruneEntries(work);
    await sweepFolders(work);
    await pruneVersions(work);
    if (opened.index) await sweepIndex(opened.index, work);
    // Last, so that the steps before see the same state as in a dry run.
    if (opened.isUsable) await purgeExpired(opened.index, work);
  });
  await parts.ledgers.exportManifest(run);
}

async function purgeExpired(index: Index | undefined, { tree, parts, tally }: MaintainedTree): Promise<void> {
  const { purged, waiting } = await purgeMissingOf(tree, index, parts);
  for (const { path } of purged) tally.add(thing("purged_documents", tree, path, 0));
  if (waiting > 0) tally.leave(describeWaiting(waiting));
}

/**
 * Drops expired entries of deleted files, with their texts and users' properties: the entry last, so that a killed run is repeated.
 * Until then a file that returns is the same document.
 */
async function pruneEntries({ tree, parts, job, tally }: MaintainedTree): Promise<void> {
  const wait = { retention: parts.retention, now: parts.now(), isFree: await isFree(tree, parts) };
  const { manifest } = tree.ledger;
  const { knowledge } = tree;
  for await (const page of manifest.withStatus("deleted")) {
    const { go: over } = purge(page, wait);
    await forgetMetadata(over, tree, parts);
    for (const { docId, path } of over) {
      await job.checkpoint();
      const bytes = await knowledge.remove(docId);
      manifest.drop(docId);
      tally.add(thing("manifest_entries", tree, path, bytes));
    }
    await manifest.flush();
  }
}

async function forgetMetadata(
  entries: readonly ManifestEntry[],
  { run, job }: OpenTree,
  { ledgers: { metadata } }: EngineParts,
): Promise<void> {
  if (entries.length === 0) return;
  const itemIds = entries.map(({ docId }) => docId);
  for (const warning of await metadata.remove(run.domainId, { itemIds })) job.log(`WARNING: ${warning}`);
}

/** The lease guarantees that no run uses the staging folder. */
async function sweepStaging({ tree, tally }: MaintainedTree): Promise<void> {
  const staging = join(tree.folder, ".staging");
  const left = await namesIn(staging);
  const sizes = await Promise.all(left.map((name) => bytesBelow(join(staging, name))));
  await tree.knowledge.recover();
  for (const [at, name] of left.entries()) tally.add(thing("staging", tree, name, sizes[at] ?? 0));
}

async function sweepFolders({ tree, request, parts, job, tally }: MaintainedTree): Promise<void> {
  const orphans: ItemId[] = [];
  const some: ItemId[] = [];
  let known = 0;
  for await (const docId of tree.knowledge.list()) {
    known += 1;
    some.push(docId);
    if (some.length === ASKED_AT_ONCE) orphans.push(...(await unknownOf(some.splice(0), { tree, parts })));
  }
  orphans.push(...(await unknownOf(some, { tree, parts })));
  const { go, held } = decideLeftovers(orphans, known, tree, request);
  if (held) tally.problem(`${plural(orphans.length, "folder")} of ${nameOf(tree)} stayed: ${held}`);
  for (const docId of go) {
    await job.checkpoint();
    const bytes = await tree.knowledge.remove(docId);
    tally.add(thing("document_folders", tree, docId, bytes));
  }
}

/**
 * Deletes expired versions, except of deleted files, whose entries expire as a whole. The manifest first: after a kill, the next run
 * deletes versions that it no longer names.
 */
async function pruneVersions({ tree, parts, job, tally }: MaintainedTree): Promise<void> {
  const now = parts.now();
  const mayGo = await isFree(tree, parts);
  const isPruned = ({ docId, status, versions }: ManifestEntry): boolean =>
    status !== "deleted" && versions.length > 1 && mayGo({ docId });
  const { manifest } = tree.ledger;
  for await (const page of manifest.entries()) {
    for (const entry of page.filter(isPruned)) {
      await job.checkpoint();
      const outdated = await tree.knowledge.outdated(entry.docId, parts.retention, now);
      if (outdated.versions.length === 0) continue;
      const versions = entry.versions.filter(({ versionId }) => !outdated.versions.includes(versionId));
      manifest.put({ ...entry, versions });
      await manifest.flush();
      await tree.knowledge.prune(entry.docId, parts.retention, now);
      tally.addMany("versions", outdated.versions.length, outdated.bytes);
      job.log(`${entry.path}: ${plural(outdated.versions.length, "earlier version")} beyond what is kept.`);
    }
  }
}

/**
 * Removes documents without a manifest entry: visible ones that a crawl would not know, and retained ones whose file
 * could not be recognised if it returned.
 */
async function sweepIndex(index: Index, work: MaintainedTree): Promise<void> {
  const { tree, request, tally } = work;
  if (tree.run.sharesId) {
    return tally.leave(
      `What the index holds of ${nameOf(tree)} was left alone: a source that was taken out had the same id, and is not gone yet. A crawl of the whole domain removes it.`,
    );
  }
  const visible = await visibleOrphans(index, work);
  const hidden = await hiddenOrphans(index, work);
  const orphans = [...visible.items, ...hidden.items];
  const { held } = decideLeftovers(orphans, visible.known + hidden.known, tree, request);
  if (held) {
    return tally.problem(`${plural(orphans.length, "document")} in the index of ${nameOf(tree)} stayed: ${held}`);
  }
  if (visible.items.length > 0) await removeVisible(index, visible.items, work);
  for (const docId of visible.items) tally.add(thing("index_documents", tree, docId, 0));
  const { sourceId } = tree.run.config;
  let shown = 0;
  for (const some of slicesOf(hidden.items, PURGED_AT_ONCE)) {
    const retained = new Set(await index.retained?.purge(sourceId, some));
    // They cannot be recognised if they return, so nothing is retained for that.
    await index.retained?.endGracePeriod(sourceId, [...retained]);
    for (const docId of some) if (!retained.has(docId)) tally.add(thing("index_documents", tree, docId, 0));
    shown += retained.size;
  }
  if (shown > 0) {
    tally.leave(
      `${plural(shown, "document")} without a manifest entry ${shown === 1 ? "leaves" : "leave"} the index of ${nameOf(tree)} with the last kept generation that shows them.`,
    );
  }
}

interface Orphans {
  readonly items: readonly ItemId[];
  readonly known: number;
}

/** Documents with a file in the mirror are left for the next crawl. */
async function visibleOrphans(index: Index, { tree, parts, job }: MaintainedTree): Promise<Orphans> {
  const items: ItemId[] = [];
  let known = 0;
  for await (const refs of index.holdings(tree.run.config.sourceId)) {
    await job.checkpoint();
    known += refs.length;
    const candidates = await orphansOf(
      refs.map(({ itemId }) => itemId),
      { tree, parts },
    );
    const entries = await tree.ledger.getMany(candidates);
    items.push(...candidates.filter((_, at) => !entries[at]?.mirrored));
  }
  return { items, known };
}

async function hiddenOrphans(index: Index, { tree, parts, job }: MaintainedTree): Promise<Orphans> {
  const items: ItemId[] = [];
  let known = 0;
  for await (const page of index.retained?.listHidden(tree.run.config.sourceId) ?? []) {
    await job.checkpoint();
    known += page.length;
    items.push(...(await orphansOf(page, { tree, parts })));
  }
  return { items, known };
}

/**
 * Removes visible documents like a crawl: in one commit, under the lease of the embed step, and from the map file.
 * Counts as part of the last crawl, so that no kept generation is dropped for it.
 */
async function removeVisible(index: Index, items: readonly ItemId[], work: MaintainedTree): Promise<void> {
  const { tree, request, parts } = work;
  await withLedger(tree.run, { step: "embed" }, parts, work.job, async ({ ledger, job }) => {
    const [newest] = (await index.generations?.list()) ?? [];
    const draft = await index.draft(tree.run.config.sourceId, newest?.crawl);
    try {
      for (const itemId of items) await draft.remove(itemId);
      await draft.commit(job.signal, { allowEmpty: request.confirmDeletes });
    } catch (error) {
      await draft.discard();
      throw error;
    }
    for (const itemId of items) ledger.put(itemId, { indexed: null });
    await ledger.flush();
  });
}

/** A tree under its lease. */
interface MaintainedTree extends Maintenance {
  readonly tree: OpenTree;
}

/** Returns documents that are not in the manifest, not even as deleted, and have no hold. */
async function unknownOf(
  docIds: readonly ItemId[],
  { tree, parts }: Pick<MaintainedTree, "tree" | "parts">,
): Promise<readonly ItemId[]> {
  const known = await tree.ledger.manifest.find(docIds);
  const mayGo = await isFree(tree, parts);
  return docIds.filter((docId) => !known.has(docId) && mayGo({ docId }));
}

/** Returns documents without a hold whose file is neither present nor may return. */
async function orphansOf(
  docIds: readonly ItemId[],
  { tree, parts }: Pick<MaintainedTree, "tree" | "parts">,
): Promise<readonly ItemId[]> {
  const known = await tree.ledger.manifest.find(docIds);
  const mayGo = await isFree(tree, parts);
  return docIds.filter((docId) => (known.get(docId)?.status ?? "deleted") === "deleted" && mayGo({ docId }));
}

/** `held`: why they stay, or "". A manifest restored from a backup looks like a mass deletion. */
function decideLeftovers(
  leftovers: readonly ItemId[],
  known: number,
  { run }: OpenTree,
  { confirmDeletes }: { readonly confirmDeletes: boolean },
): { readonly go: readonly ItemId[]; readonly held: string } {
  const missing = leftovers.length;
  const guard = { known, listed: known - missing, limits: run.config.limits, confirmDeletes };
  const { go, heldBecause } = garbage(leftovers, { isCertain: true, guard });
  if (heldBecause === "") return { go, held: "" };
  const held = `that is ${missing} of ${known}, more than goes without a confirmation. If it is meant, confirm it with confirm_deletes=true (on the command line: --confirm-deletes).`;
  return { go, held };
}

export function nameOf({ run }: OpenTree): string {
  return `source '${run.config.sourceId}' of domain '${run.domainId}'`;
}

function thing(kind: FreedKind, { run }: OpenTree, what: string, bytes: number): FreedThing {
  return { kind, domain_id: run.domainId, source_id: run.config.sourceId, what, bytes };
}
