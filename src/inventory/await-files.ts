import type OpenAI from "openai";
import { sleep } from "../lib/time.ts";
import { askBackend, isMissing } from "./ask-backend.ts";
import type { Steps } from "./inventory.ts";
import { readAll, readPages } from "./read-pages.ts";

/** How the backend ended with a file; "" is well. */
export interface Ending {
  readonly id: string;
  readonly error: string;
}

export interface Awaited {
  readonly store: string;
  readonly ids: readonly string[];
  /** undefined: each was attached by itself. */
  readonly batch: string | undefined;
}

type StoreFile = OpenAI.VectorStores.VectorStoreFile;

/** Since the last file was done. */
const STANDSTILL_MS = 15 * 60_000;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/** Every file once, in the order in which they end. The state of a batch proves nothing: each of its files is looked at. */
export async function* awaitFiles(
  client: OpenAI,
  { store, ids, batch }: Awaited,
  steps: Steps,
): AsyncGenerator<Ending, void> {
  const pending = new Set(ids);
  let progressAtMs = performance.now();
  for (let waitMs = FIRST_WAIT_MS; pending.size > 0; waitMs = Math.min(waitMs * 1.5, LONGEST_WAIT_MS)) {
    const seen = batch === undefined ? await lookAtEach(client, store, pending) : await lookAt(client, store, batch);
    for (const file of seen) {
      const ending = endingOf(file);
      if (ending === undefined || !pending.delete(file.id)) continue;
      progressAtMs = performance.now();
      yield { id: file.id, error: ending };
    }
    if (performance.now() - progressAtMs > STANDSTILL_MS) {
      for (const id of pending) yield { id, error: "The backend did not finish it within 15 minutes." };
      return;
    }
    if (pending.size > 0) await sleep(waitMs, steps.signal);
    await steps.checkpoint();
  }
}

async function lookAt(client: OpenAI, store: string, batch: string): Promise<readonly StoreFile[]> {
  return readAll(
    readPages({
      what: `look at the files that were added to vector store '${store}'`,
      read: (after) =>
        client.vectorStores.fileBatches.listFiles(batch, {
          vector_store_id: store,
          limit: 100,
          ...(after !== undefined && { after }),
        }),
    }),
  );
}

/** One that is not found yet was attached a moment ago. */
async function lookAtEach(client: OpenAI, store: string, ids: ReadonlySet<string>): Promise<readonly StoreFile[]> {
  const found: StoreFile[] = [];
  for (const id of ids) {
    try {
      found.push(
        await askBackend({ what: `look at file '${id}'`, missing: "" }, () =>
          client.vectorStores.files.retrieve(id, { vector_store_id: store }),
        ),
      );
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return found;
}

/** undefined: it goes on. A status that a later release adds goes on too, until the deadline. */
function endingOf({ status, last_error: error }: StoreFile): string | undefined {
  if (status === "completed") return "";
  if (status === "cancelled") return "The backend cancelled it.";
  return status === "failed" ? (error?.message ?? "The backend could not read it.") : undefined;
}
