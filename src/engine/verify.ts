import type { JobContext } from "../contracts/job.ts";
import type { LedgerEntry } from "../contracts/ledger.ts";
import { plural } from "../lib/plural.ts";
import { MirrorDigest } from "../mirror/mirror-digest.ts";
import type { FileOnDisk } from "../mirror/visit-files.ts";
import { PARTS } from "./check-hashes.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import type { DownloadTools, Plan } from "./download.ts";
import type { News, View } from "./view-source.ts";

type VerifyTools = Pick<DownloadTools, "ledger" | "mirror" | "converter"> &
  Pick<View, "rotation"> & {
    /** Where files lay that are back in their places. */
    readonly returned: ReadonlySet<string>;
  };

export interface Checked {
  /** Of the mirror as it is now. */
  readonly digest: string;
  readonly files: number;
  /** Nothing is missing any more. */
  readonly inOrder: boolean;
  readonly hashesOwed: number;
  readonly nextHashes: number;
}

/**
 * The end of every download: does the disk hold what the ledger says, and nothing else? Files that no ledger entry knows
 * are deleted, but only after a complete look at the source; before that they may be all that is left of something.
 */
export async function verifyMirror(
  plan: Plan,
  tools: VerifyTools,
  request: CrawlRequest,
  job: JobContext,
  counts: StepCounts,
): Promise<Checked> {
  const { mirror, rotation } = tools;
  if (plan.news) return await verifyNews(plan, plan.news, tools, job, counts);
  const { known, disk, orphans } = await lookAgain(plan, tools);
  const missing = [...known].filter((file) => !disk.has(file));
  for (const file of missing) job.log(`WARNING: '${file}' is missing on disk; the next run fetches it again.`);
  for (const file of orphans) {
    await mirror.remove(file);
    disk.delete(file);
    job.log(`Deleted orphan '${file}': no item has it.`);
  }
  const corrected = Math.max(0, countHealed(plan.fetched) - counts.failed);
  job.log(
    corrected + orphans.length + tools.returned.size > 0
      ? `Integrity check corrected: ${corrected} missing, ${orphans.length} orphans deleted, ${tools.returned.size} moved`
      : `Integrity check passed: ${plural(known.size - missing.length, "file")} verified`,
  );
  if (plan.hashed > 0)
    job.log(`Read ${plural(plan.hashed, "file")} to the last byte and compared with what was downloaded.`);
  const paid = request.checksum ? PARTS : rotation.owed;
  const nextHashes = (rotation.next + paid) % PARTS;
  return {
    digest: MirrorDigest.of(disk).toString(),
    files: known.size,
    inOrder: missing.length === 0,
    hashesOwed: 0,
    nextHashes,
  };
}

/** Rows of a list share their export: lost, it is one thing that was missing. */
function countHealed(fetched: Plan["fetched"]): number {
  const healed = fetched.filter(({ anomaly }) => anomaly !== undefined);
  const ofTable = healed.filter(({ anomaly, sighting }) => anomaly === "original" && sighting.form === "row").length;
  return healed.length - Math.max(0, ofTable - 1);
}

/**
 * Everything was in its place before this run: what it touched has to be now, and it has to leave as many files as that makes. A
 * count that is wrong names no file, so the next run compares every one. So it does when somebody else touched a file: the
 * digest, which knows nothing of that, will not fit.
 */
async function verifyNews(
  plan: Plan,
  { settled, digest }: News,
  { ledger, mirror, rotation }: VerifyTools,
  job: JobContext,
  counts: StepCounts,
): Promise<Checked> {
  let inOrder = true;
  for (const entry of await ledger.getMany([...plan.moved, ...plan.fetched].map(({ itemId }) => itemId))) {
    const file = entry?.mirrored?.file ?? "";
    if (file === "" || mirror.find(file)) continue;
    job.log(`WARNING: '${file}' is missing on disk; the next run fetches it again.`);
    inOrder = false;
  }
  const { files } = digest;
  const expected = settled.files + counts.added - counts.removed;
  if (inOrder && files !== expected) {
    job.log(
      `WARNING: the mirror has ${plural(files, "file")} where ${expected} were expected; the next run compares all of them.`,
    );
    inOrder = false;
  }
  if (inOrder) job.log(`Integrity check passed: ${plural(files, "file")} verified`);
  const { owed: hashesOwed, next: nextHashes } = rotation;
  return { digest: digest.toString(), files, inOrder, hashesOwed, nextHashes };
}

/** What the check would delete, for a dry run. */
export async function previewOrphans(plan: Plan, tools: VerifyTools, job: JobContext): Promise<void> {
  if (plan.news) return;
  const { orphans } = await lookAgain(plan, tools);
  for (const file of orphans) if (!tools.returned.has(file)) job.log(`  DELETE ORPHAN '${file}': no item has it`);
}

/** What came to its place since this run began may be the work of another step, whose rows we have not read. */
function findOrphans(disk: ReadonlyMap<string, FileOnDisk>, isOrphan: (file: string) => boolean, plan: Plan): string[] {
  const orphans: string[] = [];
  for (const [file, { placedAtMs }] of disk) if (placedAtMs < plan.startedAtMs && isOrphan(file)) orphans.push(file);
  return orphans;
}

interface SecondLook {
  /** What the ledger has. */
  readonly known: ReadonlySet<string>;
  readonly disk: Map<string, FileOnDisk>;
  /** Files that nothing in the ledger stands for; none unless the look at the source showed everything. */
  readonly orphans: readonly string[];
}

/** Where nothing was done, what was seen of the disk still holds and is not read a second time. */
async function lookAgain(plan: Plan, tools: VerifyTools): Promise<SecondLook> {
  const touched = plan.removed.length + plan.moved.length + plan.fetched.length + tools.returned.size > 0;
  const disk = touched ? await tools.mirror.scan() : new Map(plan.disk);
  // Files that belong to what the ledger has: the original behind a document, the document an original will replace.
  const companions = new Set<string>();
  const known = new Set<string>();
  const originals = tools.mirror.originalsAmong(disk.keys());
  for await (const entries of tools.ledger.entries()) {
    for (const entry of entries) {
      if (!entry.mirrored?.file) continue;
      known.add(entry.mirrored.file);
      const companion = companionOf(entry, originals, tools);
      if (companion) companions.add(companion);
    }
  }
  const sawEverything = plan.detected.completeness === "complete" && plan.detected.unreadable.length === 0;
  const isOrphan = (file: string): boolean => !known.has(file) && !companions.has(file);
  return { known, disk, orphans: sawEverything ? findOrphans(disk, isOrphan, plan) : [] };
}

function companionOf(
  { itemId, mirrored }: LedgerEntry,
  originals: ReadonlySet<string>,
  { mirror, converter }: VerifyTools,
): string | undefined {
  if (!converter || !mirrored) return undefined;
  const item = { itemId, listItemId: mirrored.listItemId, name: mirrored.name };
  const path = mirror.relativePath(mirrored.file);
  if (mirror.isOriginal(mirrored.file)) return mirror.embeddedFile(converter.documentPath(item, path));
  const original = converter.originalPath(item, path, originals);
  return original === undefined ? undefined : mirror.originalFile(original);
}
