import type { Extractor } from "../../contracts/document.ts";
import { dropLooseBodies } from "../../index/storage/cleanup.ts";
import { processFile } from "./process-file.ts";
import type { Work } from "./processing.ts";
import type { Stores } from "./stores.ts";

/** What files that were processed anew left behind, at most so many at a time. */
const LOOSE_BODIES = 1000;

/** What is done with a file that waits in a store. */
export function createFileWork(stores: Stores, extractor: Extractor): Work {
  return {
    async process(task, failure, signal) {
      const store = await stores.find(task.storeId);
      if (store) await processFile(store, task.fileId, { extractor, failure, signal });
    },
    async finish(storeId, signal) {
      const store = await stores.find(storeId);
      if (!store) return;
      await dropLooseBodies(store, { budget: LOOSE_BODIES });
      await store.spaces.refresh(store, () => undefined, signal);
    },
  };
}
