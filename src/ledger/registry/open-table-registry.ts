import type { TableClient } from "@azure/data-tables";
import type { Registry } from "../../contracts/registry.ts";
import {
  AZURE_RETRIES,
  type AzureAccount,
  azureAnswer,
  explainAzure,
  identityFor,
  withConnectionString,
} from "../../lib/azure.ts";
import { openOnce } from "../../lib/once.ts";
import type { OldTable } from "./earlier-members.ts";
import { createEntityTable, type EntityTable } from "./entity-table.ts";
import type { PartitionStrategy } from "./table-keys.ts";
import { createTableRegistry, type RegistryTables } from "./table-registry.ts";

export interface TablePlace {
  readonly account: AzureAccount;
  readonly tableName: string;
  readonly partitions: PartitionStrategy;
  /** How many are read with one request, at most 1,000, which is usual. */
  readonly entitiesAtOnce?: number;
}

/** In Azure Table Storage. Tables that are missing are created by the first call. */
export function openTableRegistry(where: TablePlace): Registry {
  const opened = openOnce(async () => ({
    items: await openTable(where, ""),
    members: await openOldTable(where, "Members"),
    keys: await openTable(where, "Keys"),
    waiting: await openTable(where, "Index"),
    close: async () => undefined,
  }));
  return createTableRegistry((): Promise<RegistryTables> => opened.open(), where.partitions);
}

async function openTable(where: TablePlace, suffix: string): Promise<EntityTable> {
  const { account, tableName, entitiesAtOnce } = where;
  const name = `${tableName}${suffix}`;
  const client = await clientOf(account, name);
  try {
    await createIfMissing(client);
  } catch (error) {
    throw explainAzure(error, `open the table ${name}`);
  }
  return createEntityTable(client, entitiesAtOnce);
}

/** Of an earlier release: it need not be there. */
async function openOldTable({ account, tableName }: TablePlace, suffix: string): Promise<OldTable> {
  const client = await clientOf(account, `${tableName}${suffix}`);
  const asked = <T>(doing: Promise<T>): Promise<T> =>
    doing.catch((error: unknown) => {
      throw explainAzure(error, `use the table ${client.tableName}`);
    });
  return {
    ...createEntityTable(client),
    isThere: () => asked(isThere(client)),
    drop: () => asked(client.deleteTable()),
  };
}

async function clientOf(account: AzureAccount, name: string): Promise<TableClient> {
  // It takes most of a second to load, and most commands never need it.
  const { TableClient } = await import("@azure/data-tables");
  if (account.kind === "identity")
    return new TableClient(account.endpoints.table, name, await identityFor(account), AZURE_RETRIES);
  const { connectionString } = account;
  return withConnectionString(connectionString, (allowInsecureConnection) =>
    TableClient.fromConnectionString(connectionString, name, { ...AZURE_RETRIES, allowInsecureConnection }),
  );
}

/** Whoever may use a table need not be allowed to create one. */
async function createIfMissing(client: TableClient): Promise<void> {
  if (!(await isThere(client))) await client.createTable();
}

async function isThere(client: TableClient): Promise<boolean> {
  try {
    await client.getEntity("is", "there");
  } catch (error) {
    const { status, code } = azureAnswer(error);
    if (code === "TableNotFound") return false;
    if (status !== 404) throw error;
  }
  return true;
}
