import type { Domain } from "../../contracts/domain.ts";
import { CancelledError, explain, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { Index } from "../../contracts/search-index.ts";
import type { EngineParts } from "../engine-parts.ts";
import { readDomain } from "../read-domain.ts";
import { findRetired, sharesId } from "../retired-sources.ts";
import { settleRenames, waitingJob } from "../settle-renames.ts";
import { maintainTree } from "./maintain-tree.ts";
import { type MaintenanceResult, MaintenanceTally } from "./maintenance-result.ts";

export interface MaintenanceRequest {
  /** undefined: all of them, and what belongs to none. */
  readonly domainId: DomainId | undefined;
  /** Uploads of ours that no vector store holds go, too. */
  readonly unreferenced: boolean;
  /** Removals beyond the limits of a source are carried out instead of held. */
  readonly confirmDeletes: boolean;
}

export interface MaintenanceParts extends EngineParts {
  /** Takes away what is older than it is kept and belongs to no domain alone: jobs, reports, files of killed processes. */
  removeOld(tally: MaintenanceTally, options: { readonly dryRun: boolean }): Promise<void>;
}

/** What one run of it works with. */
export interface Maintenance {
  readonly request: MaintenanceRequest;
  readonly parts: MaintenanceParts;
  readonly job: JobContext;
  readonly tally: MaintenanceTally;
}

/** The index of a domain, as far as maintenance may touch it. */
export interface MaintainedIndex {
  /** undefined: there is none, so it holds nothing. */
  readonly index: Index | undefined;
  /** false: it cannot be opened, or somebody rolled it back; then nothing that it may hold is purged. Asked when it matters: they may do so any time. */
  isUsable(): Promise<boolean>;
}

/**
 * Takes away what nobody needs any more, source by source under the lease of its download step, so a crawl and this take
 * turns. Where manifest or map files cannot be relied on, nothing of their source is removed. Killed anywhere, it is
 * simply done again. A dry run tells the very same and changes nothing.
 */
export async function maintain(
  request: MaintenanceRequest,
  parts: MaintenanceParts,
  job: JobContext,
): Promise<MaintenanceResult> {
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
  await settleRenames(parts, waitingJob(job), request.domainId);
  if (request.domainId !== undefined) return [request.domainId];
  const { domains, broken } = await parts.domains.list();
  for (const { domainId, reason } of broken) tally.problem(`Domain '${domainId}' was left alone: ${reason}`);
  return domains.map(({ domainId }) => domainId);
}

/** Whoever maintains all of them does not miss one that somebody was deleting just then. */
async function unlessDeleted(domainId: DomainId, { request, parts, job }: Maintenance): Promise<Domain | undefined> {
  try {
    return await readDomain(domainId, parts, job);
  } catch (error) {
    if (error instanceof NotFoundError && request.domainId === undefined) return undefined;
    throw error;
  }
}

async function maintainDomain(domain: Domain, maintenance: Maintenance): Promise<void> {
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
  if (!opened.index?.cleanUp || !(await opened.isUsable())) return;
  const pace = { dryRun: job.dryRun, checkpoint: () => job.checkpoint() };
  const { documents, texts, bytes } = await opened.index.cleanUp(pace);
  maintenance.tally.addMany("index_leftovers", documents + texts, bytes);
}

/** One that fails does not keep the others. */
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
  if (vectorStoreId === "") return { index: undefined, isUsable: async () => true };
  try {
    const index = await parts.backend.openIndex(vectorStoreId, domainId, job.signal);
    let said = false;
    const isUsable = async (): Promise<boolean> => {
      if (!(await index?.generations?.state())?.pinned) return true;
      if (!said) tally.leave(`Domain '${domainId}' is rolled back: until it is released, nothing leaves its index.`);
      said = true;
      return false;
    };
    return { index, isUsable };
  } catch (error) {
    if (job.signal.aborted) throw new CancelledError("maintenance stopped", { cause: error });
    tally.problem(`The vector store of domain '${domainId}' could not be opened: ${explain(error)}`);
    return { index: undefined, isUsable: async () => false };
  }
}

async function sweepUploads({ parts, job, tally }: Maintenance): Promise<void> {
  if (!parts.backend.sweepUploads) return tally.leave("This backend keeps no uploads of crawled files.");
  const { domains } = await parts.domains.list();
  const stores = domains.flatMap(({ vectorStoreId }) => vectorStoreId || []);
  const watch = { signal: job.signal, report: (line: string): void => job.log(line) };
  const pace = { dryRun: job.dryRun, checkpoint: () => job.checkpoint() };
  const { removed, unknown } = await parts.backend.sweepUploads({ stores, ...pace, ...watch });
  for (const { fileId, bytes } of removed) {
    tally.add({ kind: "uploads", domain_id: "", source_id: "", what: fileId, bytes });
  }
  if (unknown > 0) {
    tally.leave(`${unknown} further uploads are in no vector store; nobody can tell whose they are, so they stay.`);
  }
}
