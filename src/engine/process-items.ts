import type { Converted, OriginalItem } from "../contracts/converter.ts";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { LedgerEntry, Mirrored } from "../contracts/ledger.ts";
import { stopWhenFull } from "./disk-full.ts";
import type { ProcessWork, Task } from "./process.ts";
import { Progress } from "./tally.ts";

export interface Conversions {
  readonly done: Task[];
  /** The same original will not do any better. */
  readonly failed: Task[];
  readonly retry: Task[];
}

/** Items that share an original are converted together. One that fails does not stop the others. */
export async function convertAll(tasks: readonly Task[], work: ProcessWork): Promise<Conversions> {
  const sorted: Conversions = { done: [], failed: [], retry: [] };
  const progress = new Progress(work.job, tasks.length);
  for (const group of Map.groupBy(tasks, ({ original }) => original).values()) {
    await work.job.checkpoint();
    const open = new Map(group.map((task) => [task.entry.itemId, task]));
    try {
      await convertGroup(group, open, { sorted, progress }, work);
    } catch (error) {
      if (error instanceof CancelledError || work.job.signal.aborted)
        throw new CancelledError("processing stopped", { cause: error });
      stopWhenFull(error);
      for (const task of open.values()) {
        // Map files and reports travel: where this server has its files is nobody's business.
        const reason = explain(error).replaceAll(work.mirror.absolute(task.original), task.original);
        note(task, reason, work);
        sorted.retry.push(task);
        progress.step(`ERROR: process '${task.mirrored.serverPath}': ${reason}`);
      }
    }
    await work.ledger.flush();
  }
  return sorted;
}

async function convertGroup(
  group: readonly Task[],
  open: Map<ItemId, Task>,
  { sorted, progress }: { readonly sorted: Conversions; readonly progress: Progress },
  work: ProcessWork,
): Promise<void> {
  const items = group.map(({ entry, mirrored }) => itemOf(entry, mirrored));
  const original = work.mirror.absolute(group[0]?.original ?? "");
  const refuse = async (task: Task, problem: string): Promise<void> => {
    await setAside(task, problem, work);
    sorted.failed.push(task);
    progress.step(`ERROR: process '${task.mirrored.serverPath}': ${problem}`);
  };
  const conversions = work.job.dryRun ? foresee(items) : work.converter.convert(original, items, work.job.signal);
  for await (const converted of conversions) {
    const task = open.get(converted.itemId);
    if (!task) continue;
    if ("problem" in converted) {
      await refuse(task, converted.problem);
    } else {
      await place(task, converted, work);
      sorted.done.push(task);
      progress.step(`Processed '${task.mirrored.serverPath}'.`);
    }
    open.delete(converted.itemId);
    await work.job.checkpoint();
  }
  for (const [itemId, task] of open) {
    await refuse(task, "it is not in its original");
    open.delete(itemId);
  }
}

/** A dry run has not fetched what it would convert. */
async function* foresee(items: readonly OriginalItem[]): AsyncGenerator<Converted, void> {
  for (const { itemId } of items) yield { itemId, document: new Uint8Array() };
}

/** The document takes its place, then the ledger says so. */
async function place(task: Task, { document }: Converted & { document: Uint8Array }, work: ProcessWork): Promise<void> {
  const { mirror, ledger, job } = work;
  const { entry, mirrored, original } = task;
  const file = documentFileOf(task, work);
  const staged = await mirror.stage(oneChunk(document), mirrored.fingerprint.modifiedAt, job.signal);
  const observed = await mirror.place(staged, file);
  // An original that had failed goes back to where it belongs.
  if (mirror.isFailed(original)) await mirror.shift(original, mirror.originalFile(mirror.relativePath(original)));
  ledger.put(entry.itemId, { mirrored: { ...mirrored, file, observed, processingError: "" } });
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function note({ entry, mirrored }: Task, problem: string, { ledger }: ProcessWork): void {
  ledger.put(entry.itemId, { mirrored: { ...mirrored, processingError: problem } });
}

/** An original of its own goes to `03_failed/`; one that is shared stays for the others. */
async function setAside(task: Task, problem: string, work: ProcessWork): Promise<void> {
  const { entry, mirrored, original } = task;
  const { mirror, ledger } = work;
  const isShared = documentFileOf(task, work) !== mirror.embeddedFile(mirror.relativePath(original));
  if (isShared || mirrored.file !== original || mirror.isFailed(original)) {
    note(task, problem, work);
    return;
  }
  const file = mirror.failedFile(original);
  await mirror.moveOut(entry.itemId, original);
  ledger.put(entry.itemId, { mirrored: { ...mirrored, file, processingError: problem } });
  await ledger.flush();
  await mirror.moveIn(entry.itemId, file);
}

export function documentFileOf({ entry, mirrored, original }: Task, { mirror, converter }: ProcessWork): string {
  return mirror.embeddedFile(converter.documentPath(itemOf(entry, mirrored), mirror.relativePath(original)));
}

export function itemOf({ itemId }: LedgerEntry, { listItemId, name }: Mirrored): OriginalItem {
  return { itemId, listItemId, name };
}
