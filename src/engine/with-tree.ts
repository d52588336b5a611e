import { join } from "node:path";
import { ConflictError, NotFoundError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import { sourceLease } from "../contracts/lease.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Manifest } from "../contracts/manifest.ts";
import { KnowledgeBase } from "../mirror/knowledge/knowledge-base.ts";
import { sourceFolder } from "../mirror/layout.ts";
import type { EngineParts, SourceRun } from "./engine-parts.ts";
import { waitForLease, whileHeld } from "./with-ledger.ts";

/** A tree that nobody else is changing. */
export interface OpenTree {
  readonly run: SourceRun;
  /** Of the source, absolute. */
  readonly folder: string;
  readonly manifest: Manifest;
  readonly knowledge: KnowledgeBase;
  /** For reading only. */
  readonly ledger: Ledger;
  /** Fails at its next checkpoint when the lease was lost. */
  readonly job: JobContext;
}

export function folderOfRun({ domainId, config }: SourceRun, { crawlerFolder }: Pick<EngineParts, "crawlerFolder">) {
  return join(crawlerFolder, sourceFolder(domainId, config));
}

/**
 * Works on manifest and knowledge base under the lease of the source's download step; a dry run takes none and writes
 * nothing. Throws when the manifest or a map file cannot be relied on: what they do not tell may well be there. And when whoever
 * had the lease before took the domain or the manifest away: one that is not there must not be taken for an empty one.
 */
export async function withTree<T>(
  run: SourceRun,
  parts: EngineParts,
  job: JobContext,
  work: (tree: OpenTree) => Promise<T>,
): Promise<T> {
  const folder = folderOfRun(run, parts);
  if (job.dryRun) return await openAndWork({ run, folder, job, stillHeld: async () => true }, parts, work);
  const lease = await waitForLease(parts, run.domainId, sourceLease(run.config, "download"), job, { within: folder });
  try {
    const stillHeld = (): Promise<boolean> => lease.stillHeld();
    return await openAndWork({ run, folder, job: whileHeld(lease, job), stillHeld }, parts, work);
  } finally {
    await lease.release();
  }
}

type LeasedTree = Pick<OpenTree, "run" | "folder" | "job"> & { readonly stillHeld: () => Promise<boolean> };

async function openAndWork<T>(
  { run, folder, job, stillHeld }: LeasedTree,
  parts: EngineParts,
  work: (tree: OpenTree) => Promise<T>,
): Promise<T> {
  await parts.domains.get(run.domainId);
  if ((await parts.manifestVersion(folder)) === "") throw new NotFoundError("There is no manifest any more.");
  const ledger = await parts.ledgers.open(run, { readOnly: true });
  if (ledger.problems.length > 0) throw new ConflictError(ledger.problems.join("; "));
  const manifest = await parts.openManifest(folder, { readOnly: job.dryRun });
  let result: T;
  try {
    result = await work({ run, folder, manifest, knowledge: new KnowledgeBase(folder), ledger, job });
  } catch (error) {
    // The reason counts, also when the manifest cannot be closed any more; and what is somebody else's now is left alone.
    if (await stillHeld()) await manifest.close().catch(() => undefined);
    throw error;
  }
  await manifest.close();
  return result;
}
