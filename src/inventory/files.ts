import type OpenAI from "openai";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { callBackend, isMissing, readPages } from "./backend-calls.ts";
import type { Files, StoreFiles } from "./inventory.ts";

export function createFiles(client: OpenAI): Files {
  const missing = (id: string): string => `File '${id}' does not exist.`;
  return {
    pages: ({ order, pageSize }) =>
      readPages({
        what: "list files",
        read: (after) => client.files.list({ order, limit: pageSize, ...(after !== undefined && { after }) }),
      }),
    get: (id) => callBackend({ what: `get file '${id}'`, missing: missing(id) }, () => client.files.retrieve(id)),
    async delete(id) {
      await callBackend({ what: `delete file '${id}'`, missing: missing(id) }, () => client.files.delete(id));
    },
  };
}

export function createStoreFiles(client: OpenAI, namesFor: () => FileNames): StoreFiles {
  const about = (storeId: string, fileId: string, verb: string) => ({
    what: `${verb} file '${fileId}' of vector store '${storeId}'`,
    missing: `File '${fileId}' is not in vector store '${storeId}', or there is no such store.`,
  });
  return {
    async *pages(storeId, { order, pageSize }) {
      const names = namesFor();
      for await (const page of storeFilePages(client, storeId, { order, pageSize })) {
        const named = await names.of(page.map(({ id }) => id));
        yield page.map((file) => ({ ...file, filename: named.get(file.id) ?? "" }));
      }
    },
    async get(storeId, fileId) {
      const file = await callBackend(about(storeId, fileId, "get"), () =>
        client.vectorStores.files.retrieve(fileId, { vector_store_id: storeId }),
      );
      const named = await namesFor().of([fileId]);
      return { ...file, filename: named.get(fileId) ?? "" };
    },
    async detach(storeId, fileId) {
      await callBackend(about(storeId, fileId, "remove"), () =>
        client.vectorStores.files.delete(fileId, { vector_store_id: storeId }),
      );
    },
  };
}

/** As the wire has them, without names. */
export function storeFilePages(
  client: OpenAI,
  storeId: string,
  { order = "asc", pageSize = 100 }: { readonly order?: "asc" | "desc"; readonly pageSize?: number } = {},
): AsyncGenerator<readonly OpenAI.VectorStores.VectorStoreFile[], void> {
  return readPages({
    what: `list the files of vector store '${storeId}'`,
    missing: noSuchStore(storeId),
    read: (after) =>
      client.vectorStores.files.list(storeId, {
        order,
        limit: Math.min(pageSize, 100),
        ...(after !== undefined && { after }),
      }),
  });
}

export function noSuchStore(id: string): string {
  return `Vector store '${id}' does not exist.`;
}

/** The names of files by their ids, for one request. */
export interface FileNames {
  /** "" for a file that is gone. */
  of(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** Up to this many are read one by one; beyond it, reading the whole list is cheaper. */
const ONE_BY_ONE = 64;
const AT_ONCE = 8;
/** Beyond this the rest of the list is not read, and missing names are read one by one. */
const MOST_KEPT = 200_000;
const PAGE_SIZE = 10_000;

export function createFileNames(client: OpenAI): FileNames {
  const known = new Map<string, string>();
  let asked = 0;
  let readList = false;
  return {
    async of(ids) {
      let unknown = ids.filter((id) => !known.has(id));
      if (asked + unknown.length > ONE_BY_ONE && !readList) {
        readList = true;
        await learnAll(client, known);
        unknown = unknown.filter((id) => !known.has(id));
      }
      asked += unknown.length;
      await forEachConcurrent(unknown, AT_ONCE, async (id) => {
        known.set(id, await nameOf(client, id));
      });
      return new Map(ids.map((id) => [id, known.get(id) ?? ""]));
    },
  };
}

async function learnAll(client: OpenAI, known: Map<string, string>): Promise<void> {
  for await (const page of createFiles(client).pages({ order: "desc", pageSize: PAGE_SIZE })) {
    for (const { id, filename } of page) known.set(id, filename);
    if (known.size >= MOST_KEPT) return;
  }
}

async function nameOf(client: OpenAI, id: string): Promise<string> {
  try {
    return (await callBackend({ what: `get file '${id}'`, missing: "" }, () => client.files.retrieve(id))).filename;
  } catch (error) {
    if (isMissing(error)) return "";
    throw error;
  }
}
