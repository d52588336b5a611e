import type { FileId } from "../../contracts/ids.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { pause } from "./clock.ts";
import { lookAtFile } from "./look-at-file.ts";
import { hasStatus, Refusal } from "./refusal.ts";
import { assertStoreExists, type Store, type WireAttributes } from "./store-files.ts";
import { readBatchId } from "./wire-codec.ts";

export interface Attachment {
  readonly fileId: FileId;
  readonly attributes: WireAttributes;
}

export interface Attached {
  /** undefined: they were attached one by one. */
  readonly batchId: string | undefined;
  /** Why the service does not take them; the others are attached. */
  readonly refused: ReadonlyMap<FileId, Refusal>;
}

/** The service is not consistent at once: for this long a 404 for what was just uploaded means "not yet". */
const SETTLING_MS = 60_000;
const FIRST_INTERVAL_MS = 500;
const LONGEST_INTERVAL_MS = 10_000;
const AT_ONCE = 4;

/**
 * Attaches up to 2,000 files, in one request where the service takes that. A batch that is refused is attached file by
 * file, because one file that is not welcome must not keep the others out. Throws when it is not about files at all.
 */
export async function attachFiles(store: Store, files: readonly Attachment[], signal: AbortSignal): Promise<Attached> {
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
  for (let waitMs = FIRST_INTERVAL_MS; ; waitMs = Math.min(waitMs * 1.5, LONGEST_INTERVAL_MS)) {
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
