import type { LedgerEntry } from "../contracts/ledger.ts";
import { plural } from "../lib/text.ts";
import { garbage } from "../plan/removals.ts";
import type { StepCounts } from "./crawl-request.ts";
import { logDone } from "./dry-run.ts";
import type { DownloadPlan } from "./make-plan.ts";
import { FETCHED } from "./planned-changes.ts";
import type { DownloadStep } from "./run-context.ts";

type MirrorStep = Pick<DownloadStep, "ledger" | "mirror" | "converter">;

/** The state after the plan was applied. */
interface Applied {
  readonly counts: StepCounts;
  /** Earlier paths of files that were moved back. */
  readonly returned: ReadonlySet<string>;
  /** The comparison of an idle run, made before; undefined: not made yet. */
  readonly before: MirrorComparison | undefined;
}

/**
 * Checks at the end of every download that the disk has the files of the ledger, and no others. Files without a ledger
 * entry are deleted, but only after a complete listing: they may be the last copy of something.
 */
export async function verifyMirror(
  plan: DownloadPlan,
  { counts, returned, before }: Applied,
  step: MirrorStep & Pick<DownloadStep, "job">,
): Promise<void> {
  const { mirror, job } = step;
  const { files, missing, orphans } = before ?? (await compareMirror(plan, step));
  for (const file of missing) logDone(job, `WARNING: '${file}' is missing on disk; the next run fetches it again.`);
  for (const file of orphans) {
    await mirror.remove(file);
    logDone(job, `Deleted orphan '${file}': no item has it.`, `  DELETE ORPHAN '${file}': no item has it`);
  }
  const corrected = Math.max(0, plan.size.healed - counts.failed);
  logDone(
    job,
    corrected + orphans.length + returned.size > 0
      ? `Integrity check corrected: ${corrected} missing, ${orphans.length} orphans deleted, ${returned.size} moved`
      : `Integrity check passed: ${plural(files - missing.length, "file")} verified`,
  );
  if (plan.hashed > 0)
    logDone(job, `Read ${plural(plan.hashed, "file")} to the last byte and compared with what was downloaded.`);
}

interface MirrorComparison {
  /** Files in the ledger. */
  readonly files: number;
  readonly missing: readonly string[];
  /** Files without a ledger entry; empty unless the listing was complete. */
  readonly orphans: readonly string[];
}

async function compareTouched({ items }: DownloadPlan, { ledger, mirror }: MirrorStep): Promise<MirrorComparison> {
  const missing: string[] = [];
  for await (const page of items.items("download", ["moved", ...FETCHED])) {
    for (const entry of await ledger.getMany(page.map(({ itemId }) => itemId))) {
      const file = entry?.mirrored?.file ?? "";
      if (file && !mirror.find(file)) missing.push(file);
    }
  }
  return { files: await ledger.countFiles(), missing, orphans: [] };
}

export async function compareMirror(plan: DownloadPlan, step: MirrorStep): Promise<MirrorComparison> {
  const { ledger, mirror } = step;
  const { disk, startedAtMs, detected, delta } = plan;
  const isIdle = plan.size.removed + plan.size.moved + plan.size.fetched === 0;
  // Every file was found when its item was judged, and the ledger has no others.
  if (isIdle && plan.found === disk.size && (await ledger.countFiles()) === disk.size) {
    return { files: disk.size, missing: [], orphans: [] };
  }
  if (delta?.isOfNamedFolders) return await compareTouched(plan, step);
  const few = delta?.inSync && (await compareChanged(plan, await compareTouched(plan, step), step));
  if (few) return few;
  const missing = new Set<string>();
  let [files, found] = [0, 0];
  const tables = new Set<string>();
  for await (const page of ledger.states()) {
    for (const { file } of page) {
      if (!file || tables.has(file)) continue;
      // Rows of a list share their table.
      if (mirror.isOriginal(file)) tables.add(file);
      files += 1;
      const isKnown = disk.has(file);
      if (isKnown) found += 1;
      // Look again: another step may have moved it since the scan, and what this run changed must be there now.
      if ((!isKnown || disk.changed.has(file)) && !mirror.find(file)) missing.add(file);
    }
  }
  const sawEverything = detected.completeness === "complete" && detected.unreadable.length === 0;
  // Deleting orphans is not in the approved plan.
  const isCertain = sawEverything && plan.unapproved === undefined;
  if (!isCertain || found === disk.size) return { files, missing: [...missing], orphans: [] };
  const unowned = await findUnowned(disk, step);
  // A file placed since this run began may belong to another step, whose rows were not read.
  const isOrphan = (file: string): boolean => (mirror.find(file)?.placedAtMs ?? startedAtMs) < startedAtMs;
  const { go } = garbage([...unowned].filter(isOrphan), { isCertain, guard: "none" });
  return { files, missing: [...missing], orphans: go };
}

/**
 * Ledger and mirror matched before: checks only the files that this run changed. undefined: something is wrong, or the
 * number of files differs.
 */
async function compareChanged(
  { disk }: DownloadPlan,
  { files, missing }: MirrorComparison,
  { ledger }: MirrorStep,
): Promise<MirrorComparison | undefined> {
  if (missing.length > 0 || files !== disk.size) return undefined;
  const owned = await ledger.filesAmong(disk.changed);
  for (const file of disk.changed) if (owned.has(file) !== disk.has(file)) return undefined;
  return { files, missing: [], orphans: [] };
}

/** Returns files that belong neither to an item nor to a document made from it. */
async function findUnowned(disk: DownloadPlan["disk"], step: MirrorStep): Promise<ReadonlySet<string>> {
  const unowned = new Set(disk.keys());
  const originals = step.mirror.originalsAmong(disk.keys());
  for await (const entries of step.ledger.entries()) {
    for (const entry of entries) {
      if (!entry.mirrored?.file) continue;
      unowned.delete(entry.mirrored.file);
      const companion = companionOf(entry, originals, step);
      if (companion) unowned.delete(companion);
    }
  }
  return unowned;
}

export function companionOf(
  { itemId, mirrored }: LedgerEntry,
  originals: ReadonlySet<string>,
  { mirror, converter }: Pick<MirrorStep, "mirror" | "converter">,
): string | undefined {
  if (!converter || !mirrored) return undefined;
  const item = { itemId, listItemId: mirrored.listItemId, name: mirrored.name };
  const path = mirror.relativePath(mirrored.file);
  if (mirror.isOriginal(mirrored.file)) return mirror.embeddedFile(converter.documentPath(item, path));
  const original = converter.originalPath(item, path, originals);
  return original === undefined ? undefined : mirror.originalFile(original);
}
