import { RemoteError } from "../../contracts/errors.ts";
import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import type { Connection } from "./connection.ts";
import { hasStatus } from "./refusal.ts";
import { readFilePage, readStore, type StoreFile } from "./wire-codec.ts";

/** One vector store at the service. */
export interface Store {
  readonly storeId: VectorStoreId;
  readonly connection: Connection;
}

export type WireAttributes = Record<string, string | number | boolean>;

const PAGE_SIZE = 100;

/** undefined: there is no such store, or it has expired. */
export async function findStore(
  connection: Connection,
  storeId: VectorStoreId,
  signal?: AbortSignal,
): Promise<Store | undefined> {
  try {
    const body = await connection.calls.run(
      `open vector store ${storeId}`,
      () => connection.client.vectorStores.retrieve(storeId, { signal }),
      signal,
    );
    return readStore(body).expired ? undefined : { storeId, connection };
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

/** Newest first. Ends normally only when the service listed everything: callers take absence for a missing file. */
export async function* listStoreFiles(store: Store, signal?: AbortSignal): AsyncGenerator<StoreFile, void> {
  const what = `list files of vector store ${store.storeId}`;
  const seen = new Set<FileId>();
  let after: FileId | undefined;
  for (;;) {
    const { files, hasMore } = await readPage(store, what, after, signal);
    const fresh = files.filter((file) => !seen.has(file.fileId));
    for (const file of fresh) {
      seen.add(file.fileId);
      yield file;
    }
    if (!hasMore) return;
    // A server that ignores the cursor sends the same page for ever; to stop quietly would pass for the end of the list.
    if (fresh.length === 0) throw new RemoteError(`${what}: the service repeats a page instead of going on`);
    after = files.at(-1)?.fileId;
  }
}

/** Read as plain JSON: the client's own page turns any body without `data` into an empty list. */
function readPage(store: Store, what: string, after: FileId | undefined, signal: AbortSignal | undefined) {
  const { client, calls } = store.connection;
  const path = `/vector_stores/${encodeURIComponent(store.storeId)}/files`;
  const query = { limit: PAGE_SIZE, order: "desc", ...(after ? { after } : {}) };
  const headers = { "OpenAI-Beta": "assistants=v2" };
  return calls.run(what, async () => readFilePage(await client.get<unknown>(path, { query, headers, signal })), signal);
}

/** Takes the file out of the store; the upload stays. Detaching what is already gone is a success. */
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
