import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createSqliteFile, isBusy } from "../lib/sql/sqlite-database.ts";
import { sleep } from "../lib/time.ts";
import { PRIVATE_FOLDER } from "../mirror/layout.ts";
import type { Config } from "./config.ts";

export interface ServerLockOptions {
  /** How long to wait for another server to end. */
  readonly waitMs: number;
  /** Ends the wait; its reason is thrown. */
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

const POLL_MS = 100;

/**
 * Only one server at a time may use a storage folder with SQLite: schedules and checks of addresses would otherwise run twice. The lock is
 * an open transaction, which the operating system ends with the process, even after a crash.
 */
export async function holdServerLock(
  { storagePath, database }: Config,
  { waitMs, signal, log }: ServerLockOptions,
): Promise<{ release(): void }> {
  if (database.kind !== "sqlite") return { release: () => undefined };
  const folder = join(database.folder, PRIVATE_FOLDER);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "server-lock.sqlite");
  createSqliteFile(path);
  const db = new DatabaseSync(path, { timeout: 0 });
  const giveUpAtMs = performance.now() + waitMs;
  let isWaiting = false;
  try {
    while (!take(db)) {
      signal.throwIfAborted();
      if (performance.now() >= giveUpAtMs) throw new Error(refusal(holderOf(db), storagePath, waitMs));
      if (!isWaiting) log(`Waiting for the server that uses this storage to end: ${holderOf(db)}.`);
      isWaiting = true;
      await sleep(POLL_MS, signal);
    }
    return { release: () => db.close() };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** The process id is for servers that wait, so it is committed before the transaction that stays open begins. */
function take(db: DatabaseSync): boolean {
  try {
    db.exec("BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS server (pid INTEGER NOT NULL) STRICT; DELETE FROM server");
    db.prepare("INSERT INTO server VALUES (?)").run(process.pid);
    db.exec("COMMIT");
    db.exec("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    if (isBusy(error)) return false;
    throw error;
  }
}

function holderOf(db: DatabaseSync): string {
  try {
    const pid = db.prepare("SELECT pid FROM server").get()?.["pid"];
    return pid === undefined ? "another process" : `process ${pid}`;
  } catch {
    return "another process";
  }
}

function refusal(holder: string, storagePath: string, waitMs: number): string {
  const waited = waitMs > 0 ? ` and did not end within ${waitMs / 1000} s` : "";
  return (
    `start the server: another one (${holder}) uses the storage ${storagePath}${waited}; ` +
    "stop it, give this one a storage of its own (PERSISTENT_STORAGE_PATH), or let both use PostgreSQL (DATABASE_URL)"
  );
}
