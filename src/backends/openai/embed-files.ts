import { CancelledError, RemoteError } from "../../contracts/errors.ts";
import type { FileId } from "../../contracts/ids.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { pause } from "./connection.ts";
import { hasStatus, Refusal } from "./refusal.ts";
import {
  assertStoreExists,
  detachFile,
  listStoreFiles,
  lookAtFile,
  type Store,
  type WireAttributes,
} from "./store-files.ts";
import { readBatchId, type StoreFile } from "./wire-codec.ts";

const MANY = 20;

export type Embedded =
  | { readonly status: "completed" }
  /** permanent: the same bytes will fail again. */
  | { readonly status: "failed"; readonly reason: string; readonly permanent: boolean };

/** Attaches the files and waits until a search can find them, or the service said why not. An outcome for every file. */
export async function embedFiles(
  store: Store,
  files: readonly Attachment[],
  signal: AbortSignal,
): Promise<ReadonlyMap<FileId, Embedded>> {
  const outcomes = await embedOnce(store, files, signal);
  const again = files.filter(({ fileId }) => isPassing(outcomes.get(fileId)));
  if (again.length === 0) return readAll(outcomes);
  for (const { fileId } of again) await detachFile(store, fileId, signal);
  return readAll(new Map([...outcomes, ...(await embedOnce(store, again, signal))]));
}

type Outcome = Ending | { readonly refused: string; readonly permanent: boolean };

async function embedOnce(store: Store, files: readonly Attachment[], signal: AbortSignal) {
  const { batchId, refused } = await attachFiles(store, files, signal);
  const outcomes = new Map<FileId, Outcome>();
  for (const [fileId, refusal] of refused) {
    outcomes.set(fileId, { refused: refusal.message, permanent: refusal.concernsFile });
  }
  const attached = files.map(({ fileId }) => fileId).filter((fileId) => !refused.has(fileId));
  const endings = await awaitFiles(store, attached, batchId, signal);
  refuseStandstill(store, [...endings.values()]);
  for (const [fileId, ending] of endings) outcomes.set(fileId, ending);
  return outcomes;
}

/** When not one of many got done, it is the service that stands still, and the next slice would wait as long for nothing. */
function refuseStandstill({ storeId }: Store, endings: readonly Ending[]): void {
  const [first] = endings;
  if (!first || endings.length < MANY || endings.some((ending) => "file" in ending)) return;
  const why = "unfinished" in first ? first.unfinished : "";
  const message = `attach to vector store ${storeId}: not one of ${endings.length} files was taken in (${why}); run again later`;
  throw new Refusal(message, { status: undefined, concernsAll: true });
}

/** An internal error of the service has been seen to pass at the next try; what it says about the file does not. */
function isPassing(outcome: Outcome | undefined): boolean {
  return outcome !== undefined && "file" in outcome && outcome.file.error?.code === "server_error";
}

function readAll(outcomes: ReadonlyMap<FileId, Outcome>): ReadonlyMap<FileId, Embedded> {
  return new Map([...outcomes].map(([fileId, outcome]) => [fileId, read(outcome)]));
}

function read(outcome: Outcome): Embedded {
  if ("refused" in outcome) return { status: "failed", reason: outcome.refused, permanent: outcome.permanent };
  if ("unfinished" in outcome) return { status: "failed", reason: outcome.unfinished, permanent: false };
  const { status, error } = outcome.file;
  if (status === "completed") return { status };
  const permanent = error?.code === "unsupported_file" || error?.code === "invalid_file";
  return { status: "failed", reason: error ? `${error.code}: ${error.message}` : status, permanent };
}

/** How the service ended with a file; `unfinished` says why nobody waits any longer. */
type Ending = { readonly file: StoreFile } | { readonly unfinished: string };

/** The service is eventually consistent: for this long a 404 for a file just uploaded or attached means "not yet". */
const SETTLING_MS = 60_000;
/** Since the last file was done. */
const STANDSTILL_MS = 15 * 60_000;
const FIRST_INTERVAL_MS = 500;
const SHORTEST_INTERVAL_MS = 10;
const LONGEST_INTERVAL_MS = 20_000;
/** While files get done, the interval does not grow beyond this many steps. */
const BRISK = 3;
/** So many are asked for one by one in a round: all that can be done without a batch, a sample beside its list. */
const ASKED = { alone: 100, besideList: 4 };
const AT_ONCE = 4;

/**
 * Ends when every one of the files was seen done, or is given up. Neither the state of a batch nor an empty list of
 * files in progress is proof of that: both have been seen while files had failed or were not listed yet.
 */
