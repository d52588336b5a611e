import type { TableClient, TransactionAction } from "@azure/data-tables";
import { azureAnswer, explainAzure } from "../../lib/azure.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { slicesOf } from "../../lib/slices-of.ts";
import { type EntityKey, quoted } from "./table-keys.ts";

export type EntityValue = string | number | boolean | bigint;
export type Entity = EntityKey & { readonly [property: string]: EntityValue | undefined };

/** An Azure table. Expected outcomes are values; anything else is a RemoteError without secrets. */
export interface EntityTable {
  get(key: EntityKey): Promise<Entity | undefined>;
  /** Returns the ETag; undefined if the entity exists already. */
  insert(entity: Entity): Promise<string | undefined>;
  /** Returns the new ETag; undefined if the entity has another ETag, or is gone. */
  replace(entity: Entity, etag: string): Promise<string | undefined>;
  delete(key: EntityKey, etag?: string): Promise<"deleted" | "missing" | "changed">;
  /** Yields what matches the filter ("": all), sorted by key. No page is empty. */
  pages(filter: string, select?: readonly string[]): AsyncGenerator<readonly Entity[], void>;
  /** No key may occur twice. Sends as few requests as possible; an interrupted call may have written a part. */
  putAll(entities: readonly Entity[]): Promise<void>;
  /** Missing entities are no error. */
  deleteAll(keys: readonly EntityKey[]): Promise<void>;
}

/** Limit of the service for one page. */
const ENTITIES_AT_ONCE = 1000;
/** Limit of the service for one transaction. */
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
        // The service returns an empty page when it has searched for a while.
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
        // If one is missing, the transaction deletes none.
        if ((await asked(() => client.submitTransaction(actions), { 404: "missing" })) !== "missing") return;
        await forEachConcurrent(batch, REQUESTS_AT_ONCE, async (key) => void (await table.delete(key)));
      });
    },
  };
  return table;
}

/** A page costs as much as so many gets. */
const GETS_PER_PAGE = 16;

/**
 * Reads many entities, in no particular order; missing ones are skipped. Reads a partition page by page as long as that takes fewer
 * requests than single gets, so the cost follows the number of keys, not the size of the table.
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

/** All entities of a transaction must be in one partition. */
function* batchesOf<T extends EntityKey>(entities: readonly T[]): Generator<readonly T[], void> {
  for (const group of Map.groupBy(entities, ({ partitionKey }) => partitionKey).values()) {
    yield* slicesOf(group, ACTIONS_AT_ONCE);
  }
}
