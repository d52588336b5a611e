import { createOpenAiBackend } from "../../src/backends/openai/openai-backend.ts";
import type { ItemId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { DocumentFile } from "../../src/contracts/search-index.ts";
import { DOMAIN, openUploadRecords, SOURCE } from "./openai-bench.ts";

/** What a child process is to bring a store to. */
export interface ChildWork {
  readonly baseUrl: string;
  readonly storage: string;
  readonly storeId: VectorStoreId;
  readonly put: readonly DocumentFile[];
  readonly remove: readonly ItemId[];
}

/** One draft from beginning to end, in a process that may be killed at any moment. */
async function bringInStep({ baseUrl, storage, storeId, put, remove }: ChildWork): Promise<void> {
  const notes = openUploadRecords(storage);
  const backend = createOpenAiBackend({ kind: "openai", apiKey: "test", baseUrl }, notes);
  const index = await backend.openIndex(storeId, DOMAIN);
  const draft = await index?.draft(SOURCE);
  const { signal } = new AbortController();
  for (const itemId of remove) await draft?.remove(itemId);
  for (const file of put) await draft?.put(file, signal);
  await draft?.commit(signal);
  await backend.close();
  await notes.close();
}

await bringInStep(JSON.parse(process.argv[2] ?? "") as ChildWork);
