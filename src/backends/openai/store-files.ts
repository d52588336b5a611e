import { NotFoundError as NotFoundAnswer } from "openai";
import { BadInputError } from "../../contracts/errors.ts";
import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import { headerOf, readNumber } from "../../lib/retry.ts";
import type { Connection } from "./connection.ts";
import { type Page, readPages } from "./read-pages.ts";
import { hasStatus, ServiceError } from "./service-error.ts";
import { readContentPage, readStore, readStoreFile, readStoreFilePage, type StoreFile } from "./wire-codec.ts";

/** One vector store at the service. */
export interface Store {
  readonly storeId: VectorStoreId;
  readonly connection: Connection;
}

export type WireAttributes = Record<string, string | number | boolean>;

const PAGE_SIZE = 100;
const ASSISTANTS = { "OpenAI-Beta": "assistants=v2" };

/**
 * Returns undefined if there is no such store, or if it has expired. Looks it up by id: lists of stores have been seen
 * empty. With a signal it waits as long as the service asks; without one it is an interactive call.
 */
export async function findStore(
  connection: Connection,
  storeId: VectorStoreId,
  signal?: AbortSignal,
): Promise<Store | undefined> {
  const found = await askForStore(connection, storeId, signal);
  return found && { storeId, connection };
}

/** Returns the number of searchable files, including those that others attached. */
export async function countStoreFiles({ connection, storeId }: Store): Promise<number> {
  return (await askForStore(connection, storeId))?.completedFiles ?? 0;
}

async function askForStore(
  connection: Connection,
  storeId: VectorStoreId,
  signal?: AbortSignal,
): Promise<ReturnType<typeof readStore> | undefined> {
  try {
    const calls = signal ? connection.calls : connection.interactiveCalls;
    const body = await calls.run(
      `open vector store ${storeId}`,
      (_attempt, until) => connection.client.vectorStores.retrieve(storeId, { signal: until }),
      signal,
    );
    const store = readStore(body);
    return store.expired ? undefined : store;
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

/** Throws if the store is gone. A missing store and a file that is not known yet give the same error; only the second is worth a retry. */
export async function assertStoreExists(store: Store, verb: string, cause: unknown, signal?: AbortSignal) {
  if (await findStore(store.connection, store.storeId, signal)) return;
  const message = `${verb} vector store ${store.storeId}: the store does not exist any more`;
  throw new ServiceError(message, { status: 404, isFatal: true, cause });
}

/** Lists all files of the store, or of one batch. */
export function listStoreFiles(store: Store, batchId?: string, signal?: AbortSignal): Promise<StoreFile[]> {
  const { client, calls } = store.connection;
  const what = `list files of vector store ${store.storeId}`;
  const folder = `/vector_stores/${encodeURIComponent(store.storeId)}`;
  const path = batchId ? `${folder}/file_batches/${encodeURIComponent(batchId)}/files` : `${folder}/files`;
  const headers = ASSISTANTS;
  return readPages({
    what,
    idOf: (file: StoreFile) => file.fileId,
    read(after) {
      const query = { limit: PAGE_SIZE, order: "desc", ...(after ? { after } : {}) };
      // Read as plain JSON: the client's page class turns any body without `data` into an empty list.
      return calls.run(
        what,
        async () => readStoreFilePage(await client.get<unknown>(path, { query, headers, signal })),
        signal,
      );
    },
  });
}

/** Returns one page of the searchable files, oldest first. A user waits for it. */
export async function listFilePage(
  { storeId, connection }: Store,
  after: string | undefined,
  limit: number,
): Promise<Page<StoreFile>> {
  const what = `list files of vector store ${storeId}`;
  const path = `/vector_stores/${encodeURIComponent(storeId)}/files`;
  const query = { limit: Math.min(limit, PAGE_SIZE), order: "asc", filter: "completed", ...(after ? { after } : {}) };
  try {
    return await connection.interactiveCalls.run(what, async (_attempt, signal) =>
      readStoreFilePage(await connection.client.get<unknown>(path, { query, headers: ASSISTANTS, signal })),
    );
  } catch (error) {
    if (after === undefined || !hasStatus(error, 400, 404)) throw error;
    throw new BadInputError(`${what}: the list changed, so it cannot go on where it was. Begin again.`);
  }
}

/** Returns undefined if the store has no such file. A user waits for it. */
export async function findStoreFile({ storeId, connection }: Store, fileId: FileId): Promise<StoreFile | undefined> {
  const params = { vector_store_id: storeId };
  return unlessMissing(async () => {
    const body = await connection.interactiveCalls.run(`get file ${fileId}`, (_attempt, signal) =>
      connection.client.vectorStores.files.retrieve(fileId, params, { signal }),
    );
    return readStoreFile(body);
  });
}

/** Returns the text that the service made of the file; undefined if the store has no such file. A user waits for it. */
export async function readFileText({ storeId, connection }: Store, fileId: FileId): Promise<string | undefined> {
  const path = `/vector_stores/${encodeURIComponent(storeId)}/files/${encodeURIComponent(fileId)}/content`;
  return unlessMissing(async () => {
    const body = await connection.interactiveCalls.run(`read file ${fileId}`, (_attempt, signal) =>
      connection.client.get<unknown>(path, { headers: ASSISTANTS, signal }),
    );
    return readContentPage(body);
  });
}

async function unlessMissing<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

/** Takes the file out of the store; the upload stays. Succeeds if the file is already gone. */
export async function detachFile(store: Store, fileId: FileId, signal?: AbortSignal): Promise<void> {
  const { client, calls } = store.connection;
  const params = { vector_store_id: store.storeId };
  try {
    await calls.run(
      `detach file ${fileId}`,
      () => client.vectorStores.files.delete(fileId, params, { signal }),
      signal,
    );
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
  }
}

/** Replaces the whole set of attributes; nothing is embedded again. */
export async function updateAttributes(
  store: Store,
  fileId: FileId,
  attributes: WireAttributes,
  signal: AbortSignal,
): Promise<void> {
  const { client, calls } = store.connection;
  const params = { vector_store_id: store.storeId, attributes };
  await calls.run(
    `update attributes of file ${fileId}`,
    () => client.vectorStores.files.update(fileId, params, { signal }),
    signal,
  );
}

interface FilePoll {
  /** undefined: the store does not have the file (yet). */
  readonly file: StoreFile | undefined;
  /** When the service wants to be polled again, if it says so. */
  readonly pollAfterMs: number | undefined;
}

const LONGEST_POLL_MS = 60_000;

/** Makes one request; callers retry. */
export async function pollFile(store: Store, fileId: FileId, signal: AbortSignal): Promise<FilePoll> {
  const { client } = store.connection;
  const params = { vector_store_id: store.storeId };
  try {
    const { data, response } = await client.vectorStores.files.retrieve(fileId, params, { signal }).withResponse();
    const afterMs = readNumber(headerOf(response.headers, "openai-poll-after-ms"));
    return { file: readStoreFile(data), pollAfterMs: afterMs && Math.min(afterMs, LONGEST_POLL_MS) };
  } catch (error) {
    if (error instanceof NotFoundAnswer) return { file: undefined, pollAfterMs: undefined };
    throw error;
  }
}
