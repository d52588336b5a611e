import type { Registry } from "../../contracts/registry.ts";
import { type DatabasePlace, openDatabase } from "../../lib/sql/open-database.ts";
import { sayingDamage } from "./registry-damage.ts";
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
