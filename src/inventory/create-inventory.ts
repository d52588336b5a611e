import type OpenAI from "openai";
import { createAssistants } from "./assistants.ts";
import { createFileNames } from "./file-names.ts";
import { createFiles } from "./files.ts";
import type { Inventory } from "./inventory.ts";
import { createResponses } from "./responses.ts";
import { createStoreFiles } from "./store-files.ts";
import { createVectorStores } from "./vector-stores.ts";

export interface InventoryOptions {
  /** Speaks to the backend, embedded or remote. */
  readonly client: OpenAI;
  /** Where the ids of responses that were created here are written down. */
  readonly folder: string;
}

export function createInventory({ client, folder }: InventoryOptions): Inventory {
  const names = (): ReturnType<typeof createFileNames> => createFileNames(client);
  const stores = createVectorStores(client, names);
  const responses = createResponses(client, folder);
  return {
    files: createFiles(client),
    stores,
    storeFiles: createStoreFiles(client, names),
    assistants: createAssistants(client, stores),
    responses,
    close: () => responses.settled(),
  };
}
