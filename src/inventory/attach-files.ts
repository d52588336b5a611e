import type OpenAI from "openai";
import { explain } from "../contracts/errors.ts";
import { sleep } from "../lib/time.ts";
import { askBackend, hasStatus, isMissing } from "./ask-backend.ts";
import type { FileFailure } from "./attempt.ts";
import type { Steps } from "./inventory.ts";
import type { InventoryParts } from "./inventory-parts.ts";
import { readAll, readPages } from "./read-pages.ts";

/** A file as it is to be attached. */
export type AttachWish = OpenAI.VectorStores.FileBatchCreateParams.File;

/** The protocol takes 2000; fewer let a cancelled job stop sooner. */
const BATCH = 200;

/** Attaches batch by batch, waits for each, and tells of every file how it ended. What it returns are the failures. */
export async function attachFiles(
  parts: InventoryParts,
  store: string,
  wishes: readonly AttachWish[],
  steps: Steps,
): Promise<readonly FileFailure[]> {
  const named =
    wishes.length > 0 ? await parts.names.of(wishes.map(({ file_id }) => file_id)) : new Map<string, string>();
  const failed: FileFailure[] = [];
  let at = 0;
  const tell = (id: string, ending: string): void => {
    at++;
    const filename = named.get(id) ?? "";
    steps.log(`[ ${at} / ${wishes.length} ] Adding file '${filename}' (ID='${id}') to '${store}'...`);
    steps.log(ending === "" ? "  OK." : `  ERROR: ${ending}`);
    if (ending !== "") failed.push({ file_id: id, filename, error: ending });
  };
  for (let start = 0; start < wishes.length; start += BATCH) {
    await steps.checkpoint();
    const batch = wishes.slice(start, start + BATCH);
    if (steps.dryRun) tellPlan(batch, named, { store, start, of: wishes.length }, steps);
    else await attachBatch(parts.client, store, batch, steps, tell);
  }
  return failed;
}

function tellPlan(
  batch: readonly AttachWish[],
  named: ReadonlyMap<string, string>,
  { store, start, of }: { readonly store: string; readonly start: number; readonly of: number },
  { log }: Steps,
): void {
  for (const [at, { file_id: id }] of batch.entries()) {
    log(`[ ${start + at + 1} / ${of} ] Would add file '${named.get(id) ?? ""}' (ID='${id}') to '${store}'.`);
  }
}

async function attachBatch(
  client: OpenAI,
  store: string,
  batch: readonly AttachWish[],
  steps: Steps,
  tell: (id: string, ending: string) => void,
): Promise<void> {
  const ids = batch.map(({ file_id }) => file_id);
  const created = await createBatch(client, store, batch);
  if (created !== undefined) {
    for await (const { id, error } of awaitFiles(client, { store, ids, batch: created }, steps)) tell(id, error);
    return;
  }
  // One file that is gone refuses the whole batch, and some servers take no attributes in one: then each goes by itself.
  for (const wish of batch) {
    await steps.checkpoint();
    const alone = { store, ids: [wish.file_id], batch: undefined };
    const refusal = await attachOne(client, store, wish);
    if (refusal !== "") tell(wish.file_id, refusal);
    else for await (const { id, error } of awaitFiles(client, alone, steps)) tell(id, error);
  }
}

/** undefined: refused. */
async function createBatch(client: OpenAI, store: string, files: readonly AttachWish[]): Promise<string | undefined> {
  return askBackend({ what: `add files to vector store '${store}'` }, async () => {
    try {
      const { id } = await client.vectorStores.fileBatches.create(store, { files: [...files] });
      return id;
    } catch (error) {
      if (hasStatus(error, 400, 404, 422)) return undefined;
      throw error;
    }
  });
}

async function attachOne(client: OpenAI, store: string, wish: AttachWish): Promise<string> {
  const what = `add file '${wish.file_id}'`;
  try {
    await askBackend({ what, missing: "The file does not exist any more." }, () =>
      client.vectorStores.files.create(store, wish),
    );
    return "";
  } catch (error) {
    return explain(error);
  }
}

/** How the backend ended with a file; "" is well. */
interface Ending {
  readonly id: string;
  readonly error: string;
}

interface Awaited {
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
async function* awaitFiles(client: OpenAI, { store, ids, batch }: Awaited, steps: Steps): AsyncGenerator<Ending, void> {
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
