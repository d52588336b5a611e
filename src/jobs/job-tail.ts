import type { FileHandle } from "node:fs/promises";
import { sleep } from "../lib/time.ts";
import { readRange } from "./job-file.ts";

const POLL_MS = 100;
const OVER_CHECK_MS = 1_000;
const BLOCK_BYTES = 256 * 1024;
const END_LINE = Buffer.from("event: end_json\n");
const LINE_FEED = 10;

/**
 * One look at a growing job file, shared by all who follow it in this process: the file is polled and its news are
 * read once, however many listen. The file is kept open, so renames do not matter.
 */
export interface JobTail {
  /** Bytes from the offset, whole events only; undefined when nothing more will come. Waits for news until the signal. */
  read(offset: number, signal: AbortSignal): Promise<Buffer | undefined>;
  /** The file is closed with the last release. */
  release(): void;
}

interface SharedTail {
  readonly handle: FileHandle;
  readonly access: JobFileAccess;
  followers: number;
  /** Up to here there are whole events. */
  completeBytes: number;
  newest: { readonly offset: number; readonly bytes: Buffer };
  /** Nothing more will come. */
  closed: boolean;
  overCheckedAt: number;
  /** Replaced after every round, so that each waiter is woken once. */
  round: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
}

/** What only the first follower of a job needs to look for. */
export interface JobFileAccess {
  open(): Promise<FileHandle | undefined>;
  /** The job has stalled, or is over although its file does not say so. */
  isOver(): Promise<boolean>;
}

export type OpenTail = (key: string, access: JobFileAccess) => Promise<JobTail | undefined>;

/** The returned function opens a tail under a key, or joins the one that is open; undefined when there is no such file. */
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
    // Nothing more would come from a closed one, yet since then somebody may have ended the job in its file.
    if (!tail || tail.closed) leaveMap();
    if (!tail) return undefined;
    if (tail.closed) return join(key, access);
    tail.followers++;
    return {
      read: (offset, signal) => readFrom(tail, offset, signal),
      release() {
        if (--tail.followers > 0) return;
        leaveMap();
        // Whoever still reads has its own reference; a failing close of a file only read from loses nothing.
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
    await oneRound(tail, signal);
  }
  const { newest } = tail;
  if (offset >= newest.offset) return newest.bytes.subarray(offset - newest.offset);
  // A follower that is behind reads for itself.
  return readWholeEvents(tail.handle, offset, tail.completeBytes - offset);
}

/** Looks once for everybody who waits. A waiter whose signal aborts leaves without disturbing the others. */
async function oneRound(tail: SharedTail, signal: AbortSignal): Promise<void> {
  if (!tail.round) {
    const { promise, resolve } = Promise.withResolvers<void>();
    tail.round = { promise, resolve };
    void lookForNews(tail).finally(() => {
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

async function lookForNews(tail: SharedTail): Promise<void> {
  try {
    if (await readNews(tail)) return;
    if (performance.now() - tail.overCheckedAt > OVER_CHECK_MS) {
      tail.overCheckedAt = performance.now();
      if (await tail.access.isOver()) {
        // Its last words may have come between the two looks.
        if (!(await readNews(tail))) tail.closed = true;
        return;
      }
    }
    await sleep(POLL_MS);
  } catch {
    // The file was closed under the look because the last follower left, or cannot be read: nothing more will come.
    tail.closed = true;
  }
}

/** True when there were whole events: one block of them, more only if a single event is larger. */
async function readNews(tail: SharedTail): Promise<boolean> {
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

/** At most a block, cut after its last whole event; a larger block when not even one event fits. */
async function readWholeEvents(handle: FileHandle, offset: number, available: number): Promise<Buffer> {
  for (let bytes = BLOCK_BYTES; ; bytes *= 4) {
    const block = await readRange(handle, offset, Math.min(bytes, available));
    const end = block.lastIndexOf("\n\n");
    if (end >= 0 || bytes >= available) return block.subarray(0, end < 0 ? 0 : end + 2);
  }
}

/**
 * Where the first `end_json` ends, -1 when there is none. What a writer that was thought dead adds after it is not
 * part of the job. No data line can begin like an event, so the line is enough to go by.
 */
function findEnd(events: Buffer): number {
  let at = events.indexOf(END_LINE);
  while (at > 0 && events[at - 1] !== LINE_FEED) at = events.indexOf(END_LINE, at + 1);
  return at < 0 ? -1 : events.indexOf("\n\n", at) + 2;
}
