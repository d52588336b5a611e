import type { ListedChange } from "../contracts/change.ts";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { Mirrored, Observed } from "../contracts/ledger.ts";
import type { Sighting, TableExport } from "../contracts/source.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { hashFile } from "../lib/hash.ts";
import { plural } from "../lib/text.ts";
import { nowUtcMicros } from "../lib/time.ts";
import type { Staged } from "../mirror/mirror.ts";
import { stopWhenFull } from "./disk-full.ts";
import type { DownloadPlan } from "./make-plan.ts";
import { type ApplyStep, namesOf } from "./move-items.ts";
import { STAYING } from "./planned-changes.ts";
import { Progress } from "./tally.ts";

/** Twice the concurrency of the source: while some are written to disk, others are downloading. */
const DOWNLOADS_AT_ONCE = 8;

/** Downloads the items; returns those that failed. Their existing files stay. */
export async function fetchItems(
  changes: Iterable<ListedChange> | AsyncIterable<ListedChange>,
  total: number,
  step: ApplyStep,
): Promise<ListedChange[]> {
  const { ledger, job } = step;
  const failed: ListedChange[] = [];
  const progress = new Progress(job, total);
  await forEachConcurrent(changes, DOWNLOADS_AT_ONCE, async (change) => {
    await job.checkpoint();
    try {
      progress.step(await fetchOne(change, step));
    } catch (error) {
      if (error instanceof CancelledError || job.signal.aborted)
        throw new CancelledError("download stopped", { cause: error });
      stopWhenFull(error);
      failed.push(change);
      recordFailure(change, explain(error), step);
      progress.step(`ERROR: ${withItem(change, explain(error))}`);
    }
    await ledger.flushNowAndThen();
  });
  await ledger.flush();
  return failed;
}

/** Adds the item to an error message that does not name it. */
function withItem({ sighting }: ListedChange, reason: string): string {
  return reason.startsWith("download ") ? reason : `download '${sighting.path}': ${reason}`;
}

async function fetchOne(change: ListedChange, step: ApplyStep): Promise<string> {
  const { source, ledger, mirror, claims, vacated, counts, job } = step;
  const { sighting, entry } = change;
  if (step.mayAdopt && (await adoptFileOnDisk(change, step))) {
    counts[change.kind] -= 1;
    counts.unchanged += 1;
    return `Found '${sighting.path}' in the mirror as it is at the source.`;
  }
  const fetched = await source.fetch(sighting, job.signal);
  if (fetched.status === "gone") {
    counts[change.kind] -= 1;
    counts.skipped += 1;
    // If it exists after all, our copy is outdated: the error makes the next run fetch it.
    const known = entry?.mirrored;
    if (known) ledger.put(change.itemId, { mirrored: { ...known, sourceError: "it was not there to be downloaded" } });
    return `'${sighting.path}' was deleted between listing and download.`;
  }
  if (fetched.status === "refused") throw new Error(fetched.reason);
  const staged = await mirror.stage(fetched.body, sighting.fingerprint.modifiedAt, job.signal);
  refuseOtherSize(sighting, staged.observed.size);
  const before = entry?.mirrored?.file ?? "";
  const path = claims.claim(sighting, before);
  const file = sighting.form === "original" ? mirror.originalFile(path) : mirror.embeddedFile(path);
  // On some disks both are one file, which keeps its spelling: remove the old one first.
  if (before !== file && before.toLowerCase() === file.toLowerCase()) await mirror.remove(before);
  const observed = await placeFile(staged, { file, before }, step).catch((error: unknown) => {
    claims.giveBack(change.itemId, file, before);
    throw error;
  });
  ledger.put(change.itemId, { mirrored: freshlyMirrored(sighting, file, observed) });
  // The old document stays until the process step replaces it.
  const replaced = sighting.form === "original" && mirror.relativePath(before) === path;
  if (before && before !== file && !replaced) vacated.push(before);
  return `Downloaded '${sighting.path}' (${observed.size} bytes): ${change.reason}.`;
}

