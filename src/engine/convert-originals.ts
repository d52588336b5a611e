import type { Converted, Converter, OriginalItem } from "../contracts/converter.ts";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { LedgerEntry, Mirrored } from "../contracts/ledger.ts";
import { oneChunk, plural } from "../lib/text.ts";
import type { FileOnDisk } from "../mirror/scan-files.ts";
import type { StepCounts } from "./crawl-request.ts";
import type { StepResult } from "./crawl-source.ts";
import { stopWhenFull } from "./disk-full.ts";
import { logDone, logPlanned, silentIfDry } from "./dry-run.ts";
import { ITEM_PROBLEMS } from "./failures.ts";
import { isTouched } from "./planned-changes.ts";
import type { SourceStep } from "./run-context.ts";
import { noCounts, Progress, sumUp } from "./tally.ts";

interface ConvertStep extends SourceStep {
  readonly converter: Converter;
}

/** An item and the original that its document is made from. */
export interface Task {
  readonly entry: LedgerEntry;
  readonly mirrored: Mirrored;
  /** Relative to the mirror's root. */
  readonly original: string;
}

/** original ▶ document, for one source whose originals must be converted. */
export async function convertOriginals(step: ConvertStep): Promise<StepResult> {
  const { job, request } = step;
  const counts = noCounts();
  const disk = await step.mirror.scan();
  let waiting = await keepToApproved(await findTasks(step, disk, counts), step, counts);
  const isNew = new Set(waiting.filter((task) => !disk.has(documentFileOf(task, step))));
  await addToPlan(waiting, isNew, step);
  logDone(job, `To be processed: ${waiting.length} of ${plural(waiting.length + counts.unchanged, "item")}.`);
  for (let batch = 1; batch <= request.retryBatches && waiting.length > 0; batch++) {
    if (batch > 1) job.log(`Trying ${plural(waiting.length, "failed item")} once more.`);
    const { done, failed, retry } = await convertAll(waiting, { ...step, job: silentIfDry(job) });
    for (const task of done) counts[isNew.has(task) ? "added" : "changed"] += 1;
    counts.failed += failed.length;
    waiting = retry;
  }
  counts.failed += waiting.length;
  logDone(job, `Processed: ${sumUp(counts)}.`);
  const itemProblem = counts.failed > 0 ? ITEM_PROBLEMS.process(plural(counts.failed, "item")) : "";
  return { counts, problems: [], itemProblem };
}

/**
 * Finds what is to be converted: items in `01_originals/`; in full mode every item whose original is there; on request,
 * failed ones.
 */
async function findTasks(
  step: ConvertStep,
  disk: ReadonlyMap<string, FileOnDisk>,
  counts: StepCounts,
): Promise<Task[]> {
  const { ledger, mirror, request, job } = step;
  const tasks: Task[] = [];
  const originals = mirror.originalsAmong(disk.keys());
  for await (const entries of ledger.entries()) {
    await job.checkpoint();
    for (const entry of entries) {
      const { mirrored } = entry;
      if (!mirrored?.file) continue;
      const original = originalOf(entry, mirrored, originals, step);
      const isWaiting = mirror.isOriginal(mirrored.file);
      const isRetry = mirror.isFailed(mirrored.file) && mirrored.processingError !== "" && request.retryFailed;
      if (original !== undefined && (isWaiting || isRetry || request.mode === "full")) {
        tasks.push({ entry, mirrored, original });
      } else if (isWaiting) {
        counts.skipped += 1;
        await fetchAgain(entry, mirrored, step);
      } else {
        counts.unchanged += 1;
      }
    }
  }
  return tasks;
}

/** Leaves out tasks that are not in the approved plan, if there is one. */
async function keepToApproved(tasks: Task[], step: ConvertStep, counts: StepCounts): Promise<Task[]> {
  const { approval, mirror, job } = step;
  if (!approval) return tasks;
  const intents = tasks.map((task) => {
    const path = mirror.relativePath(documentFileOf(task, step));
    return { itemId: task.entry.itemId, change: "changed", reason: whyProcessed(task, step), path, ...task } as const;
  });
  const left = await approval.leaveOut("process", intents, job);
  counts.skipped += left.size;
  return tasks.filter(({ entry }) => !left.has(entry.itemId));
}

function originalOf(
  entry: LedgerEntry,
  mirrored: Mirrored,
  originals: ReadonlySet<string>,
  { mirror, converter }: ConvertStep,
): string | undefined {
  const path = mirror.relativePath(mirrored.file);
  if (mirror.isOriginal(mirrored.file)) return originals.has(path) ? mirrored.file : undefined;
  if (mirror.isFailed(mirrored.file) && mirrored.processingError !== "") return mirrored.file;
  const original = converter.originalPath(itemOf(entry, mirrored), path, originals);
  return original === undefined ? undefined : mirror.originalFile(original);
}

/** Clears the path of an item whose original is missing: the next download then fetches it again. */
async function fetchAgain({ itemId }: LedgerEntry, mirrored: Mirrored, { ledger, job }: ConvertStep): Promise<void> {
  job.log(`WARNING: '${mirrored.file}' is missing on disk, so '${mirrored.name}' waits for the next download.`);
  ledger.put(itemId, { mirrored: { ...mirrored, file: "" } });
}

