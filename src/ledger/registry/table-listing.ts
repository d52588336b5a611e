import { BadInputError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import {
  INGEST_STATUSES,
  type IngestItem,
  type IngestStatus,
  type ItemPage,
  type ItemQuery,
  type ItemSort,
  type RegistrySummary,
} from "../../contracts/registry.ts";
import { BestOf } from "../../lib/best-of.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { storableText } from "../../lib/sql/sql.ts";
import { compareText } from "../../lib/text.ts";
import { type Entity, type EntityKey, type EntityTable, readMany } from "./entity-table.ts";
import { toItem } from "./item-entity.ts";
import { dayBefore, isLookedAfter, searchTextOf } from "./item-wishes.ts";
import { quoted } from "./table-keys.ts";

/** To put later rows in order, all before them have to be remembered. */
const MAX_SORTED = 20_000;
const REQUESTS_AT_ONCE = 16;
const USUAL_SORT: ItemSort = "displaySource";

export interface ListingParts {
  readonly items: EntityTable;
  /** Where all items are that may fit, and perhaps others; undefined: too many to remember, or anywhere. */
  among(query: Narrowing): Promise<readonly EntityKey[] | undefined>;
}

export type Narrowing = Pick<ItemQuery, "among" | "host" | "statuses">;

/** The service cannot sort, so whatever matches is read, and put in order here. */
export async function listEntities(parts: ListingParts, query: ItemQuery): Promise<ItemPage> {
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

/** Only what is sorted by is read of all that match; those that are shown are read whole. */
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
  const keys = await parts.among(query);
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

export function filterOf({
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
export async function summarizeEntities(
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
      isLookedAfter(item) && nextCrawlAt !== "" && nextCrawlAt <= this.#at && item.lock.lockedUntil <= this.#at;
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
