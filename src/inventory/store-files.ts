import type OpenAI from "openai";
import { askBackend } from "./ask-backend.ts";
import type { FileNames } from "./file-names.ts";
import type { StoreFiles } from "./inventory.ts";
import { readPages } from "./read-pages.ts";

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
      const file = await askBackend(about(storeId, fileId, "get"), () =>
        client.vectorStores.files.retrieve(fileId, { vector_store_id: storeId }),
      );
      const named = await namesFor().of([fileId]);
      return { ...file, filename: named.get(fileId) ?? "" };
    },
    async detach(storeId, fileId) {
      await askBackend(about(storeId, fileId, "remove"), () =>
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
