import type { VectorStoreId } from "../../contracts/ids.ts";
import type { Connection } from "./connection.ts";
import { readPages } from "./read-pages.ts";
import { readStorePage } from "./wire-codec.ts";

/** All vector stores of the account, as far as the service lists them. */
export function listStoreIds({ client, calls }: Connection, signal?: AbortSignal): Promise<VectorStoreId[]> {
  const what = "list vector stores";
  const headers = { "OpenAI-Beta": "assistants=v2" };
  return readPages({
    what,
    idOf: (id: VectorStoreId) => id,
    read(after) {
      const query = { limit: 100, ...(after ? { after } : {}) };
      return calls.run(
        what,
        async () => readStorePage(await client.get<unknown>("/vector_stores", { query, headers, signal })),
        signal,
      );
    },
  });
}
