import { join } from "node:path";
import type { TaskQueue } from "../contracts/queue.ts";
import { openPostgres } from "../lib/sql/postgres-database.ts";
import { refuseNetworkDisk } from "../lib/sql/refuse-network-disk.ts";
import type { SqlDatabase } from "../lib/sql/sql.ts";
import { openSqlite } from "../lib/sql/sqlite-database.ts";
import { queueTables } from "./queue-tables.ts";
import { createTaskQueue } from "./task-queue.ts";

/** A queue of its own for what is asked seldom and answered at once. */
const CONNECTIONS = 2;

/** In a SQLite file of this folder for the processes of one machine, or in a PostgreSQL database for those of many. */
export function openTaskQueue(where: { readonly folder: string } | { readonly url: string }): TaskQueue {
  return createTaskQueue(() => ("url" in where ? openInPostgres(where.url) : openInFolder(where.folder)));
}

async function openInFolder(folder: string): Promise<SqlDatabase> {
  refuseNetworkDisk(folder);
  return openSqlite(join(folder, "queue.sqlite"), queueTables("sqlite"));
}

async function openInPostgres(url: string): Promise<SqlDatabase> {
  const postgres = openPostgres(url, { maxConnections: CONNECTIONS });
  const db = await postgres.openTables("lockstep_queue", queueTables("postgres")).catch(async (error: unknown) => {
    await postgres.close();
    throw error;
  });
  return { ...db, close: () => postgres.close() };
}
