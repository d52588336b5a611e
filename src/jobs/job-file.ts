import { type FileHandle, mkdir, open, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JobState } from "../contracts/job.ts";
import { isErrno } from "../lib/atomic-file.ts";
import type { FoundJobFile } from "./find-job-files.ts";
import { formatJobFileName, type JobFileName } from "./job-file-name.ts";
import { findCompleteSize, findLastEvent } from "./read-job-file.ts";

const FLUSH_AFTER_MS = 100;
const FLUSH_AT_CHARACTERS = 64 * 1024;

/**
 * The file of a job of this process, held open from `start_json` to `end_json` and renamed with the state. Everything
 * that touches it goes through one queue, so events keep their order and a rename never overtakes a write.
 */
export interface JobFile {
  /** Where it is now. */
  readonly path: string;
  /** The next free event id; taking it makes it used. */
  nextEventId(): number;
  /** Takes the bytes of a log event; they are on their way to disk within 100 ms. Trouble goes to `onTrouble`. */
  append(bytes: string): void;
  /** Everything appended so far is written, or its trouble told. */
  settle(): Promise<void>;
  setState(state: JobState): Promise<void>;
  /** Tells other processes that this one lives. */
  touch(): Promise<void>;
  /** False once somebody else ended the job and renamed or removed its file. */
  isMine(): Promise<boolean>;
  /** Writes the last event, through to the disk, renames and closes. Nothing is written afterwards. */
  end(bytes: string, state: JobState): Promise<void>;
  /** Closes without an end: the file belongs to somebody else now. */
  abandon(): Promise<void>;
  /** Writes a last event and closes, for somebody else to go on. */
  leave(bytes: string): Promise<void>;
}

export interface NewJobFile {
  readonly folder: string;
  readonly name: Omit<JobFileName, "extension">;
  /** The bytes of `start_json`, event 1. */
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

/** Goes on with a file that somebody left, or was killed over. What it had begun to write is cut off: nobody was shown it. */
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
        try {
          return (await stat(path)).ino === (await handle.stat()).ino;
        } catch (error) {
          if (isErrno(error, "ENOENT")) return false;
          throw error;
        }
      }),
    async end(bytes, state) {
      try {
        // Apart from the log before it: on a full disk the little end may still find room.
        await writer.settle();
        await writer.now(bytes);
        await writer.queue(() => handle.sync());
      } finally {
        // Also without its last event the name says that the job is over; readers then report a missing result.
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
  /** Everything taken so far is written, or its trouble reported. */
  settle(): Promise<void>;
  queue<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
  /** Closes without writing what was taken. */
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

/** All of the bytes or none: half an event in the middle would swallow the one after it. */
async function appendWhole(handle: FileHandle, bytes: Buffer): Promise<void> {
  const { size } = await handle.stat();
  try {
    await handle.writeFile(bytes);
  } catch (error) {
    await handle.truncate(size).catch(() => undefined);
    throw error;
  }
}
