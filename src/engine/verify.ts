import type { JobContext } from "../contracts/job.ts";
import type { FileOnDisk } from "../mirror/mirror.ts";
import type { DownloadTools, Plan } from "./download.ts";

type VerifyTools = Pick<DownloadTools, "ledger" | "mirror"> & { readonly plan: Plan };

/**
 * The end of every download: files that no ledger entry knows are deleted, but only after a complete look at the
 * source; before that they may be all that is left of something.
 */
export async function verifyMirror(tools: VerifyTools, job: JobContext): Promise<void> {
  const { mirror, plan } = tools;
  const { known, disk } = await lookAgain(tools);
  const missing = [...known].filter((file) => !disk.has(file));
  for (const file of missing) job.log(`WARNING: '${file}' is missing on disk; the next run fetches it again.`);
  const orphans = plan.detected.completeness === "complete" ? findOrphans(disk, known, plan) : [];
  for (const file of orphans) {
    await mirror.remove(file);
    job.log(`Deleted orphan '${file}': no item has it.`);
  }
  job.log(
    orphans.length + missing.length > 0
      ? `Integrity check: ${missing.length} missing, ${orphans.length} orphans deleted`
      : `Integrity check passed: ${known.size} files verified`,
  );
}

/** What came to its place since this run began may be the work of another step, whose rows we have not read. */
function findOrphans(disk: ReadonlyMap<string, FileOnDisk>, known: ReadonlySet<string>, plan: Plan): string[] {
  const old = [...disk].filter(([, { placedAtMs }]) => placedAtMs < plan.startedAtMs);
  return old.map(([file]) => file).filter((file) => !known.has(file));
}

/** Where nothing was done, what detect saw of ledger and disk still holds and is not read a second time. */
async function lookAgain({ ledger, mirror, plan }: VerifyTools): Promise<{
  known: ReadonlySet<string>;
  disk: ReadonlyMap<string, FileOnDisk>;
}> {
  const touched = plan.removed.length + plan.moved.length + plan.fetched.length > 0;
  if (!touched) return { known: plan.kept, disk: plan.disk };
  const known = new Set<string>();
  for await (const entries of ledger.entries()) {
    for (const { mirrored } of entries) if (mirrored?.file) known.add(mirrored.file);
  }
  return { known, disk: await mirror.scan() };
}
