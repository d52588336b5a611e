import type OpenAI from "openai";
import { explain } from "../contracts/errors.ts";
import { askBackend, hasStatus } from "./ask-backend.ts";
import type { FileFailure } from "./attempt.ts";
import { awaitFiles } from "./await-files.ts";
import type { Steps } from "./inventory.ts";
import type { InventoryParts } from "./inventory-parts.ts";

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