async function awaitFiles(
  store: Store,
  fileIds: Iterable<FileId>,
  batchId: string | undefined,
  signal: AbortSignal,
): Promise<ReadonlyMap<FileId, Ending>> {
  const { clock } = store.connection;
  const what = `wait for files of vector store ${store.storeId}`;
  const waiting = new Waiting(fileIds, clock.now());
  for (let idle = 0; waiting.pending.size > 0; idle++) {
    const before = waiting.pending.size;
    const pollAfterMs = await lookAround(store, waiting, batchId, signal);
    if (waiting.pending.size < before) idle = Math.min(idle, BRISK);
    waiting.giveUp(clock.now());
    if (waiting.pending.size > 0) await pause(clock, pollInterval(pollAfterMs, idle), what, signal);
  }
  if (waiting.lostSome) await assertStoreExists(store, "attach to", undefined, signal);
  return waiting.endings;
}

class Waiting {
  readonly pending: Set<FileId>;
  readonly endings = new Map<FileId, Ending>();
  /** Asked for by id and not found, and when that was. */
  readonly #absentAtMs = new Map<FileId, number>();
  readonly #startMs: number;
  lostSome = false;
  #progressAtMs: number;

  constructor(fileIds: Iterable<FileId>, nowMs: number) {
    this.pending = new Set(fileIds);
    this.#startMs = nowMs;
    this.#progressAtMs = nowMs;
  }

  saw(fileId: FileId, file: StoreFile | undefined, nowMs: number): void {
    if (file) this.#absentAtMs.delete(fileId);
    else this.#absentAtMs.set(fileId, nowMs);
    if (!file || !isDone(file) || !this.pending.delete(fileId)) return;
    this.endings.set(fileId, { file });
    this.#progressAtMs = nowMs;
  }

  giveUp(nowMs: number): void {
    for (const fileId of this.pending) {
      const absentAtMs = this.#absentAtMs.get(fileId) ?? this.#startMs;
      const vanished = absentAtMs - this.#startMs >= SETTLING_MS;
      this.lostSome ||= vanished;
      if (vanished) this.#end(fileId, "it vanished from the vector store");
      else if (nowMs - this.#progressAtMs >= STANDSTILL_MS) {
        this.#end(fileId, `still in progress after ${STANDSTILL_MS / 60_000} minutes`);
      }
    }
  }

  #end(fileId: FileId, unfinished: string): void {
    this.pending.delete(fileId);
    this.endings.set(fileId, { unfinished });
  }
}

/** Says when the service wants to be asked again, if it does. */
async function lookAround(
  store: Store,
  waiting: Waiting,
  batchId: string | undefined,
  signal: AbortSignal,
): Promise<number | undefined> {
  const before = waiting.pending.size;
  if (batchId) await lookAtBatch(store, waiting, batchId, signal);
  let pollAfterMs: number | undefined;
  // A list that shows nothing new may lack what is there.
  const most = batchId ? ASKED.besideList : ASKED.alone;
  const asked = waiting.pending.size === before ? [...waiting.pending].slice(0, most) : [];
  const { clock, calls } = store.connection;
  await forEachConcurrent(asked, AT_ONCE, async (fileId) => {
    const looked = await calls.run(`look at file ${fileId}`, () => lookAtFile(store, fileId, signal), signal);
    pollAfterMs = looked.pollAfterMs ?? pollAfterMs;
    // To the end of the queue, so that the next round asks for others.
    if (waiting.pending.delete(fileId)) waiting.pending.add(fileId);
    waiting.saw(fileId, looked.file, clock.now());
  });
  return pollAfterMs;
}

/** Trouble with the list is no trouble: the files can be asked for one by one. */
async function lookAtBatch(store: Store, waiting: Waiting, batchId: string, signal: AbortSignal): Promise<void> {
  try {
    const nowMs = store.connection.clock.now();
    for (const file of await listStoreFiles(store, batchId, signal)) waiting.saw(file.fileId, file, nowMs);
  } catch (error) {
    const stops = error instanceof CancelledError || (error instanceof Refusal && error.concernsAll);
    if (stops || !(error instanceof RemoteError)) throw error;
  }
}

/** What a later release of the service may add is not done, so the deadline ends it and not a guess. */
function isDone(file: StoreFile): boolean {
  return file.status === "completed" || file.status === "failed" || file.status === "cancelled";
}

/** Never sooner than the service asks for, and rarer the longer nothing happens, even when it asks for more. */
function pollInterval(pollAfterMs: number | undefined, idle: number): number {
  const firstMs = Math.max(pollAfterMs ?? FIRST_INTERVAL_MS, SHORTEST_INTERVAL_MS);
  return Math.max(firstMs, Math.min(firstMs * 1.5 ** idle, LONGEST_INTERVAL_MS));
}

export interface Attachment {
  readonly fileId: FileId;
  readonly attributes: WireAttributes;
}

