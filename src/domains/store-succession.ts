import { join } from "node:path";
import type { DomainId, VectorStoreId } from "../contracts/ids.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { parseJsonBytes, toJsonText } from "./json-file.ts";

/** A vector store beside the domain's own: its successor while it is being built, or its predecessor for a while. */
export interface OtherStore {
  readonly vectorStoreId: VectorStoreId;
  readonly state: "building" | "superseded";
  /** ISO 8601 UTC. */
  readonly since: string;
}

const FILE = "superseded_stores.json";

/** `domains/<id>/superseded_stores.json`, oldest first. */
export async function otherStores(domainsFolder: string, id: DomainId): Promise<readonly OtherStore[]> {
  const bytes = await readFileIfExists(join(domainsFolder, id, FILE));
  const json = bytes && parseJsonBytes(bytes);
  const stores = isJsonObject(json) && Array.isArray(json["stores"]) ? json["stores"] : [];
  return stores.filter(isJsonObject).map((store) => ({
    vectorStoreId: String(store["vector_store_id"]) as VectorStoreId,
    state: store["state"] === "building" ? "building" : "superseded",
    since: String(store["since_utc"]),
  }));
}

/** The change sees what is there now; nobody else changes it meanwhile. */
export async function changeOtherStores(
  domainsFolder: string,
  id: DomainId,
  change: (stores: readonly OtherStore[]) => readonly OtherStore[],
): Promise<void> {
  await withFileLock(join(domainsFolder, ".lockstep", "store-locks", id), async () => {
    const before = await otherStores(domainsFolder, id);
    const after = change(before);
    if (before.length === 0 && after.length === 0) return;
    await writeFileAtomic(
      join(domainsFolder, id, FILE),
      toJsonText({
        stores: after.map(formatOtherStore),
      }),
    );
  });
}

export function formatOtherStore({ vectorStoreId, state, since }: OtherStore): JsonObject {
  return { vector_store_id: vectorStoreId, state, since_utc: since };
}