async function addToPlan(tasks: readonly Task[], isNew: ReadonlySet<Task>, step: ConvertStep): Promise<void> {
  const { job, plan, mirror } = step;
  const ids = tasks.map(({ entry }) => entry.itemId);
  const fetched = await plan.find("download", ids);
  for (const task of tasks) {
    const { name, serverPath } = task.mirrored;
    const { itemId } = task.entry;
    const download = fetched.get(itemId);
    const before = isTouched(download) ? download?.told : undefined;
    const path = before?.path ?? mirror.relativePath(documentFileOf(task, step));
    logPlanned(job, `  PROCESS '${before?.path ?? serverPath}'`);
    const reason = before?.reason ?? whyProcessed(task, step);
    const told = { name, path, reason };
    plan.add({ step: "process", itemId, change: isNew.has(task) ? "added" : "changed", reason, told });
  }
}

function whyProcessed({ mirrored }: Task, { mirror, request }: ConvertStep): string {
  if (mirror.isOriginal(mirrored.file)) return "waits to be processed";
  return request.mode === "full" ? "full crawl" : "failed before, and is tried again";
}

interface Conversions {
  readonly done: Task[];
  /** Converting the same original again would fail again. */
  readonly failed: Task[];
  readonly retry: Task[];
}

/** Items that share an original are converted together. One that fails does not stop the others. */
async function convertAll(tasks: readonly Task[], step: ConvertStep): Promise<Conversions> {
  const sorted: Conversions = { done: [], failed: [], retry: [] };
  const progress = new Progress(step.job, tasks.length);
  for (const group of Map.groupBy(tasks, ({ original }) => original).values()) {
    await step.job.checkpoint();
    const open = new Map(group.map((task) => [task.entry.itemId, task]));
    try {
      await convertGroup(group, open, { sorted, progress }, step);
    } catch (error) {
      if (error instanceof CancelledError || step.job.signal.aborted)
        throw new CancelledError("processing stopped", { cause: error });
      stopWhenFull(error);
      for (const task of open.values()) {
        // Map files and reports leave this server: they must not show where its files are.
        const reason = explain(error).replaceAll(step.mirror.absolute(task.original), task.original);
        recordProblem(task, reason, step);
        sorted.retry.push(task);
        progress.step(`ERROR: process '${task.mirrored.serverPath}': ${reason}`);
      }
    }
    await step.ledger.flush();
  }
  return sorted;
}

async function convertGroup(
  group: readonly Task[],
  open: Map<ItemId, Task>,
  { sorted, progress }: { readonly sorted: Conversions; readonly progress: Progress },
  step: ConvertStep,
): Promise<void> {
  const items = group.map(({ entry, mirrored }) => itemOf(entry, mirrored));
  const original = step.mirror.absolute(group[0]?.original ?? "");
  const refuse = async (task: Task, problem: string): Promise<void> => {
    await setAside(task, problem, step);
    sorted.failed.push(task);
    progress.step(`ERROR: process '${task.mirrored.serverPath}': ${problem}`);
  };
  for await (const converted of step.converter.convert(original, items, step.job.signal)) {
    const task = open.get(converted.itemId);
    if (!task) continue;
    if ("problem" in converted) {
      await refuse(task, converted.problem);
    } else {
      await placeDocument(task, converted, step);
      sorted.done.push(task);
      progress.step(`Processed '${task.mirrored.serverPath}'.`);
    }
    open.delete(converted.itemId);
    await step.job.checkpoint();
  }
  for (const [itemId, task] of open) {
    await refuse(task, "it is not in its original");
    open.delete(itemId);
  }
}

/** Puts the document into the mirror, then records it in the ledger. */
async function placeDocument(
  task: Task,
  { document }: Converted & { document: Uint8Array },
  step: ConvertStep,
): Promise<void> {
  const { mirror, ledger, job } = step;
  const { entry, mirrored, original } = task;
  const file = documentFileOf(task, step);
  const staged = await mirror.stage(oneChunk(document), mirrored.fingerprint.modifiedAt, job.signal);
  const observed = await mirror.place(staged, file);
  // An original in `03_failed/` goes back to `01_originals/`.
  if (mirror.isFailed(original)) await mirror.shift(original, mirror.originalFile(mirror.relativePath(original)));
  ledger.put(entry.itemId, { mirrored: { ...mirrored, file, observed, processingError: "" } });
}

function recordProblem({ entry, mirrored }: Task, problem: string, { ledger }: ConvertStep): void {
  ledger.put(entry.itemId, { mirrored: { ...mirrored, processingError: problem } });
}

/** Records the problem. The original goes to `03_failed/`, unless other items share it. */
async function setAside(task: Task, problem: string, step: ConvertStep): Promise<void> {
  const { entry, mirrored, original } = task;
  const { mirror, ledger } = step;
  const isShared = documentFileOf(task, step) !== mirror.embeddedFile(mirror.relativePath(original));
  if (isShared || mirrored.file !== original || mirror.isFailed(original)) {
    recordProblem(task, problem, step);
    return;
  }
  const file = mirror.failedFile(original);
  await mirror.moveOut(entry.itemId, original);
  ledger.put(entry.itemId, { mirrored: { ...mirrored, file, processingError: problem } });
  await ledger.flush();
  await mirror.moveIn(entry.itemId, file);
}

function documentFileOf({ entry, mirrored, original }: Task, { mirror, converter }: ConvertStep): string {
  return mirror.embeddedFile(converter.documentPath(itemOf(entry, mirrored), mirror.relativePath(original)));
}

function itemOf({ itemId }: LedgerEntry, { listItemId, name }: Mirrored): OriginalItem {
  return { itemId, listItemId, name };
}
