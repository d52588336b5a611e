import type { Converter } from "../contracts/converter.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger, LedgerEntry, Mirrored } from "../contracts/ledger.ts";
import type { PlanDraft } from "../contracts/plan.ts";
import { plural } from "../lib/plural.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { FileOnDisk } from "../mirror/visit-files.ts";
import type { Approval } from "./approval.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import type { SourceLook } from "./download.ts";
import { isTouched } from "./planned-changes.ts";
import { convertAll, documentFileOf, itemOf } from "./process-items.ts";
import { noCounts, silently, sumUp } from "./tally.ts";

/** The process step of one source: what it works with, and what the download saw before it. */
export interface ProcessWork {
  readonly request: CrawlRequest;
  readonly look: SourceLook | undefined;
  readonly ledger: Ledger;
  readonly mirror: Mirror;
  readonly converter: Converter;
  readonly plan: PlanDraft;
  readonly approval: Approval | undefined;
  readonly job: JobContext;
}

export interface Processed {
  readonly counts: StepCounts;
  readonly problems: readonly string[];
}

/** An item and the original its document is made of. */
export interface Task {
  readonly entry: LedgerEntry;
  readonly mirrored: Mirrored;
  /** A file of the mirror. */
  readonly original: string;
}

/** original ▶ document, for one source whose originals are no documents yet. */
export async function processOriginals(work: ProcessWork): Promise<Processed> {
  const { job, request } = work;
  const counts = noCounts();
  const disk = await work.mirror.scan();
  let waiting = await keepToApproved(await findTasks(work, disk, counts), work, counts);
  const isNew = new Set(waiting.filter((task) => !disk.has(documentFileOf(task, work))));
  if (job.dryRun) await announce(waiting, isNew, work);
  else job.log(`To be processed: ${waiting.length} of ${plural(waiting.length + counts.unchanged, "item")}.`);
  for (let batch = 1; batch <= request.retryBatches && waiting.length > 0; batch++) {
    if (batch > 1) job.log(`Trying ${plural(waiting.length, "failed item")} once more.`);
    const { done, failed, retry } = await convertAll(waiting, { ...work, job: silently(job) });
    for (const task of done) counts[isNew.has(task) ? "added" : "changed"] += 1;
    counts.failed += failed.length;
    waiting = retry;
  }
  counts.failed += waiting.length;
  if (!job.dryRun) job.log(`Processed: ${sumUp(counts)}.`);
  const problems =
    counts.failed > 0 ? [`${plural(counts.failed, "item")} could not be processed; files_map.csv says why`] : [];
  return { counts, problems };
}

/** What waits in `01_originals/`; in full mode everything whose original is there; failed ones when asked for. */
async function findTasks(
  work: ProcessWork,
  disk: ReadonlyMap<string, FileOnDisk>,
  counts: StepCounts,
): Promise<Task[]> {
  const { ledger, mirror, request, job } = work;
  const tasks: Task[] = [];
  const originals = mirror.originalsAmong(disk.keys());
  for await (const entries of ledger.entries()) {
    await job.checkpoint();
    for (const entry of entries) {
      const { mirrored } = entry;
      if (!mirrored?.file) continue;
      const original = originalOf(entry, mirrored, originals, work);
      const isWaiting = mirror.isOriginal(mirrored.file);
      const isRetry = mirror.isFailed(mirrored.file) && mirrored.processingError !== "" && request.retryFailed;
      if (original !== undefined && (isWaiting || isRetry || request.mode === "full")) {
        tasks.push({ entry, mirrored, original });
      } else if (isWaiting) {
        counts.skipped += 1;
        await fetchAgain(entry, mirrored, work);
      } else {
        counts.unchanged += 1;
      }
    }
  }
  return tasks;
}

/** What somebody approved, where that is asked for. */
async function keepToApproved(tasks: Task[], work: ProcessWork, counts: StepCounts): Promise<Task[]> {
  const { approval, mirror, job } = work;
  if (!approval) return tasks;
  const intents = tasks.map((task) => {
    const path = mirror.relativePath(documentFileOf(task, work));
    return { itemId: task.entry.itemId, change: "changed", reason: whyProcessed(task, work), path, ...task } as const;
  });
  const left = await approval.leaveOut("process", intents, job);
  counts.skipped += left.size;
  return tasks.filter(({ entry }) => !left.has(entry.itemId));
}

function originalOf(
  entry: LedgerEntry,
  mirrored: Mirrored,
  originals: ReadonlySet<string>,
  { mirror, converter }: ProcessWork,
): string | undefined {
  const path = mirror.relativePath(mirrored.file);
  if (mirror.isOriginal(mirrored.file)) return originals.has(path) ? mirrored.file : undefined;
  if (mirror.isFailed(mirrored.file) && mirrored.processingError !== "") return mirrored.file;
  const original = converter.originalPath(itemOf(entry, mirrored), path, originals);
  return original === undefined ? undefined : mirror.originalFile(original);
}

/** Without its original there is nothing to process: an empty path makes the next download fetch it again. */
async function fetchAgain({ itemId }: LedgerEntry, mirrored: Mirrored, { ledger, job }: ProcessWork): Promise<void> {
  job.log(`WARNING: '${mirrored.file}' is missing on disk, so '${mirrored.name}' waits for the next download.`);
  ledger.put(itemId, { mirrored: { ...mirrored, file: "" } });
}

/** A dry run names every document that would be made. */
async function announce(tasks: readonly Task[], isNew: ReadonlySet<Task>, work: ProcessWork): Promise<void> {
  const { job, plan, mirror } = work;
  const ids = tasks.map(({ entry }) => entry.itemId);
  const fetched = await plan.find("download", ids);
  for (const task of tasks) {
    const { name, serverPath } = task.mirrored;
    const { itemId } = task.entry;
    const download = fetched.get(itemId);
    const before = isTouched(download) ? download?.told : undefined;
    const path = before?.path ?? mirror.relativePath(documentFileOf(task, work));
    job.log(`  PROCESS '${before?.path ?? serverPath}'`);
    const reason = before?.reason ?? whyProcessed(task, work);
    const told = { name, path, reason };
    plan.add({ step: "process", itemId, change: isNew.has(task) ? "added" : "changed", reason, told });
  }
}

function whyProcessed({ mirrored }: Task, { mirror, request }: ProcessWork): string {
  if (mirror.isOriginal(mirrored.file)) return "waits to be processed";
  return request.mode === "full" ? "full crawl" : "failed before, and is tried again";
}
