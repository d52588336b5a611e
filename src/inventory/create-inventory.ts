import type OpenAI from "openai";
import { askerOf, maySee, type Principal } from "../contracts/access.ts";
import { NotFoundError } from "../contracts/errors.ts";
import type { Result } from "../contracts/job.ts";
import {
  attempt,
  type BackendCall,
  callBackend,
  type FileFailure,
  hasStatus,
  isMissing,
  readAll,
  readPages,
  unlessMissing,
} from "./backend-calls.ts";
import {
  createFileNames,
  createFiles,
  createStoreFiles,
  type FileNames,
  noSuchStore,
  storeFilePages,
} from "./files.ts";
import type {
  Assistant,
  Assistants,
  DeleteMode,
  Inventory,
  ModelResponse,
  Responses,
  Steps,
  VectorStore,
  VectorStores,
} from "./inventory.ts";
import { type InventoryParts, replicate } from "./replicate.ts";
import type { ResponseLog } from "./response-log.ts";

export interface InventoryOptions {
  /** Speaks to the backend, embedded or remote. */
  readonly client: OpenAI;
  /** The same for one principal, who sees only their own responses. */
  readonly clientFor: (by: Principal) => OpenAI;
  readonly responseLog: ResponseLog;
}

export function createInventory({ client, clientFor, responseLog }: InventoryOptions): Inventory {
  const names = (): ReturnType<typeof createFileNames> => createFileNames(client);
  const stores = createVectorStores(client, names);
  return {
    files: createFiles(client),
    stores,
    storeFiles: createStoreFiles(client, names),
    assistants: createAssistants(client, stores),
    responses: createResponses(clientFor, responseLog),
  };
}

function createVectorStores(client: OpenAI, namesFor: () => FileNames): VectorStores {
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
    get: (id) => callBackend(about("get", id), () => client.vectorStores.retrieve(id)),
    create: (wanted) => callBackend({ what: "create the vector store" }, () => client.vectorStores.create(wanted)),
    update: (id, changes) => callBackend(about("update", id), () => client.vectorStores.update(id, changes)),
    delete: (store, mode, steps) => deleteStore({ client, names: namesFor() }, store, mode, steps),
    async checkReplicate({ sources, targets }) {
      for (const id of [...sources, ...targets]) await stores.get(id);
    },
    replicate: (request, steps) => replicate({ client, names: namesFor() }, request, steps),
  };
  return stores;
}

/** Reads all ids before the first deletion: deleting from a list while paging through it skips entries. */
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
  await unlessMissing(() => callBackend({ what: `delete file '${id}'`, missing: "" }, () => client.files.delete(id)));
}

async function removeStore(client: OpenAI, id: string): Promise<void> {
  const what = `delete vector store '${id}'`;
  await unlessMissing(() => callBackend({ what, missing: "" }, () => client.vectorStores.delete(id)));
}

export const RETIRED =
  "The backend has no assistants: OpenAI retired them in August 2026. Vector stores and files are still there; use responses instead.";

function createAssistants(client: OpenAI, stores: VectorStores): Assistants {
  const { assistants } = client.beta;
  /** A 404 for one assistant may mean that one or all of them. */
  const ask = async <T>(asking: BackendCall, call: () => PromiseLike<T>): Promise<T> => {
    try {
      return await callBackend(asking, call);
    } catch (error) {
      if (isMissing(error) && (await areRetired(client))) throw new NotFoundError(RETIRED);
      throw error;
    }
  };
  const about = (verb: string, id: string): BackendCall => ({
    what: `${verb} assistant '${id}'`,
    missing: `Assistant '${id}' does not exist.`,
  });
  const remove = async (id: string): Promise<void> => {
    await unlessMissing(() => callBackend(about("delete", id), () => assistants.delete(id)));
  };
  return {
    pages: ({ order, pageSize }) =>
      readPages({
        what: "list assistants",
        missing: RETIRED,
        read: (after) =>
          assistants.list({ order, limit: Math.min(pageSize, 100), ...(after !== undefined && { after }) }),
      }),
    get: (id) => ask(about("get", id), () => assistants.retrieve(id)),
    create: (wanted) => ask({ what: "create the assistant" }, () => assistants.create(wanted)),
    update: (id, changes) => ask(about("update", id), () => assistants.update(id, changes)),
    delete: (assistant, mode, steps) => deleteAssistant({ stores, remove }, assistant, mode, steps),
  };
}

async function areRetired(client: OpenAI): Promise<boolean> {
  try {
    await client.beta.assistants.list({ limit: 1 });
    return false;
  } catch (error) {
    return hasStatus(error, 404);
  }
}

export function storesOf({ tool_resources: resources }: Assistant): readonly string[] {
  return resources?.file_search?.vector_store_ids ?? [];
}

interface Deleting {
  readonly stores: VectorStores;
  readonly remove: (id: string) => Promise<void>;
}

/** Deletes the assistant last: until then it says which store is left to delete. */
async function deleteAssistant(
  { stores, remove }: Deleting,
  assistant: Assistant,
  mode: DeleteMode,
  steps: Steps,
): Promise<Result> {
  const deleted: unknown[] = [];
  for (const id of mode === "with_files" ? storesOf(assistant) : []) {
    const store = await findStore(stores, id);
    if (!store) continue;
    const { ok, error, data } = await stores.delete(store, "with_files", steps);
    deleted.push(data);
    if (ok) continue;
    return {
      ok,
      error: `${error} Assistant '${assistant.id}' was kept.`,
      data: { ...assistant, mode, deleted_vector_stores: deleted },
    };
  }
  const label = `[ 1 / 1 ] Deleting assistant '${assistant.name ?? ""}' (ID='${assistant.id}')...`;
  const error = await attempt(steps, label, () => remove(assistant.id));
  return { ok: error === "", error, data: { ...assistant, mode, deleted_vector_stores: deleted } };
}

async function findStore(stores: VectorStores, id: string): Promise<VectorStore | undefined> {
  try {
    return await stores.get(id);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function createResponses(clientFor: (by: Principal) => OpenAI, log: ResponseLog): Responses {
  const about = (verb: string, id: string): BackendCall => ({
    what: `${verb} response '${id}'`,
    missing: `Response '${id}' does not exist.`,
  });
  return {
    async list(by) {
      const own = (await log.list()).filter(({ owner }) => maySee(askerOf(by), owner));
      return own.map(({ id, created_at, model }) => ({ id, created_at, model }));
    },
    async get(id, by) {
      try {
        return await callBackend(about("get", id), () => clientFor(by).responses.retrieve(id));
      } catch (error) {
        // Responses expire: what the backend no longer has leaves the list.
        const logged = isMissing(error) ? await log.find(id) : undefined;
        if (logged && maySee(askerOf(by), logged.owner)) await log.remove(id);
        throw error;
      }
    },
    create: (wanted, by) => callBackend({ what: "create the response" }, () => clientFor(by).responses.create(wanted)),
    async delete(response, mode, by) {
      const client = clientFor(by);
      const conversation = mode === "with_conversation" ? conversationOf(response) : undefined;
      if (conversation !== undefined) {
        const what = `delete conversation '${conversation}'`;
        await unlessMissing(() => callBackend({ what }, () => client.conversations.delete(conversation)));
      }
      await unlessMissing(() => callBackend(about("delete", response.id), () => client.responses.delete(response.id)));
      await log.remove(response.id);
    },
  };
}

/** The id of its stored conversation, if any. */
export function conversationOf({ conversation }: ModelResponse): string | undefined {
  return conversation?.id;
}
