import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { OtherStore } from "../../contracts/domain-state.ts";
import type { DomainId, VectorStoreId } from "../../contracts/ids.ts";
import { readFileIfExists } from "../../lib/atomic-file.ts";
import { withFileLock } from "../../lib/file-lease.ts";
import { isJsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { pathExists } from "../../lib/path-exists.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";

const STORES = "superseded_stores.json";

/**
 * Takes over what earlier releases kept in small files beside `domain.json`, and moves these away. Until then they count, and the tables
 * do not; so it comes before the first change.
 */
export async function migrateDomainState(db: SqlDatabase, domainsFolder: string, id: DomainId): Promise<void> {
  const folder = join(domainsFolder, id);
  if (!(await pathExists(join(folder, STORES)))) return;
  const aside = join(folder, ".lockstep", "before-ledger");
  await mkdir(aside, { recursive: true });
  await withFileLock(join(aside, "lock"), async () => {
    const stores = await readOldStores(domainsFolder, id);
    if (!stores) return;
    await db.write((sql) => putStores(sql, id, stores));
    await rename(join(folder, STORES), join(aside, STORES));
  });
}

async function putStores(sql: Sql, id: DomainId, stores: readonly OtherStore[]): Promise<void> {
  const rows = stores.map(({ vectorStoreId, state, since }) => [id, vectorStoreId, state, since]);
  await sql.insert("store (domain_id, store_id, state, since)", rows, "ON CONFLICT DO NOTHING");
}

/** undefined: there is no such file (any more). */
export async function readOldStores(domainsFolder: string, id: DomainId): Promise<OtherStore[] | undefined> {
  const bytes = await readFileIfExists(join(domainsFolder, id, STORES));
  if (!bytes) return undefined;
  const stores = parseJsonObject(bytes.toString("utf8"))?.["stores"];
  return (Array.isArray(stores) ? stores : []).filter(isJsonObject).map((store) => ({
    vectorStoreId: String(store["vector_store_id"]) as VectorStoreId,
    state: store["state"] === "building" ? "building" : "superseded",
    since: String(store["since_utc"]),
  }));
}
