import { NotFoundError as NotFoundAnswer } from "openai";
import type { FileId } from "../../contracts/ids.ts";
import { headerOf, readNumber } from "../../lib/retry-after.ts";
import type { Store } from "./store-files.ts";
import { readStoreFile, type StoreFile } from "./wire-codec.ts";

export interface Looked {
  /** undefined: the store does not have the file (yet). */
  readonly file: StoreFile | undefined;
  /** When the service wants to be asked again, if it says so. */
  readonly pollAfterMs: number | undefined;
}

const LONGEST_POLL_MS = 60_000;

/** One try: the callers retry. */
export async function lookAtFile(store: Store, fileId: FileId, signal: AbortSignal): Promise<Looked> {
  const { client } = store.connection;
  const params = { vector_store_id: store.storeId };
  try {
    const { data, response } = await client.vectorStores.files.retrieve(fileId, params, { signal }).withResponse();
    const asked = readNumber(headerOf(response.headers, "openai-poll-after-ms"));
    return { file: readStoreFile(data), pollAfterMs: asked && Math.min(asked, LONGEST_POLL_MS) };
  } catch (error) {
    if (error instanceof NotFoundAnswer) return { file: undefined, pollAfterMs: undefined };
    throw error;
  }
}
