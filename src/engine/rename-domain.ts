import { join } from "node:path";
import type { Domain } from "../contracts/domain.ts";
import { CancelledError, ConflictError, explain } from "../contracts/errors.ts";
import type { DomainId, JobId, VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Lease } from "../contracts/lease.ts";
import {
  beginRename,
  checkRename,
  type DomainRename,
  endRename,
  hasMoved,
  moveDomain,
  unfinishedRenames,
} from "../domains/domain-rename.ts";
import { acquireLease } from "../lib/file-lease.ts";
import type { EngineParts } from "./engine-parts.ts";
import { leaseSources, type SourceRoot, sourceRoots } from "./lease-sources.ts";

export interface RenameParts extends EngineParts {
  /** Returns another job that works on the domain. */
  busyWith(domainId: DomainId, except: JobId | undefined): Promise<JobId | undefined>;
}

export interface RenamedDomain {
  /** Under its new id. */
  readonly domain: Domain;
  /** What is renamed, one sentence each. */
  readonly changes: readonly string[];
}

/**
 * Throws NotFoundError, BadInputError for an id that is taken, ConflictError for a domain in use, RemoteError for a
 * store that cannot be reached: after the domain has moved, the rename can only be completed, not undone.
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
 * Gives a domain another id, with mirror, maps, metadata and marks in the index. The next crawl finds nothing to do.
 * After a kill before the domain has moved, nothing has happened; after a later one, the next crawl of it, the next
 * rename, or the next start of a server completes it.
 */
