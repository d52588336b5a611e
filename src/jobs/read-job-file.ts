import { type FileHandle, open } from "node:fs/promises";
import type { JobRecord, JobState } from "../contracts/job.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { isProcessGone } from "../lib/process-identity.ts";
import { parseSseEvents, type SseEvent } from "../lib/sse.ts";
import { toUtcMicros } from "../lib/time.ts";
import type { FoundJobFile } from "./find-job-files.ts";
import { decodeFacts, type JobFacts, WAITING } from "./job-events.ts";

/** A live job touches its file every 30 s, so this is ten signs of life that did not come. */
export const STALLED_AFTER_MS = 5 * 60_000;

const HEAD_BYTES = 16 * 1024;
const TAIL_BYTES = 32 * 1024;

/** A job file as read now: the record, and what ending the job in its place needs. */
export interface ReadJob {
  readonly record: JobRecord;
  readonly file: FoundJobFile;
  readonly facts: JobFacts;
  /** For a worker: nobody runs it, and nobody has to give signs of life. */
  readonly waiting: boolean;
}

/** Reads the first and the last event, never the log between them. undefined: the file is not there (any more). */
export async function readJobFile(file: FoundJobFile): Promise<ReadJob | undefined> {
  const handle = await openIfExists(file.path);
  if (!handle) return undefined;
  try {
    const { size, mtimeMs } = await handle.stat();
    const head = await readRange(handle, 0, Math.min(size, HEAD_BYTES));
    const start = await readStart(handle, head, size);
    const nameSaysOver = isOver(file.extension);
    const isEnd = (event: SseEvent): boolean => event.event === "end_json";
    const last = await findLastEvent(handle, size, nameSaysOver ? isEnd : () => true, { onlyTheLast: !nameSaysOver });
    const end = last && isEnd(last) ? decodeFacts(last) : undefined;
    const waiting = !start?.process && last?.event === "log" && last.data === WAITING;
    return toReadJob(file, { start, end, waiting }, mtimeMs);
  } finally {
    await handle.close();
  }
}

/**
 * The last complete event that matches, found from the end in growing steps. With `onlyTheLast` no further event is
 * looked at than the very last complete one: a job that runs has its end there or nowhere.
 */
export async function findLastEvent(
  handle: FileHandle,
  size: number,
  matches: (event: SseEvent) => boolean,
  options: { readonly onlyTheLast: boolean },
): Promise<SseEvent | undefined> {
  for (let bytes = TAIL_BYTES; ; bytes *= 4) {
    const from = Math.max(0, size - bytes);
    const events = parseSseEvents(fromFirstEvent(await readRange(handle, from, size - from), from === 0));
    const last = events.at(-1);
    const match = options.onlyTheLast ? (last && matches(last) ? last : undefined) : events.findLast(matches);
    if (match || from === 0 || (options.onlyTheLast && last)) return match;
  }
}

/** Where the last complete event ends: what a crash left after it is no event. */
export async function findCompleteSize(handle: FileHandle, size: number): Promise<number> {
  for (let bytes = TAIL_BYTES; ; bytes *= 4) {
    const from = Math.max(0, size - bytes);
    const blank = (await readRange(handle, from, size - from)).lastIndexOf("\n\n");
    if (blank >= 0) return from + blank + 2;
    if (from === 0) return 0;
  }
}

export async function readRange(handle: FileHandle, from: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

export async function openIfExists(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** `start_json` is longer than the head only when a very long URL started the job. */
async function readStart(handle: FileHandle, head: Buffer, size: number): Promise<Partial<JobFacts> | undefined> {
  let bytes = head;
  while (!bytes.includes("\n\n") && bytes.length < size && bytes.length < 64 * HEAD_BYTES) {
    bytes = await readRange(handle, 0, Math.min(size, bytes.length * 4));
  }
  const first = parseSseEvents(bytes.toString())[0];
  return first?.event === "start_json" ? decodeFacts(first) : undefined;
}

function fromFirstEvent(bytes: Buffer, isBeginning: boolean): string {
  if (isBeginning) return bytes.toString();
  const start = bytes.indexOf("\nevent: ");
  return start < 0 ? "" : bytes.subarray(start + 1).toString();
}

function isOver(extension: string): boolean {
  return extension === "completed" || extension === "cancelled";
}

/** What the first and the last event say. */
interface Told {
  readonly start: Partial<JobFacts> | undefined;
  readonly end: Partial<JobFacts> | undefined;
  readonly waiting: boolean;
}

/** The end event outranks the name: a crash may come between writing the one and changing the other. */
function toReadJob(file: FoundJobFile, { start, end, waiting }: Told, mtimeMs: number): ReadJob {
  const state = end?.state ?? (file.extension as JobState);
  const over = isOver(state);
  const lastModifiedAt = toUtcMicros(new Date(mtimeMs));
  const process = start?.process ?? null;
  const facts: JobFacts = {
    jobId: file.jobId,
    endpoint: start?.endpoint || end?.endpoint || "",
    state,
    startedAt: start?.startedAt || stampToUtc(file.stamp),
    endedAt: over ? end?.endedAt || lastModifiedAt : "",
    result: over ? (end?.result ?? { ok: false, error: "The job ended without a result.", data: {} }) : null,
    dryRun: start?.dryRun ?? false,
    process,
  };
  const silent = Date.now() - mtimeMs > STALLED_AFTER_MS;
  const stalled = !over && !waiting && (silent || (process !== null && isProcessGone(process)));
  const { process: _process, ...record } = facts;
  const { router, action, object } = file;
  return {
    record: { ...record, stalled, router, action, object, lastModifiedAt },
    file,
    facts,
    waiting: waiting && !over,
  };
}

function stampToUtc(stamp: string): string {
  const [date = "", time = ""] = stamp.split("_");
  return `${date}T${time.replaceAll("-", ":")}.000000Z`;
}
