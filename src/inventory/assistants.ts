import type OpenAI from "openai";
import { NotFoundError } from "../contracts/errors.ts";
import type { Result } from "../contracts/job.ts";
import { type Asking, askBackend, hasStatus, isMissing, unlessMissing } from "./ask-backend.ts";
import { attempt } from "./attempt.ts";
import type { Assistant, Assistants, DeleteMode, Steps, VectorStore, VectorStores } from "./inventory.ts";
import { readPages } from "./read-pages.ts";

export const RETIRED =
  "The backend has no assistants: OpenAI retired them in August 2026. Vector stores and files are still there; use responses instead.";

export function createAssistants(client: OpenAI, stores: VectorStores): Assistants {
  const { assistants } = client.beta;
  /** A 404 for one assistant may mean that one or all of them. */
  const ask = async <T>(asking: Asking, call: () => PromiseLike<T>): Promise<T> => {
    try {
      return await askBackend(asking, call);
    } catch (error) {
      if (isMissing(error) && (await areRetired(client))) throw new NotFoundError(RETIRED);
      throw error;
    }
  };
  const about = (verb: string, id: string): Asking => ({
    what: `${verb} assistant '${id}'`,
    missing: `Assistant '${id}' does not exist.`,
  });
  const remove = async (id: string): Promise<void> => {
    await unlessMissing(() => askBackend(about("delete", id), () => assistants.delete(id)));
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

/** The assistant goes last: as long as it is there, it tells which store is left to delete. */
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
