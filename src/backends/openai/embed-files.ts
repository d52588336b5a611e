import { CancelledError, RemoteError } from "../../contracts/errors.ts";
import type { FileId } from "../../contracts/ids.ts";
import {
  type AttachRequests,
  type AttachResult,
  attachFiles,
  SETTLING_MS,
  STALLED_MS,
} from "../../lib/attach-files.ts";
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

type Outcome = AttachResult<FileId, StoreFile, Refusal>;

async function embedOnce(
  store: Store,
  files: readonly Attachment[],
  signal: AbortSignal,
): Promise<ReadonlyMap<FileId, Outcome>> {
  const outcomes = new Map<FileId, Outcome>();
  const options = { idOf: ({ fileId }: Attachment) => fileId, intervals: POLL_INTERVALS };
  for await (const outcome of attachFiles(attachRequests(store, signal), files, options)) {
    outcomes.set(outcome.id, outcome);
  }
  const waitedFor = [...outcomes.values()].filter((outcome) => !("refused" in outcome));
  const isLost = waitedFor.some((outcome) => "unfinished" in outcome && outcome.unfinished === "lost");
  if (isLost) await assertStoreExists(store, "attach to", undefined, signal);
  refuseStandstill(store, waitedFor);
  return outcomes;
}

/** When not one of many got done, it is the service that stands still, and the next slice would wait as long for nothing. */
function refuseStandstill({ storeId }: Store, outcomes: readonly Outcome[]): void {
  const [first] = outcomes;
  if (!first || outcomes.length < MANY || outcomes.some((outcome) => "state" in outcome)) return;
  const why = "unfinished" in first ? UNFINISHED[first.unfinished] : "";
  const message = `attach to vector store ${storeId}: not one of ${outcomes.length} files was taken in (${why}); run again later`;
  throw new Refusal(message, { status: undefined, concernsAll: true });
}

/** An internal error of the service has been seen to pass at the next try; what it says about the file does not. */
function isPassing(outcome: Outcome | undefined): boolean {
  return outcome !== undefined && "state" in outcome && outcome.state.error?.code === "server_error";
}

function readAll(outcomes: ReadonlyMap<FileId, Outcome>): ReadonlyMap<FileId, Embedded> {
  return new Map([...outcomes].map(([fileId, outcome]) => [fileId, read(outcome)]));
}

function read(outcome: Outcome): Embedded {
  if ("refused" in outcome) {
    return { status: "failed", reason: outcome.refused.message, permanent: outcome.refused.concernsFile };
  }
  if ("unfinished" in outcome) return { status: "failed", reason: UNFINISHED[outcome.unfinished], permanent: false };
  const { status, error } = outcome.state;
  if (status === "completed") return { status };
  const permanent = error?.code === "unsupported_file" || error?.code === "invalid_file";
  return { status: "failed", reason: error ? `${error.code}: ${error.message}` : status, permanent };
}

const UNFINISHED = {
  lost: "it vanished from the vector store",
  stalled: `still in progress after ${STALLED_MS / 60_000} minutes`,
};
const POLL_INTERVALS = { firstMs: 500, longestMs: 20_000 };
const LONGEST_ATTACH_WAIT_MS = 10_000;
const AT_ONCE = 4;

export interface Attachment {
  readonly fileId: FileId;
  readonly attributes: WireAttributes;
}

/** Rejects when a refusal is not about files at all. */
function attachRequests(store: Store, signal: AbortSignal): AttachRequests<FileId, Attachment, StoreFile, Refusal> {
  const { clock, calls, lacks } = store.connection;
  const giveUpAtMs = clock.now() + SETTLING_MS;
  return {
    now: () => clock.now(),
    pause: (ms) => pause(clock, ms, `wait for files of vector store ${store.storeId}`, signal),
    async attachBatch(files) {
      if (lacks.batches) return "refused";
      const batch = await settling(store, giveUpAtMs, () => sendBatch(store, files, signal), signal);
      return batch instanceof Refusal ? "refused" : { batchId: batch };
    },
    onBatchesUnsupported() {
      lacks.batches = true;
    },
    async attachOne(file) {
      const answer = await settling(store, giveUpAtMs, () => sendOne(store, file, signal), signal);
      if (!(answer instanceof Refusal)) return undefined;
      // A service may refuse what is attached already, as after a try whose answer was lost.
      if (answer.status === 400 && (await findMissing(store, [file], signal)).length === 0) return undefined;
      return answer;
    },
    async listBatch(batchId) {
      try {
        return (await listStoreFiles(store, batchId, signal)).map((file) => [file.fileId, file] as const);
      } catch (error) {
        // Without the list, files are polled one by one.
        const stops = error instanceof CancelledError || (error instanceof Refusal && error.concernsAll);
        if (stops || !(error instanceof RemoteError)) throw error;
        return [];
      }
    },
    async poll(fileId) {
      const look = () => lookAtFile(store, fileId, signal);
      const { file, pollAfterMs } = await calls.run(`look at file ${fileId}`, look, signal);
      return { state: file, pollAfterMs };
    },
  };
}

/** Again while it may only be too early; a refusal that is about the request is returned, anything else thrown. */
async function settling<T>(
  store: Store,
  giveUpAtMs: number,
  attach: () => Promise<T>,
  signal: AbortSignal,
): Promise<T | Refusal> {
  const { clock } = store.connection;
  for (let waitMs = POLL_INTERVALS.firstMs; ; waitMs = Math.min(waitMs * 1.5, LONGEST_ATTACH_WAIT_MS)) {
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
