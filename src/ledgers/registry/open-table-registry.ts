import type { Registry } from "../../contracts/registry.ts";
import { explainAzure, withConnectionString } from "../../lib/azure-trouble.ts";
import { openOnce } from "../../lib/open-once.ts";
import { createEntityTable, type EntityTable } from "./entity-table.ts";
import type { PartitionStrategy } from "./table-keys.ts";
import { createTableRegistry, type RegistryTables } from "./table-registry.ts";

export interface TablePlace {
  readonly connectionString: string;
  readonly tableName: string;
  readonly partitions: PartitionStrategy;
  /** How many are read with one request, at most 1,000, which is usual. */
  readonly entitiesAtOnce?: number;
}

/** In Azure Table Storage. The tables are created by the first call. */
export function openTableRegistry(where: TablePlace): Registry {
  const opened = openOnce(async () => ({
    items: await openTable(where, ""),
    members: await openTable(where, "Members"),
    keys: await openTable(where, "Keys"),
    close: async () => undefined,
  }));
  return createTableRegistry((): Promise<RegistryTables> => opened.open(), where.partitions);
}

async function openTable(where: TablePlace, suffix: string): Promise<EntityTable> {
  const { connectionString, tableName, entitiesAtOnce } = where;
  const name = `${tableName}${suffix}`;
  // It takes most of a second to load, and most commands never need it.
  const { TableClient } = await import("@azure/data-tables");
  const client = withConnectionString(connectionString, (allowInsecureConnection) =>
    TableClient.fromConnectionString(connectionString, name, { allowInsecureConnection }),
  );
  await client.createTable().catch((error: unknown) => {
    throw explainAzure(error, `create the table ${name}`);
  });
  return createEntityTable(client, entitiesAtOnce);
}
