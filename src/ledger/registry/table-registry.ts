import type { TableClient } from "@azure/data-tables";
import { BadInputError, ConflictError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import {
  INGEST_STATUSES,
  type IngestItem,
  type IngestStatus,
  type ItemPage,
  type ItemQuery,
  type ItemSort,
  type ItemVersion,
  type RegisteredItem,
  type Registry,
  type RegistrySummary,
} from "../../contracts/registry.ts";
import {
  AZURE_RETRIES,
  type AzureAccount,
  azureAnswer,
  explainAzure,
  identityFor,
  withConnectionString,
} from "../../lib/azure.ts";
import { BestOf } from "../../lib/best-of.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { openOnce } from "../../lib/once.ts";
import { storableText } from "../../lib/sql/sql.ts";
import { compareText } from "../../lib/text.ts";
import { type MemberTables, type OldTable, tableEarlierMembers } from "./earlier-members.ts";
import { createEntityTable, type Entity, type EntityTable, readMany } from "./entity-table.ts";
import { toEntity, toItem } from "./item-entity.ts";
import { dueRowOf, type IndexRow, ItemIndex, isCurrent, nameOf, rowNamesOf } from "./item-index.ts";
import { dayBefore, isScheduled, searchTextOf } from "./item-queries.ts";
import {
  type EntityKey,
  encodeKey,
  idKey,
  type PartitionStrategy,
  partitionOf,
  quoted,
  rowKeyOf,
} from "./table-keys.ts";

export interface RegistryTables extends MemberTables {
  readonly items: EntityTable;
  readonly index: EntityTable;
}

const REQUESTS_AT_ONCE = 16;
/** How many items are cached; others cost a request more. */
const MAX_REMEMBERED = 20_000;
/** Longer than any put takes. */
const GRACE_MS = 10 * 60_000;

/** Versions are ETags. The tables are opened by the first call. */
export function createTableRegistry(
  open: () => Promise<RegistryTables>,
  strategy: PartitionStrategy,
  graceMs = GRACE_MS,
): Registry {
  const partitions = new PartitionCache(open, strategy);
  const index = new ItemIndex(async () => (await open()).index, graceMs);
  const rows = new RowCache();
  const listing = async (): Promise<ListingParts> => {
    const { items } = await open();
    return { items, keysOf: (query) => keysOf(query, tools) };
  };
  const get = async (id: ItemId): Promise<RegisteredItem | undefined> => {
    const partitionKey = await partitions.find(id);
    if (partitionKey === undefined) return undefined;
    const entity = await (await open()).items.get({ partitionKey, rowKey: rowKeyOf(id) });
    return entity && rows.remember(toRegistered(entity), []);
  };
  const tools: RegistryContext = { open, partitions, index, rows };
  return {
    get,
    async getMany(ids) {
      const found: (RegisteredItem | undefined)[] = ids.map(() => undefined);
      await forEachConcurrent(ids.entries(), REQUESTS_AT_ONCE, async ([at, id]) => {
        found[at] = await get(id);
      });
      return found;
    },
    put: (item, expected) => putEntity(item, expected, tools),
    async keysOf(item) {
      return { partitionKey: await partitions.ofItem(item), rowKey: rowKeyOf(item.id) };
    },
    delete: (id, expected) => deleteEntity(id, expected, tools),
    async *due(at) {
      await index.ensureComplete((await open()).items);
      yield* readIndexed(
        index.due(at),
        tools,
        (item) => item.scheduling.nextCrawlAt <= at && item.lock.lockedUntil <= at && isScheduled(item),
      );
    },
    async *entries({ statuses, watched } = {}) {
      const { items } = await open();
      if (!statuses) return yield* readItems(items, filterOf(watched === undefined ? {} : { watched }));
      await index.ensureComplete(items);
      yield* readIndexed(
        index.withStatus(statuses),
        tools,
        (item) => statuses.includes(item.status) && (watched === undefined || item.watched === watched),
      );
    },
    list: async (query) => listEntities(await listing(), query),
    summary: async (at, ids) => summarizeEntities(await listing(), at, ids),
    earlierMembers: tableEarlierMembers(open),
    close: async () => undefined,
  };
}

interface RegistryContext {
  readonly open: () => Promise<RegistryTables>;
  readonly partitions: PartitionCache;
  readonly index: ItemIndex;
  readonly rows: RowCache;
}

async function putEntity(
  item: IngestItem,
  expected: ItemVersion | null,
  { open, partitions, index, rows }: RegistryContext,
): Promise<ItemVersion> {
  const partitionKey = await partitions.assign(item, expected);
  const entity = toEntity(item, { partitionKey, rowKey: rowKeyOf(item.id) });
  const { items } = await open();
  const before = rows.of(item.id, expected);
  const [removeDueRow] = await Promise.all([
    index.prepareRemoval(item, before?.due ?? ""),
    index.add(item, partitionKey, before?.existing),
  ]);
  const version = await (expected === null
    ? items.insert(entity)
    : isEtag(expected) && items.replace(entity, expected));
  if (!version) throw changedMeanwhile(item.id);
  rows.remember({ item, version }, rowNamesOf(item));
  // The item is put. If this fails, the first reader of the row deletes it.
  await removeDueRow?.().catch(() => undefined);
  return version;
}

async function deleteEntity(
  id: ItemId,
  expected: ItemVersion,
  { open, partitions, index }: RegistryContext,
): Promise<void> {
  const partitionKey = await partitions.find(id);
  if (partitionKey === undefined) return;
  const { items } = await open();
  const key = { partitionKey, rowKey: rowKeyOf(id) };
  const entity = await items.get(key);
  const isRefused = isEtag(expected) ? (await items.delete(key, expected)) === "changed" : entity;
  if (isRefused) throw changedMeanwhile(id);
  await index.remove(id, String(entity?.["sourceHost"] ?? ""));
}

/** Returns the keys of all items that may match; of some that do not, too. undefined: too many to remember, or no filter of the index. */
async function keysOf(
  { among: ids, host, statuses }: Narrowing,
  { open, partitions, index }: RegistryContext,
): Promise<readonly EntityKey[] | undefined> {
  const { items } = await open();
  if (ids) return ids.size > MAX_REMEMBERED ? undefined : await partitions.keysOf(ids);
  if (host === undefined && !statuses) return undefined;
  await index.ensureComplete(items);
  const keys = new Map<string, EntityKey>();
  for await (const page of host === undefined ? index.withStatus(statuses ?? []) : index.ofHost(host)) {
    for (const { id, partition } of page) keys.set(id, { partitionKey: partition, rowKey: rowKeyOf(id as ItemId) });
    if (keys.size > MAX_REMEMBERED) return undefined;
  }
  return [...keys.values()];
}

/** Reads the items of these rows, and yields the wanted ones, each once. Deletes stale rows. */
async function* readIndexed(
  indexRows: AsyncIterable<readonly IndexRow[]>,
  { open, index, rows }: RegistryContext,
  isWanted: (item: IngestItem) => boolean,
): AsyncGenerator<readonly RegisteredItem[], void> {
  const { items } = await open();
  const met = new Set<string>();
  for await (const page of indexRows) {
    const found: (RegisteredItem | undefined)[] = page.map(() => undefined);
    const stale: IndexRow[] = [];
    await forEachConcurrent(page.entries(), REQUESTS_AT_ONCE, async ([at, indexed]) => {
      const entity = await items.get({ partitionKey: indexed.partition, rowKey: rowKeyOf(indexed.id as ItemId) });
      const one = entity && toRegistered(entity);
      const isFound = one && isCurrent(one.item, indexed);
      if (one) rows.remember(one, isFound ? [nameOf(indexed.row)] : []);
      if (!isFound) stale.push(indexed);
      else if (isWanted(one.item) && !met.has(one.item.id)) found[at] = one;
    });
    await index.removeStale(stale);
    const wanted = found.filter((one) => one !== undefined);
    for (const { item } of wanted) met.add(item.id);
    if (wanted.length > 0) yield wanted;
  }
}

interface KnownRows {
  readonly version: ItemVersion;
  /** As dueRowOf() says. The row need not exist. */
  readonly due: string;
  /** Names of rows that exist for certain, because this process wrote or read them. */
  readonly existing: readonly string[];
}

/** Caches what is known of the index rows of an item, by the version of the item that this process saw last. */
class RowCache {
  readonly #known = new Map<ItemId, KnownRows>();

  remember(registered: RegisteredItem, existing: readonly string[]): RegisteredItem {
    const { item, version } = registered;
    const before = this.of(item.id, version)?.existing ?? [];
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
    this.#known.set(item.id, { version, due: dueRowOf(item), existing: [...new Set([...before, ...existing])] });
    return registered;
  }

  of(id: ItemId, version: ItemVersion | null): KnownRows | undefined {
    const known = this.#known.get(id);
    return known?.version === version ? known : undefined;
  }
}

/**
 * Finds the partition of an item by its id. It is stored before the item, and kept when the item is deleted: otherwise a delete and a new
 * registration at the same time could leave an item that nothing finds.
 */
class PartitionCache {
  readonly #open: () => Promise<RegistryTables>;
  readonly #strategy: PartitionStrategy;
  readonly #known = new Map<ItemId, string>();

  constructor(open: () => Promise<RegistryTables>, strategy: PartitionStrategy) {
    this.#open = open;
    this.#strategy = strategy;
  }

  async find(id: ItemId): Promise<string | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const partition = (await (await this.#open()).keys.get(idKey(id)))?.["partition"];
    return typeof partition === "string" ? this.#remember(id, partition) : undefined;
  }

  /** undefined: the partition of some of them is unknown. */
  async keysOf(ids: ReadonlySet<ItemId>): Promise<readonly EntityKey[] | undefined> {
    const partitions = new Map([...ids].map((id) => [encodeKey(id), { id, partition: this.#known.get(id) }]));
    const unknown = [...partitions.values()]
      .filter(({ partition }) => partition === undefined)
      .map(({ id }) => idKey(id));
    await readMany((await this.#open()).keys, unknown, ["partition"], ({ rowKey, partition }) => {
      const place = partitions.get(rowKey);
      if (place && typeof partition === "string") place.partition = this.#remember(place.id, partition);
    });
    const keys = [...partitions.values()].flatMap(({ id, partition }) =>
      partition === undefined ? [] : [{ partitionKey: partition, rowKey: rowKeyOf(id) }],
    );
    return keys.length === ids.size ? keys : undefined;
  }

  async ofItem(item: IngestItem): Promise<string> {
    return (await this.find(item.id)) ?? partitionOf(item, this.#strategy);
  }

  /** Returns the partition of an item that is about to be put. Known items stay where they are, also if the strategy has changed. */
  async assign(item: IngestItem, expected: ItemVersion | null): Promise<string> {
    const place = partitionOf(item, this.#strategy);
    if (expected !== null) return await this.ofItem(item);
    if (this.#known.has(item.id)) return this.#known.get(item.id) ?? place;
    const isNew = await (await this.#open()).keys.insert({ ...idKey(item.id), partition: place });
    return (isNew ? undefined : await this.find(item.id)) ?? this.#remember(item.id, place);
  }

  #remember(id: ItemId, place: string): string {
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
    this.#known.set(id, place);
    return place;
  }
}

/** `*` would overwrite whatever is there. */
function isEtag(version: ItemVersion): boolean {
  return version.startsWith('W/"');
}

function changedMeanwhile(id: ItemId): ConflictError {
  return new ConflictError(`'${id}' was changed by somebody else in the meantime. Read it again.`);
}

function toRegistered(entity: Entity): RegisteredItem {
  return { item: toItem(entity), version: String(entity["etag"]) };
}

async function* readItems(items: EntityTable, filter: string): AsyncGenerator<readonly RegisteredItem[], void> {
  for await (const page of items.pages(filter)) yield page.map(toRegistered);
}

interface TablePlace {
  readonly account: AzureAccount;
  readonly tableName: string;
  readonly partitions: PartitionStrategy;
  /** Entities read by one request; default and maximum: 1,000. */
  readonly entitiesAtOnce?: number;
}

/** A registry in Azure Table Storage. The first call creates missing tables. */
export function openTableRegistry(where: TablePlace): Registry {
  const opened = openOnce(async () => ({
    items: await openTable(where, ""),
    members: await openOldTable(where, "Members"),
    keys: await openTable(where, "Keys"),
    index: await openTable(where, "Index"),
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

/** A table of an earlier release; it may be missing. */
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

/** Asks first: the account may be allowed to use a table, and not to create one. */
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

/** Sorting page n keeps all pages before it in memory. */
const MAX_SORTED = 20_000;
const USUAL_SORT: ItemSort = "displaySource";

interface ListingParts {
  readonly items: EntityTable;
  /** See keysOf(). */
  keysOf(query: Narrowing): Promise<readonly EntityKey[] | undefined>;
}

type Narrowing = Pick<ItemQuery, "among" | "host" | "statuses">;

/** The service cannot sort: everything that matches is read and sorted here. */
async function listEntities(parts: ListingParts, query: ItemQuery): Promise<ItemPage> {
  const { offset, limit } = query;
  if (query.statuses?.length === 0) return { items: [], total: 0 };
  if (limit === undefined) return await listAll(parts, query);
  if (offset + limit > MAX_SORTED) {
    throw new BadInputError(
      `Parts of the list go up to the ${MAX_SORTED}th item. Filter them, sort the other way, or ask for all without a limit.`,
    );
  }
  return await listPart(parts, query, offset + limit);
}

async function listAll(parts: ListingParts, query: ItemQuery): Promise<ItemPage> {
  const ranked: (Ranked & { readonly item: IngestItem })[] = [];
  await eachMatching(parts, query, undefined, (entity) => {
    ranked.push({ ...rankOf(entity, query), item: toItem(entity) });
  });
  const items = ranked.sort(inOrderOf(query)).map(({ item }) => item);
  return { items: items.slice(query.offset), total: items.length };
}

/** Reads only what sorting needs of all that match, then the items of the page as a whole. */
async function listPart(parts: ListingParts, query: ItemQuery, end: number): Promise<ItemPage> {
  const { sort = USUAL_SORT, text, offset } = query;
  const best = new BestOf<Ranked & EntityKey>(end, inOrderOf(query));
  const texts = text ? ["displaySource", "normalizedSource", "title", "foundTitle"] : [];
  const select = [...new Set(["partitionKey", "rowKey", "id", "status", "sourceHost", sort, ...texts])];
  let total = 0;
  await eachMatching(parts, query, select, (entity) => {
    total += 1;
    const { partitionKey, rowKey } = entity;
    best.offer({ partitionKey, rowKey, ...rankOf(entity, query) });
  });
  const shown = best.take().slice(offset);
  const items: (IngestItem | undefined)[] = shown.map(() => undefined);
  await forEachConcurrent(shown.entries(), REQUESTS_AT_ONCE, async ([at, key]) => {
    const entity = await parts.items.get(key);
    items[at] = entity && toItem(entity);
  });
  return { items: items.filter((item) => item !== undefined), total };
}

async function eachMatching(
  parts: ListingParts,
  query: Omit<ItemQuery, "offset">,
  select: readonly string[] | undefined,
  take: (entity: Entity) => void,
): Promise<void> {
  const { host, among, statuses } = query;
  const text = storableText(query.text?.toLowerCase() ?? "");
  const takeFitting = (entity: Entity): void => {
    const item = toItem(entity);
    if (statuses && !statuses.includes(item.status)) return;
    if (host !== undefined && item.sourceHost !== storableText(host)) return;
    if (text === "" || searchTextOf(item).includes(text)) take(entity);
  };
  const keys = await parts.keysOf(query);
  if (keys) return await readMany(parts.items, keys, select, takeFitting);
  for await (const page of parts.items.pages(filterOf(query), select)) {
    for (const entity of page) if (!among || among.has(String(entity["id"]) as ItemId)) takeFitting(entity);
  }
}

interface Ranked {
  readonly id: string;
  readonly by: string;
}

function rankOf(entity: Entity, { sort = USUAL_SORT }: ItemQuery): Ranked {
  return { id: String(entity["id"]), by: String(entity[sort] ?? "") };
}

function inOrderOf({ descending = false }: ItemQuery): (a: Ranked, b: Ranked) => number {
  const direction = descending ? -1 : 1;
  return (a, b) => direction * compareText(a.by, b.by) || compareText(a.id, b.id);
}

function filterOf({
  statuses,
  host,
  watched,
}: {
  readonly statuses?: readonly IngestStatus[];
  readonly host?: string;
  readonly watched?: boolean;
}): string {
  const parts: string[] = [];
  if (statuses) parts.push(`(${statuses.map((status) => `status eq ${quoted(status)}`).join(" or ")})`);
  if (host !== undefined) parts.push(`sourceHost eq ${quoted(storableText(host))}`);
  if (watched !== undefined) parts.push(`watched eq ${watched}`);
  return parts.join(" and ");
}

const SUMMARY_PROPERTIES = [
  "id",
  "status",
  "watched",
  "reindexRequested",
  "reindexGeneration",
  "processedGeneration",
  "nextCrawlAt",
  "lockedUntil",
  "lastChecked",
  "lastChanged",
];

/** Reads a few properties of every item, or of those of the domain. */
async function summarizeEntities(
  parts: ListingParts,
  at: string,
  among: ReadonlySet<ItemId> | undefined,
): Promise<RegistrySummary> {
  const tally = new Tally(at);
  await eachMatching(parts, { among }, SUMMARY_PROPERTIES, (entity) => {
    tally.count(toItem(entity));
  });
  return tally.summary();
}

class Tally {
  readonly #at: string;
  readonly #dayBefore: string;
  readonly #byStatus = Object.fromEntries(INGEST_STATUSES.map((status) => [status, 0])) as Record<IngestStatus, number>;
  #due = 0;
  #oldestDue = "";
  #oldestChecked = "";
  #checked = 0;
  #changed = 0;
  #failed = 0;

  constructor(at: string) {
    this.#at = at;
    this.#dayBefore = dayBefore(at);
  }

  count(item: IngestItem): void {
    const { lastChecked, lastChanged, nextCrawlAt } = item.scheduling;
    this.#byStatus[item.status] += 1;
    this.#oldestChecked = older(this.#oldestChecked, lastChecked);
    const isDue =
      isScheduled(item) && nextCrawlAt !== "" && nextCrawlAt <= this.#at && item.lock.lockedUntil <= this.#at;
    if (isDue) {
      this.#due += 1;
      this.#oldestDue = older(this.#oldestDue, nextCrawlAt);
    }
    if (lastChecked < this.#dayBefore) return;
    this.#checked += 1;
    if (lastChanged >= this.#dayBefore) this.#changed += 1;
    if (item.status === "Error") this.#failed += 1;
  }

  summary(): RegistrySummary {
    return {
      total: Object.values(this.#byStatus).reduce((total, count) => total + count, 0),
      byStatus: this.#byStatus,
      due: this.#due,
      oldestDue: this.#oldestDue,
      oldestChecked: this.#oldestChecked,
      checkedLastDay: this.#checked,
      changedLastDay: this.#changed,
      failedLastDay: this.#failed,
    };
  }
}

function older(known: string, instant: string): string {
  return instant !== "" && (known === "" || instant < known) ? instant : known;
}
