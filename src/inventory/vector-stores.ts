import type OpenAI from "openai";
import { askBackend } from "./ask-backend.ts";
import { deleteStore } from "./delete-store.ts";
import type { FileNames } from "./file-names.ts";
import type { VectorStores } from "./inventory.ts";
import { readPages } from "./read-pages.ts";
import { replicate } from "./replicate.ts";

export function noSuchStore(id: string): string {
  return `Vector store '${id}' does not exist.`;
}

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