const SHA256 = /^[0-9a-f]{64}(?=#|$)/;

/**
 * After the ledger was lost: adopts a file that lies at its path, if the source gives a content hash and the file has
 * it. Returns whether it was adopted; then it need not be fetched.
 */
async function adoptFileOnDisk(
  { itemId, sighting, entry }: ListedChange,
  { ledger, mirror, claims, vacated }: ApplyStep,
): Promise<boolean> {
  const [hash] = SHA256.exec(sighting.fingerprint.contentVersion) ?? [];
  if (!hash || sighting.form !== "document" || entry?.mirrored?.observed) return false;
  const before = entry?.mirrored?.file ?? "";
  const wanted = mirror.embeddedFile(claims.claim(sighting, before));
  for (const file of [wanted, mirror.failedFile(wanted)]) {
    const found = mirror.find(file);
    if (!found || (await hashFile(mirror.bytesAt(file))) !== hash) continue;
    const { size, mtimeMs } = found;
    ledger.put(itemId, { mirrored: freshlyMirrored(sighting, file, { size, mtimeMs, sha256: hash }) });
    if (before && before !== file) vacated.push(before);
    return true;
  }
  claims.giveBack(itemId, wanted, before);
  return false;
}

/**
 * Puts a staged file in its place. If a file became a folder of the same name, or the reverse, removes vacated files
 * first.
 */
async function placeFile(
  staged: Staged,
  { file, before }: { readonly file: string; readonly before: string },
  step: ApplyStep,
): Promise<Observed> {
  try {
    return await step.mirror.place(staged, file);
  } catch (error) {
    if (!isErrno(error, "ENOTDIR", "EISDIR", "ENOTEMPTY", "EEXIST")) throw error;
    if (before !== "" && before !== file) step.vacated.push(before);
    await removeVacated(step);
    return await step.mirror.place(staged, file);
  }
}

/**
 * Removes files whose items moved to another file. One that cannot be removed becomes an orphan, for the integrity
 * check.
 */
export async function removeVacated(step: ApplyStep): Promise<void> {
  const { mirror, vacated, job } = step;
  for (const file of vacated.splice(0)) {
    try {
      if (await isUnused(file, step)) await mirror.remove(file);
    } catch (error) {
      job.log(`WARNING: remove '${file}': ${explain(error)}`);
    }
  }
}

/** Whether no item took the path: a name that differs only by case did so only if the disk ignores case. */
async function isUnused(file: string, { claims, mirror, ledger }: ApplyStep): Promise<boolean> {
  if (claims.isFree(file)) return true;
  const owner = claims.ownerOf(file);
  const theirs = owner === undefined ? "" : ((await ledger.get(owner))?.mirrored?.file ?? "");
  return theirs !== "" && mirror.areApart(file, theirs);
}

function freshlyMirrored(sighting: Sighting, file: string, observed: Mirrored["observed"]): Mirrored {
  const errors = { sourceError: "", processingError: "" };
  return { ...namesOf(sighting), file, downloadedAt: nowUtcMicros(), ...errors, observed };
}

/** File types that SharePoint rewrites on upload, so the listed size may be wrong. */
const REWRITTEN = /^(doc|dot|xls|xlt|xla|ppt|pot|pps|vs|one|pub|mpp|htm|asp|msg|eml)/;

/**
 * Throws if the body has another size than listed: it may be truncated, or a sign-in page. Skipped where the listed
 * size is not that of the bytes. If the file changed since it was listed, the next listing says so.
 */
function refuseOtherSize(sighting: Sighting, bytes: number): void {
  const { size } = sighting.fingerprint;
  const isUnknown = size === 0 || sighting.form === "original" || REWRITTEN.test(fileTypeOf(sighting.name));
  if (bytes === size || isUnknown) return;
  throw new Error(`received ${bytes} bytes instead of the ${size} listed`);
}

/** Records the error; the existing file stays, and the next run tries again. */
function recordFailure(change: ListedChange, reason: string, { ledger }: ApplyStep): void {
  const known = change.entry?.mirrored;
  const mirrored: Mirrored = known
    ? { ...known, sourceError: reason }
    : {
        ...namesOf(change.sighting),
        file: "",
        downloadedAt: "",
        sourceError: reason,
        processingError: "",
        observed: null,
      };
  ledger.put(change.itemId, { mirrored });
}

/**
 * Writes the table with all rows, including unchanged ones, then records in the ledger which rows wait for the process
 * step. Returns the rows that failed.
 */
export async function placeRows(
  rows: readonly ListedChange[],
  plan: DownloadPlan,
  step: ApplyStep,
): Promise<readonly ListedChange[]> {
  const { source, ledger, mirror, job } = step;
  if (!source.table) return [];
  const file = mirror.originalFile(source.table.path);
  try {
    await writeTable(source.table, file, plan, step);
  } catch (error) {
    if (error instanceof CancelledError || job.signal.aborted)
      throw new CancelledError("export stopped", { cause: error });
    stopWhenFull(error);
    job.log(`ERROR: export '${source.table.path}': ${explain(error)}`);
    for (const row of rows) recordFailure(row, `export '${source.table.path}': ${explain(error)}`, step);
    await ledger.flush();
    return rows;
  }
  for (const { itemId, sighting } of rows) {
    ledger.put(itemId, { mirrored: freshlyMirrored(sighting, file, null) });
  }
  await ledger.flush();
  job.log(`Exported '${source.table.path}': ${plural(rows.length, "row is", "rows are")} new or changed.`);
  return [];
}

async function writeTable(
  table: TableExport,
  file: string,
  plan: DownloadPlan,
  { ledger, mirror, job }: ApplyStep,
): Promise<void> {
  const before = plan.disk.has(file) ? mirror.absolute(file) : undefined;
  const kept = new Set<number>();
  for await (const page of plan.items.items("download", STAYING)) {
    for (const entry of await ledger.getMany(page.map(({ itemId }) => itemId))) {
      if (entry?.mirrored) kept.add(entry.mirrored.listItemId);
    }
  }
  const staged = await mirror.stage(table.export(before, kept), nowUtcMicros(), job.signal);
  await mirror.place(staged, file);
}
