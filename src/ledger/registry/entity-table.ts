import type { TableClient, TransactionAction } from "@azure/data-tables";
import { azureAnswer, explainAzure } from "../../lib/azure.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { slicesOf } from "../../lib/slices-of.ts";
import { quoted } from "./table-keys.ts";

export interface EntityKey {
  readonly partitionKey: string;
  readonly rowKey: string;
}

export type EntityValue = string | number | boolean | bigint;
export type Entity = EntityKey & { readonly [property: string]: EntityValue | undefined };

/** What a table holds under two keys. Expected outcomes are values; anything else is a RemoteError without secrets. */
export interface EntityTable {
  get(key: EntityKey): Promise<Entity | undefined>;
  /** The ETag; undefined: there is one already. */
  insert(entity: Entity): Promise<string | undefined>;
  /** The new ETag; undefined: it has another one, or is gone. */
  replace(entity: Entity, etag: string): Promise<string | undefined>;
  delete(key: EntityKey, etag?: string): Promise<"deleted" | "missing" | "changed">;
  /** All of them without a filter. In the order of the keys; no page is empty. */
  pages(filter: string, select?: readonly string[]): AsyncGenerator<readonly Entity[], void>;
  /** Each key once. In as few requests as the service allows, so an interrupted call may have done a part. */
  putAll(entities: readonly Entity[]): Promise<void>;
  /** Those that are missing are fine. */
  deleteAll(keys: readonly EntityKey[]): Promise<void>;
}

/** The service gives no more. */
const ENTITIES_AT_ONCE = 1000;
/** What the service takes in one transaction. */
const ACTIONS_AT_ONCE = 100;
const REQUESTS_AT_ONCE = 8;

/** No outcome but the usual one is expected. */
const NONE: Readonly<Record<number, never>> = {};

export function createEntityTable(client: TableClient, entitiesAtOnce = ENTITIES_AT_ONCE): EntityTable {
  const asked = async <T, U>(request: () => Promise<T>, expected: Readonly<Record<number, U>>): Promise<T | U> => {
    try {
      return await request();
    } catch (error) {
      const { status, code } = azureAnswer(error);
      // A table that is gone says nothing about what was in it.
      const isExpected = status !== undefined && Object.hasOwn(expected, status) && code !== "TableNotFound";
      if (isExpected) return expected[status] as U;
      throw explainAzure(error, `use the table ${client.tableName}`);
    }
  };
  const table: EntityTable = {
    get: ({ partitionKey, rowKey }) =>
      asked(async () => (await client.getEntity(partitionKey, rowKey)) as Entity, { 404: undefined }),
    insert: (entity) => asked(async () => (await client.createEntity(entity)).etag, { 409: undefined }),
    replace: (entity, etag) =>
      asked(async () => (await client.updateEntity(entity, "Replace", { etag })).etag, {
        404: undefined,
        412: undefined,
      }),
    delete: ({ partitionKey, rowKey }, etag = "*") =>
      asked(
        async () => {
          await client.deleteEntity(partitionKey, rowKey, { etag });
          return "deleted" as const;
        },
        { 404: "missing" as const, 412: "changed" as const },
      ),
    async *pages(filter, select) {
      const queryOptions = { ...(filter !== "" && { filter }), ...(select && { select: [...select] }) };
      const pages = client.listEntities({ queryOptions }).byPage({ maxPageSize: entitiesAtOnce });
      for (;;) {
        const { done, value } = await asked(() => pages.next(), NONE);
        if (done) return;
        // The service also answers with none when it has searched for a while.
        if (value.length > 0) yield value as unknown as Entity[];
      }
    },
    async putAll(entities) {
      await forEachConcurrent(batchesOf(entities), REQUESTS_AT_ONCE, async (batch) => {
        const actions = batch.map((entity): TransactionAction => ["upsert", entity, "Replace"]);
        await asked(() => client.submitTransaction(actions), NONE);
      });
    },
    async deleteAll(keys) {
      await forEachConcurrent(batchesOf(keys), REQUESTS_AT_ONCE, async (batch) => {
        const actions = batch.map(
          ({ partitionKey, rowKey }): TransactionAction => ["delete", { partitionKey, rowKey }],
        );
        // One that is missing and none of them is deleted.
        if ((await asked(() => client.submitTransaction(actions), { 404: "missing" })) !== "missing") return;
        await forEachConcurrent(batch, REQUESTS_AT_ONCE, async (key) => void (await table.delete(key)));
      });
    },
  };
  return table;
}

/** How many gets may take the place of one page. */
const GETS_PER_PAGE = 16;

/**
 * Reads those that are there of many, in no particular order. A partition is read in pages while these are fewer requests than
 * getting the rest one by one, so the cost is that of what is asked for, not that of the table.
 */
export async function readMany(
  table: EntityTable,
  keys: readonly EntityKey[],
  select: readonly string[] | undefined,
  take: (entity: Entity) => void,
): Promise<void> {
  const groups = Map.groupBy(keys, ({ partitionKey }) => partitionKey);
  await forEachConcurrent(groups, REQUESTS_AT_ONCE, async ([partitionKey, group]) => {
    let wanted = new Set(group.map(({ rowKey }) => rowKey));
    let pagesLeft = Math.floor(wanted.size / GETS_PER_PAGE);
    if (pagesLeft > 0) {
      let last: string | undefined;
      const filter = `PartitionKey eq ${quoted(partitionKey)}`;
      for await (const page of table.pages(filter, select && ["rowKey", ...select])) {
        for (const entity of page) if (wanted.has(entity.rowKey)) take(entity);
        last = page.at(-1)?.rowKey;
        if (--pagesLeft === 0) break;
      }
      const end = last;
      // Pages are in the order of the row keys: what comes after the last one was not seen.
      wanted = pagesLeft > 0 || end === undefined ? new Set() : new Set([...wanted].filter((rowKey) => rowKey > end));
    }
    await forEachConcurrent(wanted, REQUESTS_AT_ONCE, async (rowKey) => {
      const entity = await table.get({ partitionKey, rowKey });
      if (entity) take(entity);
    });
  });
}

/** A transaction is about one partition. */
function* batchesOf<T extends EntityKey>(entities: readonly T[]): Generator<readonly T[], void> {
  for (const group of Map.groupBy(entities, ({ partitionKey }) => partitionKey).values()) {
    yield* slicesOf(group, ACTIONS_AT_ONCE);
  }
}
