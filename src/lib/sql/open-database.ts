import { join } from "node:path";
import { refuseNetworkDisk } from "../network-disk.ts";
import { openPostgres } from "./postgres-database.ts";
import type { Schema, Sql, SqlDatabase } from "./sql.ts";
import { openSqlite } from "./sqlite-database.ts";

/** A local folder for a SQLite file, or the URL of a PostgreSQL database. */
export type DatabasePlace = { readonly folder: string } | { readonly url: string };

export interface DatabasePlan {
  /** The name of the SQLite file. */
  readonly file: string;
  /** The PostgreSQL schema. */
  readonly schema: string;
  tables(dialect: Sql["dialect"]): Schema;
  /** Maximum number of connections to PostgreSQL. */
  readonly connections: number;
}

/** Opens a SQLite file for the processes of one machine, or a PostgreSQL schema for several machines; closing it closes its connections. */
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
