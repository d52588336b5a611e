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
import { hasStatus, ServiceError } from "./service-error.ts";
import {
  assertStoreExists,
  detachFile,
  listStoreFiles,
  pollFile,
  type Store,
  type WireAttributes,
} from "./store-files.ts";
import { readBatchId, type StoreFile } from "./wire-codec.ts";

const MANY = 20;

export type Embedded =
  | { readonly status: "completed" }
  /** permanent: the same bytes will fail again. */
  | { readonly status: "failed"; readonly reason: string; readonly permanent: boolean };

/** Attaches the files and waits until a search finds them or the service reports a failure. Returns an outcome for every file. */
export async function embedFiles(
  store: Store,
  files: readonly Attachment[],
  signal: AbortSignal,
): Promise<ReadonlyMap<FileId, Embedded>> {
  const outcomes = await embedOnce(store, files, signal);
  const again = files.filter(({ fileId }) => isTransient(outcomes.get(fileId)));
  if (again.length === 0) return readAll(outcomes);
  for (const { fileId } of again) await detachFile(store, fileId, signal);
  return readAll(new Map([...outcomes, ...(await embedOnce(store, again, signal))]));
}

type Outcome = AttachResult<FileId, StoreFile, ServiceError>;

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
  assertProgress(store, waitedFor);
  return outcomes;
}

/** Throws if none of many files was processed: the service is stuck, and the next slice would wait as long for nothing. */
function assertProgress({ storeId }: Store, outcomes: readonly Outcome[]): void {
  const [first] = outcomes;
  if (!first || outcomes.length < MANY || outcomes.some((outcome) => "state" in outcome)) return;
  const why = "unfinished" in first ? UNFINISHED[first.unfinished] : "";
  const message = `attach to vector store ${storeId}: not one of ${outcomes.length} files was taken in (${why}); run again later`;
  throw new ServiceError(message, { status: undefined, isFatal: true });
}

/** Internal errors of the service have been seen to pass at the next try; its verdicts on a file do not. */
function isTransient(outcome: Outcome | undefined): boolean {
  return outcome !== undefined && "state" in outcome && outcome.state.error?.code === "server_error";
}

function readAll(outcomes: ReadonlyMap<FileId, Outcome>): ReadonlyMap<FileId, Embedded> {
  return new Map([...outcomes].map(([fileId, outcome]) => [fileId, read(outcome)]));
}

function read(outcome: Outcome): Embedded {
  if ("refused" in outcome) {
    return { status: "failed", reason: outcome.refused.message, permanent: outcome.refused.rejectsFile };
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

/** Rejects if an error is not about files. */
function attachRequests(
  store: Store,
  signal: AbortSignal,
): AttachRequests<FileId, Attachment, StoreFile, ServiceError> {
  const { clock, calls, unsupported } = store.connection;
  const giveUpAtMs = clock.now() + SETTLING_MS;
  return {
    now: () => clock.now(),
    pause: (ms) => pause(clock, ms, `wait for files of vector store ${store.storeId}`, signal),
    async attachBatch(files) {
      if (unsupported.batches) return "refused";
      const batch = await retryWhileSettling(store, giveUpAtMs, () => sendBatch(store, files, signal), signal);
      return batch instanceof ServiceError ? "refused" : { batchId: batch };
    },
    onBatchesUnsupported() {
      unsupported.batches = true;
    },
    async attachOne(file) {
      const answer = await retryWhileSettling(store, giveUpAtMs, () => sendOne(store, file, signal), signal);
      if (!(answer instanceof ServiceError)) return undefined;
      // A service may reject a file that is attached already, as after a try whose response was lost.
      if (answer.status === 400 && (await findMissing(store, [file], signal)).length === 0) return undefined;
      return answer;
    },
    async listBatch(batchId) {
      try {
        return (await listStoreFiles(store, batchId, signal)).map((file) => [file.fileId, file] as const);
      } catch (error) {
        // Without the list, files are polled one by one.
        const stops = error instanceof CancelledError || (error instanceof ServiceError && error.isFatal);
        if (stops || !(error instanceof RemoteError)) throw error;
        return [];
      }
    },
    async poll(fileId) {
      const poll = () => pollFile(store, fileId, signal);
      const { file, pollAfterMs } = await calls.run(`look at file ${fileId}`, poll, signal);
      return { state: file, pollAfterMs };
    },
  };
}

/** Retries 404s until `giveUpAtMs`. Returns an error that is about the request, and throws any other. */
async function retryWhileSettling<T>(
  store: Store,
  giveUpAtMs: number,
  attach: () => Promise<T>,
  signal: AbortSignal,
): Promise<T | ServiceError> {
  const { clock } = store.connection;
  for (let waitMs = POLL_INTERVALS.firstMs; ; waitMs = Math.min(waitMs * 1.5, LONGEST_ATTACH_WAIT_MS)) {
    try {
      return await attach();
    } catch (error) {
      if (!(error instanceof ServiceError) || !hasStatus(error, 400, 404, 405, 413, 422) || error.isFatal) throw error;
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
      // The last try may have succeeded without a response, and what a second attach does is undocumented.
      const missing = attempt > 1 ? await findMissing(store, files, signal) : files;
      if (missing.length === 0) return undefined;
      await limits.attachCalls(store.storeId).acquire(1, what, signal);
      await limits.attachedFiles.acquire(missing.length, what, signal);
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
    const poll = () => pollFile(store, file.fileId, signal);
    if (!(await calls.run(`look at file ${file.fileId}`, poll, signal)).file) missing.push(file);
  });
  return missing;
}

function sendOne(store: Store, { fileId, attributes }: Attachment, signal: AbortSignal): Promise<void> {
  const { client, calls, limits } = store.connection;
  const what = `attach file ${fileId}`;
  return calls.run(
    what,
    async (attempt) => {
      if (attempt > 1 && (await pollFile(store, fileId, signal)).file) return;
      await limits.attachCalls(store.storeId).acquire(1, what, signal);
      await limits.attachedFiles.acquire(1, what, signal);
      await client.vectorStores.files.create(store.storeId, { file_id: fileId, attributes }, { signal });
    },
    signal,
  );
}
