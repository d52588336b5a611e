import { join } from "node:path";
import { refuseNetworkDisk } from "../network-disk.ts";
import { openPostgres } from "./postgres-database.ts";
import type { Schema, Sql, SqlDatabase } from "./sql.ts";
import { openSqlite } from "./sqlite-database.ts";

/** A folder of this machine, for a SQLite file; or the address of a PostgreSQL database. */
export type DatabasePlace = { readonly folder: string } | { readonly url: string };

export interface DatabasePlan {
  /** The name of the SQLite file. */
  readonly file: string;
  /** The PostgreSQL schema. */
  readonly schema: string;
  tables(dialect: Sql["dialect"]): Schema;
  /** To PostgreSQL, at most. */
  readonly connections: number;
}

/** A SQLite file for the processes of one machine, or a schema in PostgreSQL for those of many; closing it closes its connections. */
export async function openDatabase(where: DatabasePlace, plan: DatabasePlan): Promise<SqlDatabase> {
  if ("folder" in where) {
    refuseNetworkDisk(where.folder);
    return openSqlite(join(where.folder, plan.file), plan.tables("sqlite"));
  }
  const postgres = openPostgres(where.url, { maxConnections: plan.connections });
  const db = await postgres.openTables(plan.schema, plan.tables("postgres")).catch(async (error: unknown) => {
    await postgres.close();
    throw error;
  });
  return { ...db, close: () => postgres.close() };
}
