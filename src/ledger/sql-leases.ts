import { randomBytes } from "node:crypto";
import { NotFoundError } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { Lease, Leases } from "../contracts/lease.ts";
import { pathExists } from "../lib/file-system.ts";
import { isProcessGone, thisProcess } from "../lib/process-identity.ts";
import type { Sql } from "../lib/sql/sql.ts";
import { sleep } from "../lib/time.ts";
import type { LedgerDatabases } from "./ledger-databases.ts";

interface LeaseRow {
  readonly owner: string;
  readonly nonce: string;
  readonly host: string;
  readonly pid: number;
  readonly birth: string;
  readonly is_over: number;
}

const THIS = "domain_id = $1 AND name = $2";
const COLUMNS = "domain_id, name, owner, nonce, host, pid, birth, expires_at";

export function createLeases(databases: LedgerDatabases): Leases {
  // Released by this process, but still in the table: this process does not wait for them.
  const left = new Set<string>();
  return {
    async acquire(domainId, name, { owner, signal, onWait, staleMs = 60_000, pollMs = 200, within }) {
      const { host, pid, birth } = thisProcess();
      const nonce = randomBytes(6).toString("hex");
      const mine = [domainId, name, owner, nonce, host, pid, birth, staleMs];
      for (let waited = false; ; ) {
        signal?.throwIfAborted();
        if (within !== undefined && !(await pathExists(within))) throw gone(`The folder '${within}'`);
        const db = waited ? await databases.find(domainId) : await databases.open(domainId);
        if (!db) throw gone(`The ledger of domain '${domainId}'`);
        const holder = await findHolder(db, domainId, name);
        if (!holder || holder.is_over === 1 || left.has(holder.nonce) || isProcessGone(holder)) {
          // If several processes found the same holder, or none, the first to write gets the lease.
          const taken = await db.run(
            `INSERT INTO lease (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, ${nowMs(db)} + $8)
             ON CONFLICT (domain_id, name) DO UPDATE SET owner = excluded.owner, nonce = excluded.nonce, host = excluded.host,
             pid = excluded.pid, birth = excluded.birth, expires_at = excluded.expires_at WHERE lease.nonce = $9`,
            [...mine, holder?.nonce ?? ""],
          );
          if (taken === 0) continue;
          left.delete(holder?.nonce ?? "");
          return hold(databases, { domainId, name, nonce, staleMs }, left);
        }
        if (!waited) onWait?.(holder.owner);
        waited = true;
        await sleep(pollMs, signal);
      }
    },
  };
}

interface Held {
  readonly domainId: DomainId;
  readonly name: string;
  readonly nonce: string;
  readonly staleMs: number;
}

/** Releasing and renewing create no database: the domain may be gone. */
function hold(databases: LedgerDatabases, { domainId, name, nonce, staleMs }: Held, left: Set<string>): Lease {
  const key = [domainId, name, nonce];
  const renew = async (): Promise<void> => {
    const db = await databases.find(domainId);
    await db?.run(`UPDATE lease SET expires_at = ${nowMs(db)} + $4 WHERE ${THIS} AND nonce = $3`, [...key, staleMs]);
  };
  // A failed renewal is repeated by the next one; stillHeld() reports a loss.
  const renewal = setInterval(() => void renew().catch(() => undefined), staleMs / 4);
  renewal.unref();
  const release = async (): Promise<void> => {
    clearInterval(renewal);
    // If it cannot be released, as on a full disk, it expires for other processes.
    const give = async (): Promise<unknown> =>
      (await databases.find(domainId))?.run(`DELETE FROM lease WHERE ${THIS} AND nonce = $3`, key);
    await give().catch(() => left.add(nonce));
  };
  return {
    release,
    [Symbol.asyncDispose]: release,
    async stillHeld() {
      const db = await databases.find(domainId);
      return db !== undefined && (await findHolder(db, domainId, name))?.nonce === nonce;
    },
  };
}

function findHolder(sql: Sql, domainId: DomainId, name: string): Promise<LeaseRow | undefined> {
  const isOver = `CASE WHEN expires_at <= ${nowMs(sql)} THEN 1 ELSE 0 END AS is_over`;
  return sql.get(`SELECT owner, nonce, host, pid, birth, ${isOver} FROM lease WHERE ${THIS}`, [domainId, name]);
}

/** By the clock of the database: machines that share it need not agree on the time. */
function nowMs({ dialect }: Pick<Sql, "dialect">): string {
  return dialect === "sqlite"
    ? "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
    : "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)";
}

function gone(what: string): NotFoundError {
  return new NotFoundError(`${what} does not exist any more.`);
}
