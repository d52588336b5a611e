import type OpenAI from "openai";
import type { Result } from "../contracts/job.ts";
import { askBackend, unlessMissing } from "./ask-backend.ts";
import { attempt, type FileFailure } from "./attempt.ts";
import type { FileNames } from "./file-names.ts";
import type { DeleteMode, Steps, VectorStore, VectorStores } from "./inventory.ts";
import type { InventoryParts } from "./inventory-parts.ts";
import { readAll, readPages } from "./read-pages.ts";
import { replicate } from "./replicate.ts";
import { noSuchStore, storeFilePages } from "./store-files.ts";

export function createVectorStores(client: OpenAI, namesFor: () => FileNames): VectorStores {
  const about = (verb: string, id: string) => ({ what: `${verb} vector store '${id}'`, missing: noSuchStore(id) });
  const stores: VectorStores = {
    pages: ({ order, pageSize }) =>
      readPages({
        what: "list vector stores",
        read: (after) =>
          client.vectorStores.list({
            order,
            limit: Math.min(pageSize, 100),
            ...(after !== undefined && { after }),
          }),
      }),
    get: (id) => askBackend(about("get", id), () => client.vectorStores.retrieve(id)),
    create: (wanted) => askBackend({ what: "create the vector store" }, () => client.vectorStores.create(wanted)),
    update: (id, changes) => askBackend(about("update", id), () => client.vectorStores.update(id, changes)),
    delete: (store, mode, steps) => deleteStore({ client, names: namesFor() }, store, mode, steps),
    async checkReplicate({ sources, targets }) {
      for (const id of [...sources, ...targets]) await stores.get(id);
    },
    replicate: (request, steps) => replicate({ client, names: namesFor() }, request, steps),
  };
  return stores;
}

/** All ids are read before the first file goes: a list that is deleted from while it is read shows only a part. */
async function deleteStore(
  { client, names }: InventoryParts,
  store: VectorStore,
  mode: DeleteMode,
  steps: Steps,
): Promise<Result> {
  const files = mode === "with_files" ? await readAll(storeFilePages(client, store.id), steps.signal) : [];
  const ids = files.map(({ id }) => id);
  const named = ids.length > 0 ? await names.of(ids) : new Map<string, string>();
  const of = ids.length + 1;
  const failed: FileFailure[] = [];
  for (const [at, id] of ids.entries()) {
    const filename = named.get(id) ?? "";
    const label = `[ ${at + 1} / ${of} ] Deleting file '${filename}' (ID='${id}')...`;
    const error = await attempt(steps, label, () => deleteFile(client, id));
    if (error !== "") failed.push({ file_id: id, filename, error });
  }
  const data = { ...store, mode, deleted_files: ids.length - failed.length, failed_files: failed };
  if (failed.length > 0) {
    const error = `${failed.length} of ${ids.length} files could not be deleted, so vector store '${store.id}' was kept. Try again.`;
    return { ok: false, error, data };
  }
  const label = `[ ${of} / ${of} ] Deleting vector store '${store.name ?? ""}' (ID='${store.id}')...`;
  const error = await attempt(steps, label, () => removeStore(client, store.id));
  return { ok: error === "", error, data };
}

async function deleteFile(client: OpenAI, id: string): Promise<void> {
  await unlessMissing(() => askBackend({ what: `delete file '${id}'`, missing: "" }, () => client.files.delete(id)));
}

async function removeStore(client: OpenAI, id: string): Promise<void> {
  const what = `delete vector store '${id}'`;
  await unlessMissing(() => askBackend({ what, missing: "" }, () => client.vectorStores.delete(id)));
}
