import type { OtherStore, ScheduleState } from "../contracts/domain-state.ts";
import type { DomainId, JobId, VectorStoreId } from "../contracts/ids.ts";
import type { Ledgers } from "../contracts/ledger.ts";
import { replacing, type Sql, type SqlDatabase } from "../lib/sql/sql.ts";
import { toUtcMicros } from "../lib/time.ts";
import type { LedgerDatabases } from "./ledger-databases.ts";
import { migrateDomainState, readOldSchedule, readOldStores } from "./migrate/migrate-earlier-files.ts";

/** Each has a column `domain_id`. */
const TABLES = ["store", "schedule", "upload", "feedback"] as const;

export async function renameState(sql: Sql, { from, to }: { from: DomainId; to: DomainId }): Promise<void> {
  // The leases that the rename holds: their holders know only the old id.
  await sql.run("DELETE FROM lease WHERE domain_id IN ($1, $2)", [from, to]);
  for (const table of TABLES) await sql.run(`UPDATE ${table} SET domain_id = $2 WHERE domain_id = $1`, [from, to]);
}

export async function forgetState(sql: Sql, domainId: DomainId): Promise<void> {
  for (const table of [...TABLES, "lease"]) await sql.run(`DELETE FROM ${table} WHERE domain_id = $1`, [domainId]);
}

function putStore(sql: Sql, domainId: DomainId, { vectorStoreId, state, since }: OtherStore): Promise<void> {
  const values = [domainId, vectorStoreId, state, since];
  return sql.insert(
    "store (domain_id, store_id, state, since)",
    [values],
    replacing("domain_id, store_id", "state, since"),
  );
}

function putSchedule(sql: Sql, domainId: DomainId, state: ScheduleState): Promise<void> {
  const { schedule, checkedAt, started } = state;
  const values = [domainId, schedule, toUtcMicros(checkedAt), started?.jobId ?? "", started?.times ?? 0];
  const columns = "cron, checked_at, job_id, attempts";
  return sql.insert(`schedule (domain_id, ${columns})`, [values], replacing("domain_id", columns));
}

/** `domainsFolder`: where earlier releases stored the state. Reading creates no database. */
export function openDomainState(
  databases: LedgerDatabases,
  domainsFolder: string,
): Pick<Ledgers, "stores" | "schedules"> {
  const writable = async (domainId: DomainId): Promise<SqlDatabase> => {
    const db = await databases.open(domainId);
    await migrateDomainState(domainsFolder, domainId, ({ stores, schedule }) =>
      db.write(async (sql) => {
        for (const store of stores) await putStore(sql, domainId, store);
        if (schedule) await putSchedule(sql, domainId, schedule);
      }),
    );
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
      put: async (domainId, store) => putStore(await writable(domainId), domainId, store),
      async remove(domainId, store) {
        const db = await writable(domainId);
        await db.run("DELETE FROM store WHERE domain_id = $1 AND store_id = $2", [domainId, store]);
      },
    },
    schedules: {
      async get(domainId) {
        const old = await readOldSchedule(domainsFolder, domainId);
        if (old) return old.state;
        const db = await databases.find(domainId);
        const text = "SELECT cron, checked_at, job_id, attempts FROM schedule WHERE domain_id = $1";
        const row = await db?.get<{ cron: string; checked_at: string; job_id: JobId | ""; attempts: number }>(text, [
          domainId,
        ]);
        if (!row) return undefined;
        const { cron, checked_at, job_id: jobId, attempts: times } = row;
        const started = jobId ? { started: { jobId, times } } : {};
        return { schedule: cron, checkedAt: new Date(checked_at), ...started };
      },
      put: async (domainId, state) => putSchedule(await writable(domainId), domainId, state),
    },
  };
}
