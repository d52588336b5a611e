import type { Domain } from "../contracts/domain.ts";
import { CancelledError, ConflictError } from "../contracts/errors.ts";
import type { DomainId, JobId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Lease } from "../contracts/lease.ts";
import {
  beginRename,
  checkRename,
  type DomainRename,
  endRename,
  hasMoved,
  moveDomain,
} from "../domains/domain-rename.ts";
import type { EngineParts } from "./engine-parts.ts";
import { finishRename, ownedStores, sourceRoots } from "./finish-rename.ts";
import { leaseSources } from "./lease-sources.ts";
import { leaseRenames, settleAll, waitingJob } from "./settle-renames.ts";

export interface RenameParts extends EngineParts {
  /** A job that works on the domain, besides this one. */
  busyWith(domainId: DomainId, except: JobId | undefined): Promise<JobId | undefined>;
}

export interface RenamedDomain {
  /** Under its new id. */
  readonly domain: Domain;
  /** What was renamed, or would be, one sentence each. */
  readonly changes: readonly string[];
}

/**
 * Refuses what cannot be renamed: NotFoundError, BadInputError for a name that is taken, ConflictError for a domain in use,
 * RemoteError for a store that cannot be reached: once the domain has moved there is no way back, only forward.
 */
export async function planRename(
  rename: DomainRename,
  parts: RenameParts,
  { signal, jobId }: Pick<JobContext, "signal"> & Partial<Pick<JobContext, "jobId">>,
): Promise<RenamedDomain> {
  const { from, to } = rename;
  const domain = await parts.domains.get(from);
  await checkRename(parts, rename);
  await refuseWhileBusy(rename, parts, jobId);
  const changes = [`domains/${from} and crawler/${from} become domains/${to} and crawler/${to}.`];
  const roots = await sourceRoots(from, parts);
  for (const { root } of roots) changes.push(`The paths in the map files of crawler/${root} begin with '${to}'.`);
  for (const store of await ownedStores(domain, roots, parts)) {
    const index = await parts.backend.openIndex(store, from, signal);
    if (index) changes.push(`What the vector store '${store}' holds of '${from}' is marked as that of '${to}'.`);
  }
  return { domain: { ...domain, domainId: to }, changes };
}

/**
 * Gives a domain another id and takes everything it has along: mirror, maps, metadata, marks in the index. The next crawl
 * finds nothing to do. Killed before the domain has moved, nothing has happened; killed later, the next crawl of it, the
 * next rename, or the next start of a server completes it.
 */
export async function renameDomain(rename: DomainRename, parts: RenameParts, job: JobContext): Promise<RenamedDomain> {
  const plan = await planRename(rename, parts, job);
  if (job.dryRun) {
    for (const line of plan.changes) job.log(line);
    return plan;
  }
  try {
    // Not later: whoever is paused must not hold the lease that all other renames wait for.
    await job.checkpoint();
    await renameAlone(rename, parts, job);
  } catch (error) {
    if (job.signal.aborted) throw new CancelledError("the rename was stopped", { cause: error });
    throw error;
  }
  return { ...plan, domain: await parts.domains.get(rename.to) };
}

async function renameAlone(rename: DomainRename, parts: RenameParts, job: JobContext): Promise<void> {
  const waiting = waitingJob(job);
  const lease = await leaseRenames(parts, waiting);
  try {
    await settleAll(parts, waiting);
    await beginRename(parts, rename);
    await moveWhenIdle(rename, parts, job);
    await finishRename(rename, parts, waiting).catch((error: unknown) => {
      job.log(`The domain is called '${rename.to}' already. The next crawl of it takes along what is missing.`);
      throw error;
    });
  } finally {
    await lease.release();
  }
}

/**
 * The note is there already, so a crawl that begins now sees it and waits, and one that began before is seen here: of two
 * that look for each other after they have made themselves seen, one finds the other.
 */
async function moveWhenIdle(rename: DomainRename, parts: RenameParts, job: JobContext): Promise<void> {
  const leases: Lease[] = [];
  try {
    await refuseWhileBusy(rename, parts, job.jobId);
    leases.push(...(await leaseSources(rename.from, parts, `job ${job.jobId}`)));
    job.signal.throwIfAborted();
    job.log(`Renaming domain '${rename.from}' to '${rename.to}'...`);
    await parts.ledgers.release(rename.from);
    await moveDomain(parts, rename);
  } catch (error) {
    // Once the domain has its new name, only the note knows what is still under the old one.
    if (!(await hasMoved(parts.domainsFolder, rename))) await endRename(parts.domainsFolder, rename);
    throw error;
  } finally {
    for (const lease of leases) await lease.release();
  }
}

async function refuseWhileBusy({ from }: DomainRename, parts: RenameParts, except: JobId | undefined): Promise<void> {
  const other = await parts.busyWith(from, except);
  if (other) throw new ConflictError(`Domain '${from}' is in use by job '${other}'. Cancel it, or wait for its end.`);
}
