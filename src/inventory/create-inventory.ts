import type OpenAI from "openai";
import type { Principal } from "../contracts/access.ts";
import { createAssistants } from "./assistants.ts";
import { createFileNames } from "./file-names.ts";
import { createFiles } from "./files.ts";
import type { Inventory } from "./inventory.ts";
import type { ResponseNotes } from "./response-notes.ts";
import { createResponses } from "./responses.ts";
import { createStoreFiles } from "./store-files.ts";
import { createVectorStores } from "./vector-stores.ts";

export interface InventoryOptions {
  /** Speaks to the backend, embedded or remote. */
  readonly client: OpenAI;
  /** The same, for somebody: shows them their own answers only. */
  readonly clientFor: (by: Principal) => OpenAI;
  readonly notes: ResponseNotes;
}

export function createInventory({ client, clientFor, notes }: InventoryOptions): Inventory {
  const names = (): ReturnType<typeof createFileNames> => createFileNames(client);
  const stores = createVectorStores(client, names);
  return {
    files: createFiles(client),
    stores,
    storeFiles: createStoreFiles(client, names),
    assistants: createAssistants(client, stores),
    responses: createResponses(clientFor, notes),
  };
}
