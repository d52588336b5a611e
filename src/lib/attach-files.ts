import { forEachConcurrent } from "./concurrency.ts";

/** Requests to one vector store. How they are retried, limited and explained is the caller's. */
export interface AttachRequests<Id extends string, File, State extends { readonly status: string }, Refused> {
  now(): number;
  /** Rejects when cancelled. */
  pause(ms: number): Promise<void>;
  /** All files in one request; `refused` if the service does not take them so. */
  attachBatch(files: readonly File[]): Promise<{ readonly batchId: string | undefined } | "refused">;
  /** A batch was refused, and then nothing was wrong with any of its files: the service does not know such batches. */
  onBatchesUnsupported?(): void;
  /** undefined: attached. */
  attachOne(file: File): Promise<Refused | undefined>;
  /** Empty if the list cannot be read now. */
  listBatch(batchId: string): Promise<readonly (readonly [Id, State])[]>;
  /** The state is undefined if the store does not have the file (yet). */
  poll(id: Id): Promise<{ readonly state: State | undefined; readonly pollAfterMs?: number | undefined }>;
}

export interface PollIntervals {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** How it ended for one file. `lost`: attached, and not in the store a minute later. `stalled`: not one file was done for 15 minutes. */
export type AttachResult<Id, State, Refused> =
  | { readonly id: Id; readonly refused: Refused }
  | { readonly id: Id; readonly state: State }
  | { readonly id: Id; readonly unfinished: "lost" | "stalled" };

/** The service is eventually consistent: for this long a 404 for a file just uploaded or attached means "not yet". */
export const SETTLING_MS = 60_000;
/** Since the last file was done. */
export const STALLED_MS = 15 * 60_000;
const SHORTEST_INTERVAL_MS = 10;
/** While files get done, the interval does not grow beyond this many steps. */
const MAX_STEPS_IN_PROGRESS = 3;
/** Files polled one by one in a round: all that can be done without a batch, a sample beside its list. */
const POLLED_PER_ROUND = { withoutBatch: 100, besideList: 4 };
const CONCURRENT_REQUESTS = 4;

/**
 * Attaches files to a vector store and waits until each is indexed or failed; yields every file once, as it ends. A batch that is
 * refused is attached file by file, because one bad file must not keep the others out.
 */
export async function* attachFiles<Id extends string, File, State extends { readonly status: string }, Refused>(
  requests: AttachRequests<Id, File, State, Refused>,
  files: readonly File[],
  { idOf, intervals }: { readonly idOf: (file: File) => Id; readonly intervals: PollIntervals },
): AsyncGenerator<AttachResult<Id, State, Refused>, void> {
  const batch = files.length === 1 ? "refused" : await requests.attachBatch(files);
  const refused = new Map<Id, Refused>();
  if (batch === "refused") {
    await forEachConcurrent(files, CONCURRENT_REQUESTS, async (file) => {
      const answer = await requests.attachOne(file);
      if (answer !== undefined) refused.set(idOf(file), answer);
    });
    if (files.length > 1 && refused.size === 0) requests.onBatchesUnsupported?.();
  }
  for (const [id, answer] of refused) yield { id, refused: answer };
  const attached = files.map(idOf).filter((id) => !refused.has(id));
  yield* awaitFiles(requests, attached, batch === "refused" ? undefined : batch.batchId, intervals);
}

/**
 * Ends when every file was seen done, or is given up. Neither the state of a batch nor an empty list of files in progress proves
 * that: both have been seen while files had failed or were not listed yet.
 */
async function* awaitFiles<Id extends string, File, State extends { readonly status: string }, Refused>(
  requests: AttachRequests<Id, File, State, Refused>,
  ids: readonly Id[],
  batchId: string | undefined,
  intervals: PollIntervals,
): AsyncGenerator<AttachResult<Id, State, Refused>, void> {
  const pending = new PendingFiles<Id, State>(ids, requests.now());
  for (let step = 0; pending.ids.size > 0; step++) {
    const before = pending.ids.size;
    const pollAfterMs = await pollRound(requests, pending, batchId);
    if (pending.ids.size < before) step = Math.min(step, MAX_STEPS_IN_PROGRESS);
    pending.giveUp(requests.now());
    yield* pending.takeEnded();
    if (pending.ids.size > 0) await requests.pause(pollInterval(intervals, pollAfterMs, step));
  }
}

type Ended<Id, State> =
  | { readonly id: Id; readonly state: State }
  | { readonly id: Id; readonly unfinished: "lost" | "stalled" };

class PendingFiles<Id, State extends { readonly status: string }> {
  readonly ids: Set<Id>;
  /** When a poll by id last did not find the file. */
  readonly #absentAtMs = new Map<Id, number>();
  readonly #startMs: number;
  #progressAtMs: number;
  #ended: Ended<Id, State>[] = [];

  constructor(ids: Iterable<Id>, nowMs: number) {
    this.ids = new Set(ids);
    this.#startMs = nowMs;
    this.#progressAtMs = nowMs;
  }

  record(id: Id, state: State | undefined, nowMs: number): void {
    if (state) this.#absentAtMs.delete(id);
    else this.#absentAtMs.set(id, nowMs);
    if (!state || !isDone(state) || !this.ids.delete(id)) return;
    this.#ended.push({ id, state });
    this.#progressAtMs = nowMs;
  }

  giveUp(nowMs: number): void {
    for (const id of this.ids) {
      const absentMs = (this.#absentAtMs.get(id) ?? this.#startMs) - this.#startMs;
      const unfinished =
        absentMs >= SETTLING_MS ? "lost" : nowMs - this.#progressAtMs >= STALLED_MS ? "stalled" : undefined;
      if (unfinished === undefined) continue;
      this.ids.delete(id);
      this.#ended.push({ id, unfinished });
    }
  }

  takeEnded(): readonly Ended<Id, State>[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }
}

/** Returns when the service wants to be polled again, if it says so. */
async function pollRound<Id extends string, File, State extends { readonly status: string }, Refused>(
  requests: AttachRequests<Id, File, State, Refused>,
  pending: PendingFiles<Id, State>,
  batchId: string | undefined,
): Promise<number | undefined> {
  const before = pending.ids.size;
  if (batchId !== undefined) {
    const nowMs = requests.now();
    for (const [id, state] of await requests.listBatch(batchId)) pending.record(id, state, nowMs);
  }
  let pollAfterMs: number | undefined;
  // A list that shows nothing new may be incomplete.
  const most = batchId === undefined ? POLLED_PER_ROUND.withoutBatch : POLLED_PER_ROUND.besideList;
  const polled = pending.ids.size === before ? [...pending.ids].slice(0, most) : [];
  await forEachConcurrent(polled, CONCURRENT_REQUESTS, async (id) => {
    const answer = await requests.poll(id);
    pollAfterMs = answer.pollAfterMs ?? pollAfterMs;
    // To the end of the queue, so that the next round polls others.
    if (pending.ids.delete(id)) pending.ids.add(id);
    pending.record(id, answer.state, requests.now());
  });
  return pollAfterMs;
}

/** A status that a later release of the service may add is not done: the deadline ends it, not a guess. */
function isDone({ status }: { readonly status: string }): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** Never sooner than the service wants, and longer the longer nothing happens. */
function pollInterval({ firstMs, longestMs }: PollIntervals, pollAfterMs: number | undefined, step: number): number {
  const shortestMs = Math.max(pollAfterMs ?? firstMs, SHORTEST_INTERVAL_MS);
  return Math.max(shortestMs, Math.min(shortestMs * 1.5 ** step, longestMs));
}
