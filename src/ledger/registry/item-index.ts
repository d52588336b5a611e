import type { ItemId } from "../../contracts/ids.ts";
import { INGEST_STATUSES, type IngestItem, type IngestStatus } from "../../contracts/registry.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { storableText } from "../../lib/sql/sql.ts";
import type { Entity, EntityTable } from "./entity-table.ts";
import { toItem } from "./item-entity.ts";
import { isScheduled } from "./item-queries.ts";
import { beginsWith, encodeKey, quoted } from "./table-keys.ts";

const READS_AT_ONCE = 16;
/** Partitions of the index. Rows are sorted by what is looked up: time and item, or status (or host) and item. */
const DUE = "due";
const STATUS = "status";
/** Prefix of rows by host. They share the partition of the statuses, so one transaction writes both. */
const AT_HOST = "@";

/** When all items were last indexed. Earlier versions wrote "all", and had no rows by host. */
const COMPLETE = { partitionKey: "whole", rowKey: "hosts" };
const DAY_MS = 86_400_000;
const INDEXED_PROPERTIES = [
  ...["partitionKey", "rowKey", "id", "status", "sourceHost", "nextCrawlAt"],
  ...["watched", "reindexRequested", "reindexGeneration", "processedGeneration"],
];

/** A row of the index, and the item that it points to. */
export interface IndexRow {
  readonly row: Entity;
  readonly id: string;
  readonly partition: string;
}

/**
 * A secondary index of the items, in a table of its own: by due time, status and host. Rows are written before the item, and are not
 * removed when the item changes: readers compare each row with its item, and delete stale rows. So a kill leaves a row too many,
 * never one too few.
 */
export class ItemIndex {
  readonly #open: () => Promise<EntityTable>;
  /** Younger rows are not deleted: their item may be about to be written. */
  readonly #graceMs: number;
  /** When all items were last indexed, as far as this process knows. */
  #completeAtMs = Number.NaN;

  constructor(open: () => Promise<EntityTable>, graceMs: number) {
    this.#open = open;
    this.#graceMs = graceMs;
  }

  /** Writes the rows of an item that is about to be put, except for those that are known to exist. */
  async add(item: IngestItem, partition: string, existing: readonly string[] = []): Promise<void> {
    const rows = rowsOf(item, partition).filter((row) => !existing.includes(nameOf(row)));
    if (rows.length > 0) await (await this.#open()).putAll(rows);
  }

  /**
   * Indexes all items once a day: those of an earlier version or of other programs have no rows. The index is complete only
   * after the first time, so every query calls this.
   */
  async ensureComplete(items: EntityTable): Promise<void> {
    if (isFresh(this.#completeAtMs)) return;
    const table = await this.#open();
    this.#completeAtMs = Date.parse(String((await table.get(COMPLETE))?.["at"]));
    if (isFresh(this.#completeAtMs)) return;
    const at = new Date();
    for await (const page of items.pages("", INDEXED_PROPERTIES)) {
      await table.putAll(page.flatMap((entity) => rowsOf(toItem(entity), entity.partitionKey)));
    }
    await table.putAll([{ ...COMPLETE, at: at.toISOString() }]);
    this.#completeAtMs = at.getTime();
  }

  /** Returns items that are due at that time, the longest waiting first. */
  due(at: string): AsyncGenerator<readonly IndexRow[], void> {
    return this.#rows(`PartitionKey eq '${DUE}' and RowKey lt ${quoted(`${encodeKey(at)}}`)}`);
  }

  async *withStatus(statuses: readonly IngestStatus[]): AsyncGenerator<readonly IndexRow[], void> {
    for (const status of new Set(statuses)) {
      yield* this.#rows(`PartitionKey eq '${STATUS}' and ${beginsWith("RowKey", `${status}|`)}`);
    }
  }

  ofHost(host: string): AsyncGenerator<readonly IndexRow[], void> {
    return this.#rows(`PartitionKey eq '${STATUS}' and ${beginsWith("RowKey", `${hostRow(host)}|`)}`);
  }

  /** Deletes the rows of a deleted item, except for its due row: if it was registered again meanwhile, that is still found. */
  async remove(id: ItemId, host: string): Promise<void> {
    const names = [...INGEST_STATUSES, hostRow(host)];
    const keys = names.map((name) => ({ partitionKey: STATUS, rowKey: `${name}|${encodeKey(id)}` }));
    await (await this.#open()).deleteAll(keys);
  }

  /** Deletes stale rows, unless they were written again meanwhile. */
  async removeStale(stale: readonly IndexRow[]): Promise<void> {
    const table = await this.#open();
    const isOld = ({ row }: IndexRow): boolean => Date.now() - Date.parse(String(row["timestamp"])) >= this.#graceMs;
    await forEachConcurrent(stale.filter(isOld), READS_AT_ONCE, async ({ row }) => {
      await table.delete(row, String(row["etag"]));
    });
  }

  /**
   * Call it before a new version of an item is put. Returns a function that deletes the due row of the version before: call it after the
   * put. A row that was written again meanwhile has another ETag and stays.
   */
  async prepareRemoval(item: IngestItem, dueBefore: string): Promise<(() => Promise<void>) | undefined> {
    if (dueBefore === "" || dueBefore === dueRowOf(item)) return undefined;
    const table = await this.#open();
    const row = await table.get({ partitionKey: DUE, rowKey: dueBefore });
    return row && (async () => void (await table.delete(row, String(row["etag"]))));
  }

  async *#rows(filter: string): AsyncGenerator<readonly IndexRow[], void> {
    for await (const page of (await this.#open()).pages(filter)) {
      yield page.map((row) => ({ row, id: String(row["id"]), partition: String(row["partition"]) }));
    }
  }
}

/** Returns the names of the rows that an item has. */
export function rowNamesOf(item: IngestItem): readonly string[] {
  return rowsOf(item, "").map(nameOf);
}

/** Returns the key of the row that says when an item is due; "" if it never is. */
export function dueRowOf(item: IngestItem): string {
  return rowsOf(item, "").find(({ partitionKey }) => partitionKey === DUE)?.rowKey ?? "";
}

/** Whether the row is up to date: the item still has what it says. */
export function isCurrent(item: IngestItem, { row }: IndexRow): boolean {
  return rowNamesOf(item).includes(nameOf(row));
}

export function nameOf({ partitionKey, rowKey }: Entity): string {
  return `${partitionKey}|${rowKey}`;
}

function rowsOf(item: IngestItem, partition: string): readonly Entity[] {
  const { id, status, sourceHost } = item;
  const { nextCrawlAt } = item.scheduling;
  const tail = `|${encodeKey(id)}`;
  const isDue = isScheduled(item) && nextCrawlAt !== "";
  return [
    ...[status, hostRow(sourceHost)].map((name) => ({ partitionKey: STATUS, rowKey: `${name}${tail}`, id, partition })),
    ...(isDue ? [{ partitionKey: DUE, rowKey: `${encodeKey(nextCrawlAt)}${tail}`, id, partition }] : []),
  ];
}

function hostRow(host: string): string {
  return `${AT_HOST}${encodeKey(storableText(host))}`;
}

function isFresh(atMs: number): boolean {
  const ageMs = Date.now() - atMs;
  return ageMs >= 0 && ageMs < DAY_MS;
}
