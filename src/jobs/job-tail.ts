import type { FileHandle } from "node:fs/promises";
import { sleep } from "../lib/time.ts";
import { readRange } from "./job-file.ts";

const POLL_MS = 100;
const OVER_CHECK_MS = 1_000;
const BLOCK_BYTES = 256 * 1024;
const END_LINE = Buffer.from("event: end_json\n");
const LINE_FEED = 10;

/**
 * A reader of a growing job file, shared by all followers in this process: the file is polled and read once, however many follow. It is
 * kept open, so renames do not matter.
 */
export interface JobTail {
  /** Returns bytes from the offset, whole events only; undefined if no more will come. Waits for new ones until the signal aborts. */
  read(offset: number, signal: AbortSignal): Promise<Buffer | undefined>;
  /** The last release closes the file. */
  release(): void;
}

interface SharedTail {
  readonly handle: FileHandle;
  readonly access: JobFileAccess;
  followers: number;
  /** Events are complete up to this offset. */
  completeBytes: number;
  newest: { readonly offset: number; readonly bytes: Buffer };
  /** No more bytes will come. */
  closed: boolean;
  overCheckedAt: number;
  /** Replaced after every round, so that each waiter is woken once. */
  round: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
}

/** Used by the first follower of a job only. */
export interface JobFileAccess {
  open(): Promise<FileHandle | undefined>;
  /** Returns true if the job has stalled, or is over although its file does not say so. */
  isOver(): Promise<boolean>;
}

export type OpenTail = (key: string, access: JobFileAccess) => Promise<JobTail | undefined>;

/** Returns a function that opens a tail under a key, or joins the open one; undefined if there is no such file. */
export function createTailSharing(): OpenTail {
  const shared = new Map<string, Promise<SharedTail | undefined>>();
  return async function join(key, access) {
    let opening = shared.get(key);
    if (!opening) {
      opening = openTail(access);
      shared.set(key, opening);
    }
    const leaveMap = (): void => {
      if (shared.get(key) === opening) shared.delete(key);
    };
    const tail = await opening.catch((error: unknown) => {
      leaveMap();
      throw error;
    });
    // A closed tail gets nothing more, but another process may have ended the job in its file since.
    if (!tail || tail.closed) leaveMap();
    if (!tail) return undefined;
    if (tail.closed) return join(key, access);
    tail.followers++;
    return {
      read: (offset, signal) => readFrom(tail, offset, signal),
      release() {
        if (--tail.followers > 0) return;
        leaveMap();
        // Reads under way have their own reference; a failed close of a file that was only read loses nothing.
        void tail.handle.close().catch(() => undefined);
      },
    };
  };
}

async function openTail(access: JobFileAccess): Promise<SharedTail | undefined> {
  const handle = await access.open();
  if (!handle) return undefined;
  return {
    handle,
    access,
    followers: 0,
    completeBytes: 0,
    newest: { offset: 0, bytes: Buffer.alloc(0) },
    closed: false,
    overCheckedAt: Number.NEGATIVE_INFINITY,
    round: undefined,
  };
}

async function readFrom(tail: SharedTail, offset: number, signal: AbortSignal): Promise<Buffer | undefined> {
  while (offset >= tail.completeBytes) {
    if (tail.closed || signal.aborted) return undefined;
    await waitForRound(tail, signal);
  }
  const { newest } = tail;
  if (offset >= newest.offset) return newest.bytes.subarray(offset - newest.offset);
  // A follower that is behind reads for itself.
  return readWholeEvents(tail.handle, offset, tail.completeBytes - offset);
}

/** Polls once for all waiters. A waiter whose signal aborts leaves without disturbing the others. */
async function waitForRound(tail: SharedTail, signal: AbortSignal): Promise<void> {
  if (!tail.round) {
    const { promise, resolve } = Promise.withResolvers<void>();
    tail.round = { promise, resolve };
    void pollFile(tail).finally(() => {
      tail.round = undefined;
      resolve();
    });
  }
  const left = Promise.withResolvers<void>();
  const leave = (): void => left.resolve();
  signal.addEventListener("abort", leave, { once: true });
  await Promise.race([tail.round.promise, left.promise]);
  signal.removeEventListener("abort", leave);
}

async function pollFile(tail: SharedTail): Promise<void> {
  try {
    if (await readNewEvents(tail)) return;
    if (performance.now() - tail.overCheckedAt > OVER_CHECK_MS) {
      tail.overCheckedAt = performance.now();
      if (await tail.access.isOver()) {
        // The last events may have come between the two reads.
        if (!(await readNewEvents(tail))) tail.closed = true;
        return;
      }
    }
    await sleep(POLL_MS);
  } catch {
    // The last follower left and the file was closed meanwhile, or it cannot be read: no more will come.
    tail.closed = true;
  }
}

/** Reads one block of whole events, more only if a single event is larger. Returns false if there was none. */
async function readNewEvents(tail: SharedTail): Promise<boolean> {
  const offset = tail.completeBytes;
  const unread = (await tail.handle.stat()).size - offset;
  if (unread <= 0) return false;
  const whole = await readWholeEvents(tail.handle, offset, unread);
  if (whole.length === 0) return false;
  const endAt = findEnd(whole);
  if (endAt >= 0) tail.closed = true;
  tail.newest = { offset, bytes: endAt < 0 ? whole : whole.subarray(0, endAt) };
  tail.completeBytes = offset + tail.newest.bytes.length;
  return true;
}

/** Returns at most one block, cut after its last whole event; a larger one if a single event does not fit. */
async function readWholeEvents(handle: FileHandle, offset: number, available: number): Promise<Buffer> {
  for (let bytes = BLOCK_BYTES; ; bytes *= 4) {
    const block = await readRange(handle, offset, Math.min(bytes, available));
    const end = block.lastIndexOf("\n\n");
    if (end >= 0 || bytes >= available) return block.subarray(0, end < 0 ? 0 : end + 2);
  }
}

/**
 * Returns the offset after the first `end_json`, or -1. Later lines, by a writer that was taken for dead, are not part of the job. No
 * data line begins like an event, so comparing the line is enough.
 */
function findEnd(events: Buffer): number {
  let at = events.indexOf(END_LINE);
  while (at > 0 && events[at - 1] !== LINE_FEED) at = events.indexOf(END_LINE, at + 1);
  return at < 0 ? -1 : events.indexOf("\n\n", at) + 2;
}
