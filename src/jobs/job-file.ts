import { type FileHandle, mkdir, open, readdir, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { NotFoundError } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import {
  type ControlAction,
  JOB_STATES,
  type JobCount,
  type JobProgress,
  type JobRecord,
  type JobState,
  type Result,
} from "../contracts/job.ts";
import type { PlanStep } from "../contracts/plan.ts";
import { ifMissing, isErrno } from "../lib/atomic-file.ts";
import { openIfExists } from "../lib/file-system.ts";
import { parseJsonObject } from "../lib/json-object.ts";
import { isProcessGone, type ProcessIdentity } from "../lib/process-identity.ts";
import { encodeSseEvent, parseSseEvents, type SseEvent } from "../lib/sse.ts";
import { logLine } from "../lib/text.ts";
import { sleep, toUtcMicros } from "../lib/time.ts";

const FLUSH_AFTER_MS = 100;
const FLUSH_AT_CHARACTERS = 64 * 1024;

/**
 * The file of a job of this process, open from `start_json` to `end_json` and renamed with the state. All access goes through one queue, so
 * events keep their order and a rename never overtakes a write.
 */
export interface JobFile {
  /** The current path. */
  readonly path: string;
  /** Takes the next event id. */
  nextEventId(): number;
  /** Queues a log event; it is written within 100 ms. Errors go to `onTrouble`. */
  append(bytes: string): void;
  /** Resolves when everything appended so far is written, or its error was reported. */
  settle(): Promise<void>;
  setState(state: JobState): Promise<void>;
  /** Writes a heartbeat for other processes. */
  touch(): Promise<void>;
  /** Returns false once another process ended the job and renamed or removed its file. */
  isMine(): Promise<boolean>;
  /** Writes the last event with fsync, renames and closes. Nothing is written afterwards. */
  end(bytes: string, state: JobState): Promise<void>;
  /** Closes without an end event: another process owns the file now. */
  abandon(): Promise<void>;
  /** Writes a last event and closes, so that another process can continue. */
  leave(bytes: string): Promise<void>;
}

interface NewJobFile {
  readonly folder: string;
  readonly name: Omit<JobFileName, "extension">;
  /** The encoded `start_json`, event 1. */
  readonly start: string;
  readonly onTrouble: (error: unknown) => void;
}

/** Resolves when the file exists with its first event. */
export async function createJobFile(options: NewJobFile): Promise<JobFile> {
  await mkdir(options.folder, { recursive: true });
  const at = (state: JobState): string =>
    join(options.folder, formatJobFileName({ ...options.name, extension: state }));
  const path = at("running");
  const handle = await open(path, "ax");
  try {
    const writer = createWriter(handle, options.onTrouble);
    await writer.now(options.start);
    return jobFileOver(handle, writer, { path, eventId: 1 }, at);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Continues a file that another process left or was killed over. Truncates an incomplete event: no reader was sent it. */
export async function reopenJobFile(file: FoundJobFile, onTrouble: (error: unknown) => void): Promise<JobFile> {
  const handle = await open(file.path, "a+");
  try {
    const { size } = await handle.stat();
    const complete = await findCompleteSize(handle, size);
    if (complete < size) await handle.truncate(complete);
    const last = await findLastEvent(handle, complete, () => true, { onlyTheLast: true });
    const at = (state: JobState): string => join(dirname(file.path), formatJobFileName({ ...file, extension: state }));
    const start = { path: file.path, eventId: Number(last?.id ?? 0) };
    return jobFileOver(handle, createWriter(handle, onTrouble), start, at);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function jobFileOver(
  handle: FileHandle,
  writer: Writer,
  start: { readonly path: string; readonly eventId: number },
  at: (state: JobState) => string,
): JobFile {
  let { path, eventId } = start;
  const moveTo = async (state: JobState): Promise<void> => {
    await rename(path, at(state));
    path = at(state);
  };
  return {
    get path() {
      return path;
    },
    nextEventId: () => ++eventId,
    append: writer.later,
    settle: () => writer.settle(),
    setState: (state) => writer.queue(() => moveTo(state)),
    touch: () => writer.queue(() => handle.utimes(new Date(), new Date())),
    isMine: () =>
      writer.queue(async () => {
        const named = await stat(path).catch(ifMissing(undefined));
        return named?.ino === (await handle.stat()).ino;
      }),
    async end(bytes, state) {
      try {
        // Written separately from the log before it: on a full disk the short end event may still find room.
        await writer.settle();
        await writer.now(bytes);
        await writer.queue(() => handle.sync());
      } finally {
        // Even without its end event, the name says that the job is over; readers then report a missing result.
        await writer.queue(() => moveTo(state)).finally(() => writer.close());
      }
    },
    abandon: () => writer.drop(),
    async leave(bytes) {
      await writer.now(bytes);
      await writer.close();
    },
  };
}

interface Writer {
  later(bytes: string): void;
  now(bytes: string): Promise<void>;
  /** Resolves when everything queued is written, or its error was reported. */
  settle(): Promise<void>;
  queue<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
  /** Closes without writing what is queued. */
  drop(): Promise<void>;
}

function createWriter(handle: FileHandle, onTrouble: (error: unknown) => void): Writer {
  let tail: Promise<unknown> = Promise.resolve();
  let pending: string[] = [];
  let pendingCharacters = 0;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function queue<T>(work: () => Promise<T>): Promise<T> {
    const next = tail.then(work);
    tail = next.catch(() => undefined);
    return next;
  }
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (pending.length === 0) return Promise.resolve();
    const bytes = Buffer.from(pending.join(""));
    pending = [];
    pendingCharacters = 0;
    return queue(() => appendWhole(handle, bytes));
  }
  function later(bytes: string): void {
    if (closed) return;
    pending.push(bytes);
    pendingCharacters += bytes.length;
    if (pendingCharacters >= FLUSH_AT_CHARACTERS) flush().catch(onTrouble);
    else timer ??= setTimeout(() => flush().catch(onTrouble), FLUSH_AFTER_MS);
  }
  async function now(bytes: string): Promise<void> {
    if (closed) return;
    pending.push(bytes);
    await flush();
  }
  const settle = (): Promise<void> => flush().catch(onTrouble);
  async function close(): Promise<void> {
    await settle();
    await drop();
  }
  async function drop(): Promise<void> {
    clearTimeout(timer);
    pending = [];
    if (closed) return;
    closed = true;
    await queue(() => handle.close());
  }
  return { later, now, settle, queue, close, drop };
}

/** Writes all bytes or none: half an event would swallow the next one. */
async function appendWhole(handle: FileHandle, bytes: Buffer): Promise<void> {
  const { size } = await handle.stat();
  try {
    await handle.writeFile(bytes);
  } catch (error) {
    await handle.truncate(size).catch(() => undefined);
    throw error;
  }
}

/** A live job touches its file every 30 s, so this is ten missed heartbeats. */
const STALLED_AFTER_MS = 5 * 60_000;

const HEAD_BYTES = 16 * 1024;
const TAIL_BYTES = 32 * 1024;

/** A job file as read now: the record, and what is needed to end the job from another process. */
export interface ReadJob {
  readonly record: JobRecord;
  readonly file: FoundJobFile;
  readonly facts: JobFacts;
  /** For a worker: no process runs it, so no heartbeats are expected. */
  readonly waiting: boolean;
}

/** Reads the first and the last event, not the log between them. Returns undefined if the file does not exist (any more). */
export async function readJobFile(file: FoundJobFile): Promise<ReadJob | undefined> {
  await using handle = await openIfExists(file.path);
  if (!handle) return undefined;
  const { size, mtimeMs } = await handle.stat();
  const head = await readRange(handle, 0, Math.min(size, HEAD_BYTES));
  const start = await readStart(handle, head, size);
  const nameSaysOver = isOver(file.extension);
  const isEnd = (event: SseEvent): boolean => event.event === "end_json";
  const last = await findLastEvent(handle, size, nameSaysOver ? isEnd : () => true, { onlyTheLast: !nameSaysOver });
  const end = last && isEnd(last) ? decodeFacts(last) : undefined;
  const waiting = !start?.process && last?.event === "log" && last.data === WAITING;
  const progress = end ? end.progress : decodeProgress(last?.comment);
  return toReadJob(file, { start, end, waiting, progress }, mtimeMs);
}

/**
 * Returns the last complete event that matches, searching from the end in growing steps. With `onlyTheLast`, checks only the very last
 * complete event: a running job has its end there or nowhere.
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

/** Returns the offset after the last complete event; anything behind it was left by a crash. */
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

/** `start_json` is longer than the head only if a very long URL started the job. */
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

/** The content of the first and the last event. */
interface FirstAndLast {
  readonly start: Partial<JobFacts> | undefined;
  readonly end: Partial<JobFacts> | undefined;
  readonly waiting: boolean;
  readonly progress: JobProgress | undefined;
}

/** The end event takes precedence over the name: a crash may come between writing the event and renaming. */
function toReadJob(file: FoundJobFile, { start, end, waiting, progress }: FirstAndLast, mtimeMs: number): ReadJob {
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
    ...(progress && { progress }),
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

/** The content of `start_json` and `end_json`. */
export interface JobFacts {
  readonly jobId: JobId;
  readonly endpoint: string;
  readonly state: JobState;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly result: Result | null;
  readonly dryRun: boolean;
  /** null in files of writers that do not record it, and for jobs that any worker may run. */
  readonly process: ProcessIdentity | null;
  readonly progress?: JobProgress;
}

/** The last log line of a job that no process runs yet, or any more. */
export const WAITING = "Waiting for a worker.";

export function encodeStart(eventId: number, facts: JobFacts): string {
  const json = JSON.stringify({
    job_id: facts.jobId,
    endpoint: facts.endpoint,
    state: facts.state,
    start_utc: facts.startedAt,
    end_utc: "",
    result: null,
    dry_run: facts.dryRun,
    ...facts.process,
  });
  return encodeSseEvent({ id: String(eventId), event: "start_json", data: json });
}

/**
 * Encodes one line, whatever it quotes: progress is parsed from line starts, and a file name must not forge one. Between the first and the
 * last event only `log` events are allowed, so what a job says of its progress is a comment in them.
 */
export function encodeLog(eventId: number, text: string, progress?: JobProgress): string {
  const comment = progress && { comment: JSON.stringify(progress) };
  return encodeSseEvent({ id: String(eventId), event: "log", data: logLine(text), ...comment });
}

/** Parses the count of a log line that begins with `[ 3 / 40 ]`. */
export function countIn(line: string): JobCount | undefined {
  const found = /^\[\s*(\d+)\s*\/\s*(\d+)\s*\]/.exec(line);
  return found ? { at: Number(found[1]), of: Number(found[2]) } : undefined;
}

export function encodeEnd(eventId: number, facts: JobFacts): string {
  const json = {
    job_id: facts.jobId,
    endpoint: facts.endpoint,
    state: facts.state,
    start_utc: facts.startedAt,
    end_utc: facts.endedAt,
    result: facts.result,
    dry_run: facts.dryRun,
    ...(facts.progress && { progress: facts.progress }),
  };
  return encodeSseEvent({ id: String(eventId), event: "end_json", data: JSON.stringify(json, null, 2) });
}

/** Decodes a `start_json` or `end_json` as far as possible; undefined if it is no JSON object. */
function decodeFacts(event: SseEvent): Partial<JobFacts> | undefined {
  const json = parseJsonObject(event.data);
  if (!json) return undefined;
  return {
    endpoint: text(json["endpoint"]),
    startedAt: text(json["start_utc"]),
    endedAt: text(json["end_utc"]),
    result: decodeResult(json["result"]),
    dryRun: json["dry_run"] === true,
    process: decodeProcess(json),
    ...progressOf(json["progress"]),
    ...(isEndState(json["state"]) ? { state: json["state"] } : {}),
  };
}

function isEndState(value: unknown): value is JobState {
  return value === "completed" || value === "cancelled";
}

function decodeResult(value: unknown): Result | null {
  if (typeof value !== "object" || value === null || !("ok" in value)) return null;
  const { ok, error, data } = value as Record<string, unknown>;
  return { ok: ok === true, error: text(error), data: data ?? {} };
}

function decodeProgress(comment = ""): JobProgress | undefined {
  return progressOf(parseJsonObject(comment)).progress;
}

/** `{}` unless it is what encodeLog wrote: anybody may write a comment. */
function progressOf(json: unknown): { readonly progress?: JobProgress } {
  if (typeof json !== "object" || json === null) return {};
  const { step, source, sources, items, failed } = json as Record<string, unknown>;
  if (!isStep(step) || typeof source !== "string" || !isCount(sources) || !Array.isArray(failed)) return {};
  return { progress: { step, source, sources, failed: failed.filter(isStep), ...(isCount(items) && { items }) } };
}

function isStep(value: unknown): value is PlanStep {
  return value === "download" || value === "process" || value === "embed";
}

function isCount(value: unknown): value is JobCount {
  const { at, of } = (value ?? {}) as Record<string, unknown>;
  return typeof at === "number" && typeof of === "number";
}

function decodeProcess(json: Record<string, unknown>): ProcessIdentity | null {
  const { pid, host, birth } = json;
  if (typeof pid !== "number" || !Number.isInteger(pid) || pid <= 0 || typeof host !== "string") return null;
  return { pid, host, birth: text(birth) };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Throws NotFoundError if there is none. */
export function findJob(jobsFolder: string, id: JobId): Promise<ReadJob> {
  return retryRenamed(async () => {
    const files = await findJobFiles(jobsFolder);
    const file = files.find((candidate) => candidate.jobId === id && isJobState(candidate.extension));
    return file && readJobFile(file);
  }, id);
}

/** A listing may miss a file that is renamed while it is read, so it is tried three times. */
export async function retryRenamed<T>(attempt: () => Promise<T | undefined>, id: JobId): Promise<T> {
  for (let tries = 1; tries <= 3; tries++) {
    const found = await attempt();
    if (found !== undefined) return found;
    await sleep(10);
  }
  throw new NotFoundError(`Job '${id}' does not exist.`);
}

/** A job file or control file as found when the folder was listed. It may have been renamed since. */
export interface FoundJobFile extends JobFileName {
  /** Folders below `jobs/`, `/`-separated. */
  readonly router: string;
  readonly path: string;
}

/** Lists every job file and control file below the folder by name, without opening them. */
export async function findJobFiles(jobsFolder: string): Promise<FoundJobFile[]> {
  const found: FoundJobFile[] = [];
  await collect(jobsFolder, "", found);
  return found;
}

/** Returns the control files for one job in its folder. A bare `[jb_42].pause_requested` counts, too. */
export function requestsFor(
  jobId: JobId,
  names: readonly string[],
): { readonly name: string; readonly request: ControlRequest }[] {
  const requests: { name: string; request: ControlRequest }[] = [];
  for (const name of names) {
    const dot = name.lastIndexOf(".");
    const extension = name.slice(dot + 1);
    if (!isControlRequest(extension)) continue;
    const isBare = name.slice(0, dot) === `[${jobId}]`;
    if (isBare || parseJobFileName(name)?.jobId === jobId) requests.push({ name, request: extension });
  }
  return requests;
}

async function collect(folder: string, router: string, found: FoundJobFile[]): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  });
  for (const entry of entries) {
    if (entry.name.startsWith(".")) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      await collect(path, router === "" ? entry.name : `${router}/${entry.name}`, found);
      continue;
    }
    const name = parseJobFileName(entry.name);
    if (name) found.push({ ...name, router, path });
  }
}

/** The parts of `2025-11-26_14-20-30_[crawl]_[jb_42]_[DEMO].running`. */
export interface JobFileName {
  /** `2025-11-26_14-20-30`, UTC. */
  readonly stamp: string;
  readonly action: string;
  readonly jobId: JobId;
  /** "" for none; the name then ends with the job id. */
  readonly object: string;
  readonly extension: JobState | ControlRequest;
}

type ControlRequest = `${ControlAction}_requested`;

const REQUESTS: readonly string[] = [
  "cancel_requested",
  "pause_requested",
  "resume_requested",
] satisfies ControlRequest[];

/** Two parts of this length, stamp, id and state stay below the 255 bytes of a file name. */
const MAX_PART_BYTES = 80;

const NAME =
  /^(\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2})_\[([^[\]]+)\]_\[(jb_[1-9]\d{0,14})\](?:_\[([^[\]]+)\])?\.([a-z_]+)$/u;

export function formatJobFileName(name: JobFileName): string {
  const object = name.object === "" ? "" : `_[${toNamePart(name.object)}]`;
  return `${name.stamp}_[${toNamePart(name.action)}]_[${name.jobId}]${object}.${name.extension}`;
}

/** Returns undefined for a name that is not a job's. */
export function parseJobFileName(text: string): JobFileName | undefined {
  const match = NAME.exec(text);
  if (!match) return undefined;
  const [, stamp = "", action = "", jobId = "", object = "", extension = ""] = match;
  if (!isJobState(extension) && !isControlRequest(extension)) return undefined;
  return { stamp, action, jobId: jobId as JobId, object, extension };
}

export function isJobState(text: string): text is JobState {
  return (JOB_STATES as readonly string[]).includes(text);
}

function isControlRequest(text: string): text is ControlRequest {
  return REQUESTS.includes(text);
}

export function jobNumber(id: JobId): number {
  return Number(id.slice("jb_".length));
}

/** Returns undefined if the text is no job id. */
export function parseJobId(text: string): JobId | undefined {
  return /^jb_[1-9]\d{0,14}$/.test(text) ? (text as JobId) : undefined;
}

/** Replaces characters that file names cannot have on some system, and the brackets around the parts, by underscores. */
export function toNamePart(text: string): string {
  const safe = text
    .toWellFormed()
    .replaceAll(/[^\p{L}\p{M}\p{N} ._~@,;=+()-]/gu, "_")
    .trim();
  let part = "";
  for (const character of safe) {
    if (Buffer.byteLength(part + character) > MAX_PART_BYTES) break;
    part += character;
  }
  return part.trim() || "_";
}
