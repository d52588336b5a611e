import type { OtherStores } from "../contracts/domain-state.ts";
import type { DomainId, VectorStoreId } from "../contracts/ids.ts";
import type { Sql, SqlDatabase } from "../lib/sql/sql.ts";
import type { LedgerDatabases } from "./ledger-databases.ts";
import { migrateDomainState, readOldStores } from "./migrate/migrate-domain-state.ts";

/** What is remembered of a domain as a whole. */
export interface DomainState {
  readonly stores: OtherStores;
}

/** Each has a column `domain_id`. */
const TABLES = ["store"] as const;

export async function renameState(sql: Sql, { from, to }: { from: DomainId; to: DomainId }): Promise<void> {
  for (const table of TABLES) await sql.run(`UPDATE ${table} SET domain_id = $2 WHERE domain_id = $1`, [from, to]);
}

export async function forgetState(sql: Sql, domainId: DomainId): Promise<void> {
  for (const table of TABLES) await sql.run(`DELETE FROM ${table} WHERE domain_id = $1`, [domainId]);
}

/** `domainsFolder` is where an earlier release kept it. Whoever only reads makes no database. */
export function openDomainState(databases: LedgerDatabases, domainsFolder: string): DomainState {
  const writable = async (domainId: DomainId): Promise<SqlDatabase> => {
    const db = await databases.open(domainId);
    await migrateDomainState(db, domainsFolder, domainId);
    return db;
  };
  return {
    stores: {
      async list(domainId) {
        const old = await readOldStores(domainsFolder, domainId);
        if (old) return old;
        const db = await databases.find(domainId);
        const text = "SELECT store_id, state, since FROM store WHERE domain_id = $1 ORDER BY since, store_id";
        const rows = await db?.all<{ store_id: VectorStoreId; state: string; since: string }>(text, [domainId]);
        return (rows ?? []).map(({ store_id, state, since }) => ({
          vectorStoreId: store_id,
          state: state === "building" ? "building" : "superseded",
          since,
        }));
      },
      async put(domainId, { vectorStoreId, state, since }) {
        const replace =
          "ON CONFLICT (domain_id, store_id) DO UPDATE SET state = excluded.state, since = excluded.since";
        const values = [domainId, vectorStoreId, state, since];
        await (await writable(domainId)).insert("store (domain_id, store_id, state, since)", [values], replace);
      },
      async remove(domainId, store) {
        const db = await writable(domainId);
        await db.run("DELETE FROM store WHERE domain_id = $1 AND store_id = $2", [domainId, store]);
      },
    },
  };
}
