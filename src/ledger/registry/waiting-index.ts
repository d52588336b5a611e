import type { ItemId } from "../../contracts/ids.ts";
import { INGEST_STATUSES, type IngestItem, type IngestStatus } from "../../contracts/registry.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { storableText } from "../../lib/sql/sql.ts";
import type { Entity, EntityTable } from "./entity-table.ts";
import { toItem } from "./item-entity.ts";
import { isScheduled } from "./item-queries.ts";
import { beginsWith, encodeKey, quoted } from "./table-keys.ts";

const READS_AT_ONCE = 16;
/** One partition for each kind of question: its rows are in the order that the question asks for. */
const DUE = "due";
const STATUS = "status";
/** What begins the rows by host, which are in the partition of the statuses: one transaction writes both. */
const AT_HOST = "@";

/** Earlier versions wrote "all", and had no rows by host. */
const WHOLE = { partitionKey: "whole", rowKey: "hosts" };
const DAY_MS = 86_400_000;
const WAITING_PROPERTIES = [
  ...["partitionKey", "rowKey", "id", "status", "sourceHost", "nextCrawlAt"],
  ...["watched", "reindexRequested", "reindexGeneration", "processedGeneration"],
];

/** An item that a row leads to. */
export interface Lead {
  readonly row: Entity;
  readonly id: string;
  readonly partition: string;
}

/**
 * By when an item is due, by its status and by its host, in a table of their own, so that nobody has to look through all items for a few.
 * A row is there before the item says what it says, and stays when the item says something else: whoever follows it looks at
 * the item, and takes away what leads nowhere. So an interrupted write costs a row too many, never one too few.
 */
export class WaitingIndex {
  readonly #open: () => Promise<EntityTable>;
  /** A row may be of an item that is just being put: so young, it stays. */
  readonly #graceMs: number;
  /** When somebody last looked at all items, as far as we know. */
  #wholeAtMs = Number.NaN;

  constructor(open: () => Promise<EntityTable>, graceMs: number) {
    this.#open = open;
    this.#graceMs = graceMs;
  }

  /** Before the item is put. `there`: the names of rows that are known to be. */
  async expect(item: IngestItem, partition: string, there: readonly string[] = []): Promise<void> {
    const rows = rowsOf(item, partition).filter((row) => !there.includes(nameOf(row)));
    if (rows.length > 0) await (await this.#open()).putAll(rows);
  }

  /**
   * Once a day somebody looks at all items: those that were put by an earlier version, or by other programs, have no rows.
   * Until that was done for the first time, nothing can be answered.
   */
  async ensureWhole(items: EntityTable): Promise<void> {
    if (isOfToday(this.#wholeAtMs)) return;
    const table = await this.#open();
    this.#wholeAtMs = Date.parse(String((await table.get(WHOLE))?.["at"]));
    if (isOfToday(this.#wholeAtMs)) return;
    const at = new Date();
    for await (const page of items.pages("", WAITING_PROPERTIES)) {
      await table.putAll(page.flatMap((entity) => rowsOf(toItem(entity), entity.partitionKey)));
    }
    await table.putAll([{ ...WHOLE, at: at.toISOString() }]);
    this.#wholeAtMs = at.getTime();
  }

  /** Those that were due at that time, longest first. */
  due(at: string): AsyncGenerator<readonly Lead[], void> {
    return this.#leads(`PartitionKey eq '${DUE}' and RowKey lt ${quoted(`${encodeKey(at)}}`)}`);
  }

  async *withStatus(statuses: readonly IngestStatus[]): AsyncGenerator<readonly Lead[], void> {
    for (const status of new Set(statuses)) {
      yield* this.#leads(`PartitionKey eq '${STATUS}' and ${beginsWith("RowKey", `${status}|`)}`);
    }
  }

  ofHost(host: string): AsyncGenerator<readonly Lead[], void> {
    return this.#leads(`PartitionKey eq '${STATUS}' and ${beginsWith("RowKey", `${hostRow(host)}|`)}`);
  }

  /** Of an item that was deleted. Whoever registers it again meanwhile is looked at when it is due all the same. */
  async forget(id: ItemId, host: string): Promise<void> {
    const names = [...INGEST_STATUSES, hostRow(host)];
    const keys = names.map((name) => ({ partitionKey: STATUS, rowKey: `${name}|${encodeKey(id)}` }));
    await (await this.#open()).deleteAll(keys);
  }

  /** What leads nowhere goes, unless somebody has written it again meanwhile. */
  async drop(leads: readonly Lead[]): Promise<void> {
    const table = await this.#open();
    const isOld = ({ row }: Lead): boolean => Date.now() - Date.parse(String(row["timestamp"])) >= this.#graceMs;
    await forEachConcurrent(leads.filter(isOld), READS_AT_ONCE, async ({ row }) => {
      await table.delete(row, String(row["etag"]));
    });
  }

  /**
   * To be asked before the item is put in the place of an earlier version, and done after it: takes away the row by which that
   * was due. Somebody who makes it due at that time again writes the row again, and then it stays.
   */
  async putOff(item: IngestItem, dueBefore: string): Promise<(() => Promise<void>) | undefined> {
    if (dueBefore === "" || dueBefore === dueRowOf(item)) return undefined;
    const table = await this.#open();
    const row = await table.get({ partitionKey: DUE, rowKey: dueBefore });
    return row && (async () => void (await table.delete(row, String(row["etag"]))));
  }

  async *#leads(filter: string): AsyncGenerator<readonly Lead[], void> {
    for await (const page of (await this.#open()).pages(filter)) {
      yield page.map((row) => ({ row, id: String(row["id"]), partition: String(row["partition"]) }));
    }
  }
}

/** Of the rows that an item has. */
export function rowNamesOf(item: IngestItem): readonly string[] {
  return rowsOf(item, "").map(nameOf);
}

/** The key of the row that tells when an item is due; "" when it never is. */
export function dueRowOf(item: IngestItem): string {
  return rowsOf(item, "").find(({ partitionKey }) => partitionKey === DUE)?.rowKey ?? "";
}

/** Does the item say what the row says? */
export function isLedTo(item: IngestItem, { row }: Lead): boolean {
  return rowNamesOf(item).includes(nameOf(row));
}

export function nameOf({ partitionKey, rowKey }: Entity): string {
  return `${partitionKey}|${rowKey}`;
}

function rowsOf(item: IngestItem, partition: string): readonly Entity[] {
  const { id, status, sourceHost } = item;
  const { nextCrawlAt } = item.scheduling;
  const tail = `|${encodeKey(id)}`;
  const isDueOnce = isScheduled(item) && nextCrawlAt !== "";
  return [
    ...[status, hostRow(sourceHost)].map((name) => ({ partitionKey: STATUS, rowKey: `${name}${tail}`, id, partition })),
    ...(isDueOnce ? [{ partitionKey: DUE, rowKey: `${encodeKey(nextCrawlAt)}${tail}`, id, partition }] : []),
  ];
}

function hostRow(host: string): string {
  return `${AT_HOST}${encodeKey(storableText(host))}`;
}

function isOfToday(atMs: number): boolean {
  const ageMs = Date.now() - atMs;
  return ageMs >= 0 && ageMs < DAY_MS;
}
