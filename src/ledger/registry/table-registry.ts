import { ConflictError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem, ItemVersion, RegisteredItem, Registry } from "../../contracts/registry.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { type MemberTables, tableEarlierMembers } from "./earlier-members.ts";
import { type Entity, type EntityKey, type EntityTable, readMany } from "./entity-table.ts";
import { toEntity, toItem } from "./item-entity.ts";
import { isLookedAfter } from "./item-wishes.ts";
import { encodeKey, idKey, type PartitionStrategy, partitionOf, rowKeyOf } from "./table-keys.ts";
import { filterOf, type ListingParts, listEntities, type Narrowing, summarizeEntities } from "./table-listing.ts";
import { dueRowOf, isLedTo, type Lead, nameOf, rowNamesOf, WaitingIndex } from "./waiting-index.ts";

export interface RegistryTables extends MemberTables {
  readonly items: EntityTable;
  readonly waiting: EntityTable;
}

const REQUESTS_AT_ONCE = 16;
/** Ids whose partition is remembered. It never changes, so the others cost a request more. */
const MAX_REMEMBERED = 20_000;
/** No put takes so long. */
const GRACE_MS = 10 * 60_000;

/** Versions are ETags. The tables are opened by the first call. */
export function createTableRegistry(
  open: () => Promise<RegistryTables>,
  strategy: PartitionStrategy,
  graceMs = GRACE_MS,
): Registry {
  const places = new Places(open, strategy);
  const waiting = new WaitingIndex(async () => (await open()).waiting, graceMs);
  const rows = new RememberedRows();
  const listing = async (): Promise<ListingParts> => {
    const { items } = await open();
    return { items, among: (query) => among(query, tools) };
  };
  const get = async (id: ItemId): Promise<RegisteredItem | undefined> => {
    const partitionKey = await places.find(id);
    if (partitionKey === undefined) return undefined;
    const entity = await (await open()).items.get({ partitionKey, rowKey: rowKeyOf(id) });
    return entity && rows.remember(toRegistered(entity), []);
  };
  const tools: RegistryTools = { open, places, waiting, rows };
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
      return { partitionKey: await places.ofItem(item), rowKey: rowKeyOf(item.id) };
    },
    delete: (id, expected) => deleteEntity(id, expected, tools),
    async *due(at) {
      await waiting.ensureWhole((await open()).items);
      yield* follow(
        waiting.due(at),
        tools,
        (item) => item.scheduling.nextCrawlAt <= at && item.lock.lockedUntil <= at && isLookedAfter(item),
      );
    },
    async *entries({ statuses, watched } = {}) {
      const { items } = await open();
      if (!statuses) return yield* readItems(items, filterOf(watched === undefined ? {} : { watched }));
      await waiting.ensureWhole(items);
      yield* follow(
        waiting.withStatus(statuses),
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

interface RegistryTools {
  readonly open: () => Promise<RegistryTables>;
  readonly places: Places;
  readonly waiting: WaitingIndex;
  readonly rows: RememberedRows;
}

async function putEntity(
  item: IngestItem,
  expected: ItemVersion | null,
  { open, places, waiting, rows }: RegistryTools,
): Promise<ItemVersion> {
  const partitionKey = await places.take(item, expected);
  const entity = toEntity(item, { partitionKey, rowKey: rowKeyOf(item.id) });
  const { items } = await open();
  const before = rows.of(item.id, expected);
  const [putOff] = await Promise.all([
    waiting.putOff(item, before?.due ?? ""),
    waiting.expect(item, partitionKey, before?.there),
  ]);
  const version = await (expected === null
    ? items.insert(entity)
    : isEtag(expected) && items.replace(entity, expected));
  if (!version) throw changedMeanwhile(item.id);
  rows.remember({ item, version }, rowNamesOf(item));
  // The item is put. A row that stays goes with the first who follows it.
  await putOff?.().catch(() => undefined);
  return version;
}

async function deleteEntity(
  id: ItemId,
  expected: ItemVersion,
  { open, places, waiting }: RegistryTools,
): Promise<void> {
  const partitionKey = await places.find(id);
  if (partitionKey === undefined) return;
  const { items } = await open();
  const key = { partitionKey, rowKey: rowKeyOf(id) };
  const entity = await items.get(key);
  const isRefused = isEtag(expected) ? (await items.delete(key, expected)) === "changed" : entity;
  if (isRefused) throw changedMeanwhile(id);
  await waiting.forget(id, String(entity?.["sourceHost"] ?? ""));
}

/** Those that were named, or rows of the index: there may be more than there are items that fit, never fewer. */
async function among(
  { among: ids, host, statuses }: Narrowing,
  { open, places, waiting }: RegistryTools,
): Promise<readonly EntityKey[] | undefined> {
  const { items } = await open();
  if (ids) return ids.size > MAX_REMEMBERED ? undefined : await places.keysOf(ids);
  if (host === undefined && !statuses) return undefined;
  await waiting.ensureWhole(items);
  const keys = new Map<string, EntityKey>();
  for await (const page of host === undefined ? waiting.withStatus(statuses ?? []) : waiting.ofHost(host)) {
    for (const { id, partition } of page) keys.set(id, { partitionKey: partition, rowKey: rowKeyOf(id as ItemId) });
    if (keys.size > MAX_REMEMBERED) return undefined;
  }
  return [...keys.values()];
}

/** Those that rows lead to and that are wanted, as they are now. */
async function* follow(
  leads: AsyncIterable<readonly Lead[]>,
  { open, waiting, rows }: RegistryTools,
  isWanted: (item: IngestItem) => boolean,
): AsyncGenerator<readonly RegisteredItem[], void> {
  const { items } = await open();
  const met = new Set<string>();
  for await (const page of leads) {
    const found: (RegisteredItem | undefined)[] = page.map(() => undefined);
    const stale: Lead[] = [];
    await forEachConcurrent(page.entries(), REQUESTS_AT_ONCE, async ([at, lead]) => {
      const entity = await items.get({ partitionKey: lead.partition, rowKey: rowKeyOf(lead.id as ItemId) });
      const one = entity && toRegistered(entity);
      const isThere = one && isLedTo(one.item, lead);
      if (one) rows.remember(one, isThere ? [nameOf(lead.row)] : []);
      if (!isThere) stale.push(lead);
      else if (isWanted(one.item) && !met.has(one.item.id)) found[at] = one;
    });
    await waiting.drop(stale);
    const wanted = found.filter((one) => one !== undefined);
    for (const { item } of wanted) met.add(item.id);
    if (wanted.length > 0) yield wanted;
  }
}

interface KnownRows {
  readonly version: ItemVersion;
  /** As dueRowOf() says. It need not be there. */
  readonly due: string;
  /** The names of those that are there for certain, because they were written or followed here. */
  readonly there: readonly string[];
}

/** What is known of the rows of an item, as long as it is the version that was last seen here. */
class RememberedRows {
  readonly #known = new Map<ItemId, KnownRows>();

  remember(registered: RegisteredItem, there: readonly string[]): RegisteredItem {
    const { item, version } = registered;
    const before = this.of(item.id, version)?.there ?? [];
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
    this.#known.set(item.id, { version, due: dueRowOf(item), there: [...new Set([...before, ...there])] });
    return registered;
  }

  of(id: ItemId, version: ItemVersion | null): KnownRows | undefined {
    const known = this.#known.get(id);
    return known?.version === version ? known : undefined;
  }
}

/**
 * In which partition an item is, by its id alone. That is written down before the item, and stays when it is deleted: nobody
 * who registers it again can be put out by somebody who tidies up.
 */
class Places {
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
    const place = (await (await this.#open()).keys.get(idKey(id)))?.["partition"];
    return typeof place === "string" ? this.#remember(id, place) : undefined;
  }

  /** undefined: of some of them nobody wrote down where they are. */
  async keysOf(ids: ReadonlySet<ItemId>): Promise<readonly EntityKey[] | undefined> {
    const places = new Map([...ids].map((id) => [encodeKey(id), { id, partition: this.#known.get(id) }]));
    const unknown = [...places.values()].filter(({ partition }) => partition === undefined).map(({ id }) => idKey(id));
    await readMany((await this.#open()).keys, unknown, ["partition"], ({ rowKey, partition }) => {
      const place = places.get(rowKey);
      if (place && typeof partition === "string") place.partition = this.#remember(place.id, partition);
    });
    const keys = [...places.values()].flatMap(({ id, partition }) =>
      partition === undefined ? [] : [{ partitionKey: partition, rowKey: rowKeyOf(id) }],
    );
    return keys.length === ids.size ? keys : undefined;
  }

  async ofItem(item: IngestItem): Promise<string> {
    return (await this.find(item.id)) ?? partitionOf(item, this.#strategy);
  }

  /** An item stays where it is, also when new ones are put elsewhere. */
  async take(item: IngestItem, expected: ItemVersion | null): Promise<string> {
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
