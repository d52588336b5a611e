import type { AbsentChange, ListedChange } from "../contracts/change.ts";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Mirrored } from "../contracts/ledger.ts";
import type { Sighting } from "../contracts/source.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { nowUtcMicros } from "../lib/time.ts";
import type { Staged } from "../mirror/mirror.ts";
import type { StepCounts } from "./crawl-request.ts";
import type { DownloadTools, Plan } from "./download.ts";
import { PathClaims } from "./path-claims.ts";
import { Progress } from "./tally.ts";

const DOWNLOADS_AT_ONCE = 4;
/** Every item gets a second chance at the end of the run, when what ailed it may have passed. */
const BATCHES = 2;

/** Carries the plan out on disk and in the ledger; returns how many items failed. One bad item never stops the others. */
export async function applyPlan(
  plan: Plan,
  tools: DownloadTools,
  job: JobContext,
  counts: StepCounts,
): Promise<number> {
  if (plan.removed.length + plan.moved.length + plan.fetched.length === 0) return 0;
  const claims = await PathClaims.of(tools.ledger, tools.mirror);
  counts.failed += await removeAll(plan.removed, { ...tools, claims }, job);
  const stuck = await moveAll(plan.moved, { ...tools, claims }, job);
  let waiting = [...plan.fetched, ...stuck];
  for (let batch = 1; batch <= BATCHES && waiting.length > 0; batch++) {
    if (batch > 1) job.log(`Trying ${waiting.length} failed items once more.`);
    waiting = await fetchAll(waiting, { ...tools, claims }, job, counts);
  }
  await takeFreedPlaces({ ...tools, claims }, job);
  for (const { kind } of waiting) counts[kind] -= 1;
  counts.failed += waiting.length;
  return counts.failed;
}

/** A name that had to be marked because another file was still in its place gets the plain one when that has left. */
async function takeFreedPlaces({ ledger, mirror, claims }: ApplyTools, job: JobContext): Promise<void> {
  for (const { itemId, wanted } of [...claims.nowFree()]) {
    const mirrored = (await ledger.get(itemId))?.mirrored;
    if (!mirrored?.file) continue;
    try {
      await mirror.moveOut(itemId, mirrored.file);
      ledger.put(itemId, { mirrored: { ...mirrored, file: wanted } });
      await ledger.flush();
      await mirror.moveIn(itemId, wanted);
      claims.transfer(itemId, mirrored.file, wanted);
    } catch (error) {
      job.log(`WARNING: '${mirrored.file}' cannot take its plain name: ${explain(error)}`);
      await mirror.dropWaiting(itemId);
    }
  }
}

type ApplyTools = DownloadTools & { readonly claims: PathClaims };

/** Returns how many could not be removed: they keep their ledger entry, and the next run tries again. */
async function removeAll(removed: readonly AbsentChange[], tools: ApplyTools, job: JobContext): Promise<number> {
  let failed = 0;
  for (const change of removed) {
    await job.checkpoint();
    try {
      await removeOne(change, tools, job);
    } catch (error) {
      failed += 1;
      job.log(`ERROR: remove '${change.entry.mirrored?.file}': ${explain(error)}`);
    }
  }
  return failed;
}

async function removeOne(change: AbsentChange, { ledger, mirror, claims }: ApplyTools, job: JobContext): Promise<void> {
  const { itemId, entry, stillListed, reason } = change;
  const file = entry.mirrored?.file ?? "";
  if (file) {
    await mirror.remove(file);
    claims.release(itemId, file);
    job.log(`Removed '${entry.mirrored?.serverPath}': ${reason}.`);
  }
  ledger.put(itemId, stillListed ? { mirrored: null } : { mirrored: null, seen: null });
  await ledger.flush();
}

/** Returns the items whose file could not be moved: they are fetched instead. */
async function moveAll(moved: readonly ListedChange[], tools: ApplyTools, job: JobContext): Promise<ListedChange[]> {
  const { ledger, mirror, claims } = tools;
  const stuck: ListedChange[] = [];
  const moves: { change: ListedChange; known: Mirrored; to: string }[] = [];
  for (const change of moved) claims.release(change.itemId, change.entry?.mirrored?.file ?? "");
  for (const change of moved) {
    const known = change.entry?.mirrored;
    if (known) moves.push({ change, known, to: placeOf(change.sighting, known, tools) });
  }
  const leaving = moves.filter(({ known, to }) => to !== known.file);
  const left = new Set<ListedChange>();
  for (const { change, known } of leaving) {
    try {
      await mirror.moveOut(change.itemId, known.file);
      left.add(change);
    } catch (error) {
      job.log(`Cannot move '${known.file}', fetching it instead: ${explain(error)}`);
      stuck.push(change);
    }
  }
  for (const { change, known, to } of moves) {
    if (stuck.includes(change)) continue;
    ledger.put(change.itemId, { mirrored: { ...known, ...namesOf(change.sighting), file: to } });
  }
  await ledger.flush();
  for (const { change, to } of moves) {
    if (stuck.includes(change)) continue;
    try {
      if (left.has(change)) await mirror.moveIn(change.itemId, to);
      job.log(`Moved '${change.sighting.path}': ${change.reason}.`);
    } catch (error) {
      job.log(`Cannot move to '${to}', fetching it instead: ${explain(error)}`);
      await mirror.dropWaiting(change.itemId);
      stuck.push(change);
    }
  }
  return stuck;
}

