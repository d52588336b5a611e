import { NotFoundError as NotFoundAnswer } from "openai";
import { RemoteError } from "../../contracts/errors.ts";
import type { FileId } from "../../contracts/ids.ts";
import { pause } from "./clock.ts";
import { hasStatus, Refusal } from "./refusal.ts";
import { readNumber } from "./retry-after.ts";
import { findStore, type Store, type WireAttributes } from "./store-files.ts";
import { readStoreFile, type StoreFile } from "./wire-codec.ts";

/** The service is not consistent at once: for this long a 404 for what was just made means "not yet". */
const SETTLING_MS = 60_000;
const PROCESSING_DEADLINE_MS = 15 * 60_000;
const FIRST_INTERVAL_MS = 500;
const LONGEST_INTERVAL_MS = 10_000;

export async function attachFile(
  store: Store,
  fileId: FileId,
  attributes: WireAttributes,
  signal: AbortSignal,
): Promise<StoreFile> {
  const { clock } = store.connection;
  const giveUpAtMs = clock.now() + SETTLING_MS;
  for (let waitMs = FIRST_INTERVAL_MS; ; waitMs = nextInterval(waitMs)) {
    try {
      return await sendAttach(store, fileId, attributes, signal);
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
      await assertStoreExists(store, error, signal);
      if (clock.now() >= giveUpAtMs) throw error;
      await pause(clock, waitMs, `attach file ${fileId}`, signal);
    }
  }
}

function sendAttach(store: Store, fileId: FileId, attributes: WireAttributes, signal: AbortSignal): Promise<StoreFile> {
  const { client, calls } = store.connection;
  return calls.run(
    `attach file ${fileId}`,
    async (attempt) => {
      // The try before may have been carried out without our hearing of it, and what a second attach does is nowhere said.
      const already = attempt > 1 ? (await look(store, fileId, signal)).file : undefined;
      if (already) return already;
      return readStoreFile(
        await client.vectorStores.files.create(store.storeId, { file_id: fileId, attributes }, { signal }),
      );
    },
    signal,
  );
}

/** Both a lost store and an upload that is not known yet answer 404; only the second is worth waiting for. */
async function assertStoreExists(store: Store, cause: unknown, signal: AbortSignal): Promise<void> {
  if (await findStore(store.connection, store.storeId, signal)) return;
  const message = `attach to vector store ${store.storeId}: the store does not exist any more`;
  throw new Refusal(message, { status: 404, concernsAll: true, cause });
}

/** Polls until the service is done with the file, completed or not; RemoteError when that takes too long. */
export async function waitUntilDone(store: Store, attached: StoreFile, signal: AbortSignal): Promise<StoreFile> {
  const { clock, calls } = store.connection;
  const { fileId } = attached;
  const what = `embed file ${fileId}`;
  const startMs = clock.now();
  let seen: Looked = { file: attached, pollAfterMs: undefined };
  for (let polls = 0; ; polls++) {
    if (seen.file && isDone(seen.file)) return seen.file;
    const elapsedMs = clock.now() - startMs;
    if (!seen.file && elapsedMs >= SETTLING_MS) throw new RemoteError(`${what}: it vanished from the vector store`);
    if (elapsedMs >= PROCESSING_DEADLINE_MS) {
      throw new RemoteError(`${what}: still in progress after ${PROCESSING_DEADLINE_MS / 60_000} minutes`);
    }
    await pause(clock, pollInterval(seen.pollAfterMs, polls), what, signal);
    seen = await calls.run(what, () => look(store, fileId, signal), signal);
  }
}

interface Looked {
  /** undefined: the store does not list the file (yet). */
  readonly file: StoreFile | undefined;
  /** When the service wants to be asked again, if it says so. */
  readonly pollAfterMs: number | undefined;
}

/** One try: the callers retry. */
async function look(store: Store, fileId: FileId, signal: AbortSignal): Promise<Looked> {
  const { client } = store.connection;
  const params = { vector_store_id: store.storeId };
  try {
    const { data, response } = await client.vectorStores.files.retrieve(fileId, params, { signal }).withResponse();
    const asked = readNumber(response.headers.get("openai-poll-after-ms"));
    return { file: readStoreFile(data), pollAfterMs: asked && Math.min(asked, SETTLING_MS) };
  } catch (error) {
    if (error instanceof NotFoundAnswer) return { file: undefined, pollAfterMs: undefined };
    throw error;
  }
}

/** What a later release of the service may add is not done, so the deadline ends it and not a guess. */
function isDone(file: StoreFile): boolean {
  return file.status === "completed" || file.status === "failed" || file.status === "cancelled";
}

/** Never sooner than the service asks for, and rarer with time even when it asks for more. */
function pollInterval(pollAfterMs: number | undefined, polls: number): number {
  const firstMs = pollAfterMs ?? FIRST_INTERVAL_MS;
  return Math.max(firstMs, Math.min(firstMs * 1.5 ** polls, LONGEST_INTERVAL_MS));
}

function nextInterval(intervalMs: number): number {
  return Math.min(intervalMs * 1.5, LONGEST_INTERVAL_MS);
}
