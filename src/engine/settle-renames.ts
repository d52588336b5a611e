import { join } from "node:path";
import { explain } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Lease } from "../contracts/lease.ts";
import { type DomainRename, endRename, hasMoved, unfinishedRenames } from "../domains/domain-rename.ts";
import { acquireLease } from "../lib/file-lease.ts";
import type { EngineParts } from "./engine-parts.ts";
import { finishRename, type RenameWatch } from "./finish-rename.ts";

/** Somebody who may have to wait, in words for whoever waits for them. */
export type Waiting = RenameWatch & { readonly owner: string };

/**
 * Waits for renames that are under way, and completes those that a crash interrupted; one that had not moved its domain
 * yet is taken back. Without `about`, all of them. Throws when one of those cannot be completed; what becomes of others is
 * in the log only. Costs one look at a folder when there are none.
 */
export async function settleRenames(parts: EngineParts, waiting: Waiting, about?: DomainId): Promise<void> {
  const concerns = ({ from, to }: { from: DomainId; to: DomainId }): boolean =>
    about === undefined || from === about || to === about;
  if (!(await unfinishedRenames(parts.domainsFolder)).some(concerns)) return;
  const lease = await leaseRenames(parts, waiting);
  try {
    const [stuck] = (await settleAll(parts, waiting)).filter(({ rename }) => concerns(rename));
    if (stuck) throw stuck.error;
  } finally {
    await lease.release();
  }
}

/** A rename that could not be completed now. */
export interface StuckRename {
  readonly rename: DomainRename;
  readonly error: unknown;
}

/** Only for whoever holds the lease: nobody is at work on them, then. One that is stuck does not hold up the others. */
export async function settleAll(parts: EngineParts, watch: RenameWatch): Promise<StuckRename[]> {
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

/** One rename at a time, in whichever process. */
export function leaseRenames({ domainsFolder }: EngineParts, { signal, log, owner }: Waiting): Promise<Lease> {
  const onWait = (holder: string): void => log(`Waiting for ${holder}, which is renaming a domain.`);
  return acquireLease(join(domainsFolder, ".lockstep", "renaming"), { owner, signal, onWait });
}