/** A file that could not be embedded stays in `03_failed/` wherever its item moves: its bytes have not changed. */
function placeOf(sighting: Sighting, known: Mirrored, { mirror, claims }: ApplyTools): string {
  const file = claims.claim(sighting, "");
  return mirror.isFailed(known.file) ? mirror.failedFile(file) : file;
}

function namesOf(sighting: Sighting): Pick<Mirrored, "listItemId" | "name" | "serverPath" | "fingerprint"> {
  const { listItemId, name, serverPath, fingerprint } = sighting;
  return { listItemId, name, serverPath, fingerprint };
}

async function fetchAll(
  changes: readonly ListedChange[],
  tools: ApplyTools,
  job: JobContext,
  counts: StepCounts,
): Promise<ListedChange[]> {
  const failed: ListedChange[] = [];
  const progress = new Progress(job, changes.length);
  await forEachConcurrent(changes, DOWNLOADS_AT_ONCE, async (change) => {
    await job.checkpoint();
    try {
      progress.step(await fetchOne(change, tools, job.signal, counts));
    } catch (error) {
      if (error instanceof CancelledError || job.signal.aborted)
        throw new CancelledError("download stopped", { cause: error });
      failed.push(change);
      await recordFailure(change, explain(error), tools);
      progress.step(`ERROR: ${about(change, explain(error))}`);
    }
    await tools.ledger.flush();
  });
  return failed;
}

/** Sources say themselves what they were doing; whatever else fails does not. */
function about({ sighting }: ListedChange, reason: string): string {
  return reason.startsWith("download ") ? reason : `download '${sighting.path}': ${reason}`;
}

async function fetchOne(
  change: ListedChange,
  tools: ApplyTools,
  signal: AbortSignal,
  counts: StepCounts,
): Promise<string> {
  const { source, ledger, mirror, claims } = tools;
  const { sighting, entry } = change;
  const fetched = await source.fetch(sighting, signal);
  if (fetched.status === "gone") {
    counts.skipped += 1;
    return `'${sighting.path}' was deleted between listing and download.`;
  }
  if (fetched.status === "refused") throw new Error(fetched.reason);
  const staged = await mirror.stage(fetched.body, signal);
  refuseOtherSize(sighting, staged);
  const before = entry?.mirrored?.file ?? "";
  const file = claims.claim(sighting, before);
  const observed = await mirror.place(staged, file, sighting.fingerprint.modifiedAt);
  const mirrored: Mirrored = {
    ...namesOf(sighting),
    file,
    downloadedAt: nowUtcMicros(),
    sourceError: "",
    processingError: "",
    observed,
  };
  ledger.put(change.itemId, { mirrored });
  // The old place goes last: until the new one is in the ledger, it is the only one we know.
  await ledger.flush();
  if (before && before !== file && claims.isFree(before)) await mirror.remove(before);
  return `Downloaded '${sighting.path}' (${staged.size} bytes): ${change.reason}.`;
}

/** Kinds of files that SharePoint rewrites when they are uploaded, so that the listed size need not be theirs. */
const REWRITTEN = /^(doc|dot|xls|xlt|xla|ppt|pot|pps|vs|one|pub|mpp|htm|asp|msg|eml)/;

/**
 * A body that came to a clean end can still be short, or a web page that says "sign in". Where the listed size is the
 * size of the bytes, another size is a failure; if the file was changed since it was listed, the next listing says so.
 */
function refuseOtherSize(sighting: Sighting, staged: Staged): void {
  const { size } = sighting.fingerprint;
  if (staged.size === size || REWRITTEN.test(fileTypeOf(sighting.name))) return;
  throw new Error(`${staged.size} bytes came instead of the ${size} listed`);
}

/** What is there stays as it is; the reason goes into the error column, and the next run tries again. */
async function recordFailure(change: ListedChange, reason: string, { ledger }: ApplyTools): Promise<void> {
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
