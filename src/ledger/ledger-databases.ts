import { statSync } from "node:fs";
import { rename, rm, rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { DamagedError } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import { namesIn } from "../lib/file-system.ts";
import { refuseNetworkDisk } from "../lib/network-disk.ts";
import { openDatabase } from "../lib/sql/open-database.ts";
import { openPostgres } from "../lib/sql/postgres-database.ts";
import type { Sql, SqlDatabase } from "../lib/sql/sql.ts";
import { findDamage, openSqlite } from "../lib/sql/sqlite-database.ts";
import { type PooledDatabase, SqlitePool } from "../lib/sql/sqlite-pool.ts";
import { ledgerTables } from "./ledger-tables.ts";

/**
 * A folder with a subfolder and SQLite file per domain, usually `crawler/`; or the URL of a PostgreSQL database for all
 * domains.
 */
export type LedgerPlace = { readonly crawlerFolder: string } | { readonly url: string };

/** The databases of the ledgers. */
export interface LedgerDatabases {
  /** Creates it if there is none. */
  open(domainId: DomainId): Promise<SqlDatabase>;
  /** undefined: there is none. */
  find(domainId: DomainId): Promise<SqlDatabase | undefined>;
  /** The databases of all domains that have one. */
  all(): Promise<readonly SqlDatabase[]>;
  /** A snapshot of the domain's ledger. Must be ended. */
  snapshot(domainId: DomainId): Promise<LedgerSnapshot | undefined>;
  /** Closes the domain's file, so that its folder can be moved. */
  release(domainId: DomainId): Promise<void>;
  /** Renames the domain's file, if it has not moved with the domain's folder. */
  rename(ids: { readonly from: DomainId; readonly to: DomainId }): Promise<void>;
  /**
   * Deletes the domain's file, even a damaged one. false: all domains share a database, and only rows can be deleted.
   */
  remove(domainId: DomainId): Promise<boolean>;
  close(): Promise<void>;
}

export interface LedgerSnapshot {
  readonly sql: Sql;
  end(): Promise<void>;
}

const LEDGER_FILE = "ledger.sqlite";
const MAX_OPEN = 50;
const CONNECTIONS = 10;
const SCHEMA = "lockstep_ledger";
/** A paused dry run may be idle without limit. Keepalives tell the server when its machine is gone. */
const SNAPSHOT_SESSION = `SET idle_in_transaction_session_timeout = 0; SET tcp_keepalives_idle = 60;
  SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 6`;

export function openLedgerDatabases(place: LedgerPlace): LedgerDatabases {
  return "url" in place ? inPostgres(place.url) : inFiles(place.crawlerFolder);
}

function inPostgres(url: string): LedgerDatabases {
  let opening: Promise<SqlDatabase> | undefined;
  const open = async (): Promise<SqlDatabase> => {
    opening ??= openDatabase(
      { url },
      { file: "", schema: SCHEMA, tables: ledgerTables, connections: CONNECTIONS },
    ).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return await opening;
  };
  return {
    open,
    find: open,
    all: async () => [await open()],
    async snapshot() {
      // Its own connection: dry runs must not block others.
      const postgres = openPostgres(url, { maxConnections: 1 });
      try {
        const db = await postgres.openTables(SCHEMA, ledgerTables("postgres"), SNAPSHOT_SESSION);
        return await snapshotOf(db, () => postgres.close());
      } catch (error) {
        await postgres.close();
        throw error;
      }
    },
    release: async () => undefined,
    rename: async () => undefined,
    remove: async () => false,
    async close() {
      await (await opening)?.close();
    },
  };
}

function inFiles(crawlerFolder: string): LedgerDatabases {
  const pool = new SqlitePool(MAX_OPEN, sayDamage);
  const opened = new Map<DomainId, Promise<{ readonly db: PooledDatabase; readonly inode: number }>>();
  const release = async (domainId: DomainId): Promise<void> => {
    const opening = opened.get(domainId);
    opened.delete(domainId);
    await (await opening?.catch(() => undefined))?.db.close();
  };
  const make = async (domainId: DomainId): Promise<{ readonly db: PooledDatabase; readonly inode: number }> => {
    const path = join(crawlerFolder, domainId, LEDGER_FILE);
    refuseNetworkDisk(join(crawlerFolder, domainId));
    const db = pool.database(path, ledgerTables("sqlite"), () => undefined);
    await db.create();
    return { db, inode: inodeOf(path) };
  };
  const open = async (domainId: DomainId): Promise<SqlDatabase> => {
    const path = join(crawlerFolder, domainId, LEDGER_FILE);
    for (;;) {
      const opening = opened.get(domainId) ?? make(domainId);
      opened.set(domainId, opening);
      const { db, inode } = await opening.catch((error: unknown) => {
        if (opened.get(domainId) === opening) opened.delete(domainId);
        throw error;
      });
      // Another process may have deleted the domain and a user created it again: then the open file is outdated.
      if (inode === inodeOf(path)) return db;
      if (opened.get(domainId) === opening) await release(domainId);
    }
  };
  const find = async (domainId: DomainId): Promise<SqlDatabase | undefined> =>
    inodeOf(join(crawlerFolder, domainId, LEDGER_FILE)) === 0 ? undefined : await open(domainId);
  return {
    open,
    find,
    async all() {
      const names = await namesIn(crawlerFolder);
      const found = await Promise.all(names.sort().map((name) => find(name as DomainId)));
      return found.filter((db) => db !== undefined);
    },
    async snapshot(domainId) {
      const path = join(crawlerFolder, domainId, LEDGER_FILE);
      if (inodeOf(path) === 0) return undefined;
      try {
        // Its own connection: readers of the shared one would wait for the end.
        const db = await openSqlite(path, ledgerTables("sqlite"));
        return await snapshotOf(db, () => db.close());
      } catch (error) {
        throw sayDamage(path, error);
      }
    },
    release,
    async rename({ from, to }) {
      const [before, after] = [from, to].map((id) => join(crawlerFolder, id)) as [string, string];
      await release(from);
      if (inodeOf(join(before, LEDGER_FILE)) === 0 || inodeOf(join(after, LEDGER_FILE)) !== 0) return;
      await rename(before, after);
    },
    async remove(domainId) {
      await release(domainId);
      for (const end of ["", "-wal", "-shm"]) {
        await rm(join(crawlerFolder, domainId, `${LEDGER_FILE}${end}`), { recursive: true, force: true });
      }
      // Fails if other files of the domain are beside it; those are deleted elsewhere.
      await rmdir(join(crawlerFolder, domainId)).catch(() => undefined);
      return true;
    },
    async close() {
      await Promise.all([...opened.keys()].map(release));
    },
  };
}

function snapshotOf(db: SqlDatabase, close: () => Promise<void>): Promise<LedgerSnapshot> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  return new Promise((resolve, reject) => {
    const reading = db.read(async (sql) => {
      // SQLite's snapshot begins with the first statement.
      await sql.get("SELECT source_no FROM source");
      resolve({
        sql,
        async end() {
          end();
          // A broken connection has nothing to end.
          await reading.catch(() => undefined);
          await close();
        },
      });
      await ended;
    });
    reading.catch(reject);
  });
}

/** Truncates SQLite's log, so that deleted data cannot be found in it. */
export async function emptyLog(db: SqlDatabase): Promise<void> {
  if (db.dialect === "sqlite") await db.run("PRAGMA wal_checkpoint(TRUNCATE)");
}

/** 0: there is no such file. */
function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}

function sayDamage(path: string, error: unknown): unknown {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const reason = isFolder ? "it is a folder, and no file" : findDamage(error);
  if (reason === undefined) return error;
  const domain = basename(join(path, ".."));
  return new DamagedError(
    `The ledger of domain '${domain}' is damaged: ${reason}.`,
    `Stop lockstep, delete crawler/${domain}/${LEDGER_FILE} with its -wal and -shm, start it again and crawl: the ledger is built again from map files, reports, mirror and index; nothing is embedded again, and only the pages of web sites are read again.`,
  );
}