interface Attached {
  /** undefined: they were attached one by one. */
  readonly batchId: string | undefined;
  /** Why the service does not take them; the others are attached. */
  readonly refused: ReadonlyMap<FileId, Refusal>;
}

const LONGEST_ATTACH_WAIT_MS = 10_000;

/**
 * Attaches up to 2,000 files, in one request where the service takes that. A batch that is refused is attached file by
 * file, because one file that is not welcome must not keep the others out. Throws when it is not about files at all.
 */
async function attachFiles(store: Store, files: readonly Attachment[], signal: AbortSignal): Promise<Attached> {
  const { clock, lacks } = store.connection;
  const giveUpAtMs = clock.now() + SETTLING_MS;
  if (files.length === 1 || lacks.batches) {
    return { batchId: undefined, refused: await attachEach(store, files, giveUpAtMs, signal) };
  }
  const batch = await settling(store, giveUpAtMs, () => sendBatch(store, files, signal), signal);
  if (!(batch instanceof Refusal)) return { batchId: batch, refused: new Map() };
  const refused = await attachEach(store, files, giveUpAtMs, signal);
  // Nothing was wrong with any of the files, so it is batches with attributes that this service does not know.
  lacks.batches = refused.size === 0;
  return { batchId: undefined, refused };
}

async function attachEach(
  store: Store,
  files: readonly Attachment[],
  giveUpAtMs: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<FileId, Refusal>> {
  const refused = new Map<FileId, Refusal>();
  await forEachConcurrent(files, AT_ONCE, async (file) => {
    const answer = await settling(store, giveUpAtMs, () => sendOne(store, file, signal), signal);
    if (!(answer instanceof Refusal)) return;
    // A service may refuse what is attached already, as after a try whose answer was lost.
    const isThere = answer.status === 400 && (await findMissing(store, [file], signal)).length === 0;
    if (!isThere) refused.set(file.fileId, answer);
  });
  return refused;
}

/** Again while it may only be too early; a refusal that is about the request is returned, anything else thrown. */
async function settling<T>(
  store: Store,
  giveUpAtMs: number,
  attach: () => Promise<T>,
  signal: AbortSignal,
): Promise<T | Refusal> {
  const { clock } = store.connection;
  for (let waitMs = FIRST_INTERVAL_MS; ; waitMs = Math.min(waitMs * 1.5, LONGEST_ATTACH_WAIT_MS)) {
    try {
      return await attach();
    } catch (error) {
      if (!(error instanceof Refusal) || !hasStatus(error, 400, 404, 405, 413, 422) || error.concernsAll) throw error;
      await assertStoreExists(store, "attach to", error, signal);
      if (error.status !== 404 || clock.now() >= giveUpAtMs) return error;
      await pause(clock, waitMs, `attach to vector store ${store.storeId}`, signal);
    }
  }
}

function sendBatch(store: Store, files: readonly Attachment[], signal: AbortSignal): Promise<string | undefined> {
  const { client, calls, limits } = store.connection;
  const what = `attach ${files.length} files to vector store ${store.storeId}`;
  return calls.run(
    what,
    async (attempt) => {
      // The try before may have been carried out without our hearing of it, and what a second attach does is nowhere said.
      const missing = attempt > 1 ? await findMissing(store, files, signal) : files;
      if (missing.length === 0) return undefined;
      await limits.attachCalls(store.storeId).pass(1, what, signal);
      await limits.attachedFiles.pass(missing.length, what, signal);
      const wanted = missing.map(({ fileId, attributes }) => ({ file_id: fileId, attributes }));
      return readBatchId(await client.vectorStores.fileBatches.create(store.storeId, { files: wanted }, { signal }));
    },
    signal,
  );
}

async function findMissing(store: Store, files: readonly Attachment[], signal: AbortSignal): Promise<Attachment[]> {
  const missing: Attachment[] = [];
  const { calls } = store.connection;
  await forEachConcurrent(files, AT_ONCE, async (file) => {
    const look = () => lookAtFile(store, file.fileId, signal);
    if (!(await calls.run(`look at file ${file.fileId}`, look, signal)).file) missing.push(file);
  });
  return missing;
}

function sendOne(store: Store, { fileId, attributes }: Attachment, signal: AbortSignal): Promise<void> {
  const { client, calls, limits } = store.connection;
  const what = `attach file ${fileId}`;
  return calls.run(
    what,
    async (attempt) => {
      if (attempt > 1 && (await lookAtFile(store, fileId, signal)).file) return;
      await limits.attachCalls(store.storeId).pass(1, what, signal);
      await limits.attachedFiles.pass(1, what, signal);
      await client.vectorStores.files.create(store.storeId, { file_id: fileId, attributes }, { signal });
    },
    signal,
  );
}
