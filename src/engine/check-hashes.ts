import type { Change, ListedChange } from "../contracts/change.ts";
import { explain } from "../contracts/errors.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { fastHash, hashFile } from "../lib/hash.ts";
import type { Mirror } from "../mirror/mirror.ts";

/** Each run hashes another hundredth of the files: after 100 runs all were hashed. */
export const PARTS = 100;
const READS_AT_ONCE = 4;

/**
 * Whether the item's part is due. Size and time are compared in every run; hashing every file would cost as much as a
 * first crawl.
 */
export function isDue(item: ItemId, { owed, next }: { readonly owed: number; readonly next: number }): boolean {
  return (partOf(item) - next + PARTS) % PARTS < owed;
}

/** Stable, and spread evenly enough. */
function partOf(item: ItemId): number {
  return fastHash(item) % PARTS;
}

/**
 * Hashes a file before it counts as unchanged with a lost hash, or as moved: another file may have the same size and
 * time, for example after an earlier ledger was restored. Skips files that have not been touched on disk since we
 * placed them, so a large renamed folder is not read.
 */
export function confirmContent(change: Change, mirror: Mirror): Change | Promise<Change> {
  if (change.kind !== "unchanged" && change.kind !== "moved") return change;
  const mirrored = change.entry?.mirrored;
  if (!mirrored || (mirrored.observed && change.kind === "unchanged") || !mirror.owns(mirrored.file)) return change;
  const { file, observed, downloadedAt } = mirrored;
  if (observed && (mirror.find(file)?.placedAtMs ?? 0) <= Date.parse(downloadedAt)) return change;
  const expected = observed?.sha256 || change.sighting.contentHash;
  if (!expected) return change;
  return hashFile(mirror.bytesAt(file))
    .catch(() => "")
    .then((hash) => (hash === expected ? change : altered(change, "altered on disk: other content")));
}

function altered(change: ListedChange, reason: string): ListedChange {
  return { ...change, kind: "changed", reason, anomaly: "altered" };
}

/** Returns the files that have the right size and time and other bytes than we wrote. */
export async function findAltered(
  unchanged: readonly ListedChange[],
  mirror: Mirror,
  job: JobContext,
): Promise<ListedChange[]> {
  const found: ListedChange[] = [];
  await forEachConcurrent(unchanged, READS_AT_ONCE, async (change) => {
    await job.checkpoint();
    const mirrored = change.entry?.mirrored;
    if (!mirrored?.observed || !mirror.owns(mirrored.file)) return;
    try {
      if ((await hashFile(mirror.bytesAt(mirrored.file))) === mirrored.observed.sha256) return;
      found.push(altered(change, "altered on disk: other content"));
    } catch (error) {
      found.push(altered(change, `cannot be read: ${explain(error)}`));
    }
  });
  return found;
}