export async function renameDomain(rename: DomainRename, parts: RenameParts, job: JobContext): Promise<RenamedDomain> {
  const plan = await planRename(rename, parts, job);
  if (job.dryRun) {
    for (const line of plan.changes) job.log(line);
    return plan;
  }
  try {
    // Now, not later: a paused job must not hold the lease that all other renames wait for.
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
  await using _lease = await leaseRenames(parts, waiting);
  await finishAllRenames(parts, waiting);
  await beginRename(parts, rename);
  await moveWhenIdle(rename, parts, job);
  await finishRename(rename, parts, waiting).catch((error: unknown) => {
    job.log(`The domain is called '${rename.to}' already. The next crawl of it takes along what is missing.`);
    throw error;
  });
}

/**
 * Moves the domain unless a job works on it. The note is written already, so a crawl that begins now sees it and waits,
 * and one that began before is found here.
 */
async function moveWhenIdle(rename: DomainRename, parts: RenameParts, job: JobContext): Promise<void> {
  await using leases = new AsyncDisposableStack();
  try {
    await refuseWhileBusy(rename, parts, job.jobId);
    leases.use(await leaseSources(rename.from, parts, `job ${job.jobId}`));
    job.signal.throwIfAborted();
    job.log(`Renaming domain '${rename.from}' to '${rename.to}'...`);
    await parts.ledgers.release(rename.from);
    await moveDomain(parts, rename);
  } catch (error) {
    // Once the domain has its new name, only the note says what is still under the old one.
    if (!(await hasMoved(parts.domainsFolder, rename))) await endRename(parts.domainsFolder, rename);
    throw error;
  }
}

async function refuseWhileBusy({ from }: DomainRename, parts: RenameParts, except: JobId | undefined): Promise<void> {
  const other = await parts.busyWith(from, except);
  if (other) throw new ConflictError(`Domain '${from}' is in use by job '${other}'. Cancel it, or wait for its end.`);
}

/** Progress and cancellation of a rename. */
type RenameWatch = Pick<JobContext, "signal" | "log">;

/**
 * Moves everything else to the new id, once the domain itself has it. Repeatable: continues after a kill. The caller
 * must hold the lease of renames.
 */
async function finishRename(rename: DomainRename, parts: EngineParts, watch: RenameWatch): Promise<void> {
  const { from, to } = rename;
  await parts.ledgers.release(from);
  await moveDomain(parts, rename);
  await parts.ledgers.renameDomain(rename);
  const domain = await parts.domains.get(to);
  const roots = await sourceRoots(to, parts);
  const stores = await ownedStores(domain, roots, parts);
  const steps = roots.length + stores.length + 1;
  let at = 0;
  const begin = (line: string): void => {
    watch.signal.throwIfAborted();
    at += 1;
    watch.log(`[ ${at} / ${steps} ] ${line}`);
  };
  for (const { root, config } of roots) {
    begin(`Paths in the map files of crawler/${root}...`);
    if (config.kind.abilities.keepsMaps) {
      await (await parts.ledgers.open({ domainId: to, config }, { readOnly: false })).close();
    }
  }
  begin("Paths in files_metadata.json...");
  for (const warning of await parts.ledgers.metadata.write(to)) watch.log(`WARNING: ${warning}`);
  for (const store of stores) {
    begin(`Marks in the vector store '${store}'...`);
    const folders = { from: join(parts.crawlerFolder, from), to: join(parts.crawlerFolder, to) };
    const { signal } = watch;
    await parts.backend.changeOwner(store, { from, to, folders }, { signal, report: (line) => watch.log(line) });
  }
  await endRename(parts.domainsFolder, rename);
  watch.log(`Domain '${from}' is called '${to}' now.`);
}

/**
 * Returns stores with documents marked as the domain's: its own, superseded ones, one being built, and others it was
 * embedded into.
 */
async function ownedStores(
  { domainId, vectorStoreId }: Domain,
  roots: readonly SourceRoot[],
  parts: EngineParts,
): Promise<VectorStoreId[]> {
  const others = (await parts.ledgers.stores.list(domainId)).map((one) => one.vectorStoreId);
  const mapped = await parts.ledgers.indexedStores(
    domainId,
    roots.map(({ config }) => config),
  );
  return [...new Set([...(vectorStoreId ? [vectorStoreId] : []), ...others, ...mapped])];
}

/** A caller that may have to wait; `owner` is shown to others that wait for it. */
type Waiting = RenameWatch & { readonly owner: string };

/**
 * Waits for running renames and completes interrupted ones; one that had not moved its domain yet is undone. Without
 * `about`, all of them. Throws if one of those cannot be completed; failures of others are only logged. Cheap (one
 * readdir) if there are none.
 */
export async function finishRenames(parts: EngineParts, waiting: Waiting, about?: DomainId): Promise<void> {
  const concerns = ({ from, to }: { from: DomainId; to: DomainId }): boolean =>
    about === undefined || from === about || to === about;
  if (!(await unfinishedRenames(parts.domainsFolder)).some(concerns)) return;
  await using _lease = await leaseRenames(parts, waiting);
  const [stuck] = (await finishAllRenames(parts, waiting)).filter(({ rename }) => concerns(rename));
  if (stuck) throw stuck.error;
}

/** A rename that cannot be completed now. */
interface StuckRename {
  readonly rename: DomainRename;
  readonly error: unknown;
}

/** The caller must hold the lease of renames. A rename that fails does not stop the others. */
async function finishAllRenames(parts: EngineParts, watch: RenameWatch): Promise<StuckRename[]> {
  const stuck: StuckRename[] = [];
  for (const rename of await unfinishedRenames(parts.domainsFolder)) {
    const { from, to } = rename;
    try {
      if (await hasMoved(parts.domainsFolder, rename)) {
        watch.log(`Completing an interrupted rename of domain '${from}' to '${to}'...`);
        await finishRename(rename, parts, watch);
      } else {
        await endRename(parts.domainsFolder, rename);
      }
    } catch (error) {
      watch.signal.throwIfAborted();
      watch.log(`WARNING: the rename of domain '${from}' to '${to}' cannot be completed: ${explain(error)}`);
      stuck.push({ rename, error });
    }
  }
  return stuck;
}

export function waitingJob(job: JobContext): Waiting {
  return { signal: job.signal, log: (line) => job.log(line), owner: `job ${job.jobId}` };
}

/** One rename at a time, across processes. */
function leaseRenames({ domainsFolder }: EngineParts, { signal, log, owner }: Waiting): Promise<Lease> {
  const onWait = (holder: string): void => log(`Waiting for ${holder}, which is renaming a domain.`);
  return acquireLease(join(domainsFolder, ".lockstep", "renaming"), { owner, signal, onWait });
}
