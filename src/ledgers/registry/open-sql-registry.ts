import { DamagedError } from "../../contracts/errors.ts";
import type { Registry } from "../../contracts/registry.ts";
import { type DatabasePlace, openDatabase } from "../../lib/sql/open-database.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import { findDamage } from "../../lib/sql/sqlite-damage.ts";
import { registryTables } from "./registry-tables.ts";
import { createSqlRegistry } from "./sql-registry.ts";
import type { PartitionStrategy } from "./table-keys.ts";

/** A crawl asks for many pages at once, but each asks the registry for a moment only. */
const CONNECTIONS = 4;

/** In a SQLite file of this folder for the processes of one machine, or in a PostgreSQL database for those of many. Opened by the first call. */
export function openSqlRegistry(where: DatabasePlace, partitions?: PartitionStrategy): Registry {
  return createSqlRegistry(
    () =>
      sayingDamage(
        openDatabase(where, {
          file: "registry.sqlite",
          schema: "lockstep_registry",
          tables: registryTables,
          connections: CONNECTIONS,
        }),
      ),
    partitions,
  );
}

/** The database, which says for people that its file is damaged. The cure is that of docs/formats/registry.md. */
async function sayingDamage(opening: Promise<SqlDatabase>): Promise<SqlDatabase> {
  const db = await opening.catch(throwDamage);
  return {
    dialect: db.dialect,
    all: (text, values) => db.all<never>(text, values).catch(throwDamage),
    rows: (text, values) => db.rows(text, values).catch(throwDamage),
    get: (text, values) => db.get<never>(text, values).catch(throwDamage),
    run: (text, values) => db.run(text, values).catch(throwDamage),
    insert: (into, rows, suffix) => db.insert(into, rows, suffix).catch(throwDamage),
    write: (work) => db.write(work).catch(throwDamage),
    read: (work) => db.read(work).catch(throwDamage),
    close: () => db.close(),
  };
}

function throwDamage(error: unknown): never {
  const reason = findDamage(error);
  if (reason === undefined) throw error;
  throw new DamagedError(
    `The registry of web addresses is damaged: ${reason}.`,
    "Stop lockstep, delete index/registry.sqlite with its -wal and -shm, and start it again. Crawls find the pages of web sites again. Addresses that were registered one by one have to be registered again, before the next crawl takes their documents out of the index.",
  );
}
