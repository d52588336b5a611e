import { RemoteError } from "../../contracts/errors.ts";
import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import type { Connection } from "./connection.ts";
import { lookAtFile } from "./look-at-file.ts";
import { readPages } from "./read-pages.ts";
import { readStorePage } from "./wire-codec.ts";

/** In more than these nobody looks: it would take a request for each. */
const MOST_STORES = 100;

/** Nobody can look into every vector store of the account. */
export class UncertainStores extends RemoteError {}

/** Every vector store of the account. UncertainStores when that cannot be told: lists have been seen to lack what is there. */
export async function everyStore(
  connection: Connection,
  known: readonly VectorStoreId[],
  signal: AbortSignal,
): Promise<readonly VectorStoreId[]> {
  const listed = await listStoreIds(connection, signal);
  if (listed.length > MOST_STORES) {
    throw new UncertainStores(
      `look into all vector stores: there are ${listed.length}, and at most ${MOST_STORES} are looked into`,
    );
  }
  const lacking = known.find((storeId) => !listed.includes(storeId));
  if (lacking) throw new UncertainStores(`list vector stores: '${lacking}' is not listed although it exists`);
  return listed;
}

/** Asked for by id in each of them, for the same reason. */
export async function isInUse(
  connection: Connection,
  storeIds: readonly VectorStoreId[],
  fileId: FileId,
  signal: AbortSignal,
): Promise<boolean> {
  for (const storeId of storeIds) {
    const look = () => lookAtFile({ storeId, connection }, fileId, signal);
    if ((await connection.calls.run(`look at file ${fileId}`, look, signal)).file) return true;
  }
  return false;
}

/** All vector stores of the account, as far as the service lists them. */
function listStoreIds({ client, calls }: Connection, signal?: AbortSignal): Promise<VectorStoreId[]> {
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
