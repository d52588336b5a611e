import { EMPTY_ITEM } from "../../contracts/empty-item.ts";
import type { ItemId } from "../../contracts/ids.ts";
import { DAMAGED_RECORD, type IngestItem, type RegisteredItem } from "../../contracts/registry.ts";
import { type SqlValue, storableText } from "../../lib/sql/sql.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { isLookedAfter, searchTextOf } from "./item-wishes.ts";

export interface ItemRow {
  readonly id: ItemId;
  readonly version: number;
  readonly watched: number;
  readonly host: string;
  readonly first_seen: string;
  readonly display_source: string;
  readonly item: string;
}

export const ITEM_COLUMNS = "id, version, watched, host, first_seen, display_source, item";

/** The columns beside `id` and `version`. JSON keeps what text columns cannot, so `item` is given back as it was. */
const COLUMNS: Readonly<Record<string, (item: IngestItem) => SqlValue>> = {
  status: ({ status }) => status,
  watched: ({ watched }) => (watched ? 1 : 0),
  host: ({ sourceHost }) => hostKey(sourceHost),
  due_at: dueAt,
  locked_until: ({ lock }) => lock.lockedUntil,
  next_crawl_at: ({ scheduling }) => scheduling.nextCrawlAt,
  last_checked: ({ scheduling }) => scheduling.lastChecked,
  last_changed: ({ scheduling }) => scheduling.lastChanged,
  first_seen: ({ scheduling }) => scheduling.firstSeen,
  display_source: ({ displaySource }) => storableText(displaySource),
  search_text: (item) => storableText(searchTextOf(item)),
  item: (item) => JSON.stringify(item),
};

const NAMES = Object.keys(COLUMNS);
const READERS = Object.values(COLUMNS);

export const INSERT_ITEM = `INSERT INTO items (id, version, ${NAMES.join(", ")})
  VALUES ($1, $2, ${NAMES.map((_, at) => `$${at + 3}`).join(", ")}) ON CONFLICT (id) DO NOTHING`;
export const UPDATE_ITEM = `UPDATE items SET version = version + 1, ${NAMES.map((name, at) => `${name} = $${at + 3}`).join(", ")}
  WHERE id = $1 AND version = $2`;

export function columnsOf(item: IngestItem): readonly SqlValue[] {
  return READERS.map((read) => read(item));
}

export function toRegistered(row: ItemRow): RegisteredItem {
  return { item: toItem(row), version: String(row.version) };
}

/** One record that is damaged does not stand in the way of the others: what its columns say is left of it. */
export function toItem(row: ItemRow): IngestItem {
  return parseItem(row) ?? salvageItem(row);
}

function parseItem({ id, item }: ItemRow): IngestItem | undefined {
  try {
    const read = JSON.parse(item) as IngestItem | null;
    return read?.id === id && GROUPS.every((name) => typeof read[name] === "object") ? read : undefined;
  } catch {
    return undefined;
  }
}

const GROUPS = ["http", "file", "content", "linkage", "scheduling", "lock", "history"] as const;

/** Due, and without anything to compare with: the next look makes the record anew. */
function salvageItem({ id, watched, host, first_seen: firstSeen, display_source: address }: ItemRow): IngestItem {
  const detail = "What was known of it was lost: its record was damaged.";
  return {
    ...EMPTY_ITEM,
    id,
    normalizedSource: address,
    displaySource: address,
    foundSource: address,
    sourceHost: host,
    status: "Error",
    watched: watched === 1,
    scheduling: { ...EMPTY_ITEM.scheduling, firstSeen, errorMessage: DAMAGED_RECORD },
    history: [{ at: toUtcMicros(new Date()), event: "damaged", detail }],
  };
}

/** No host that answers has a longer name, and PostgreSQL refuses to index texts of any length. */
export function hostKey(host: string): string {
  return storableText(host).slice(0, 255);
}

function dueAt(item: IngestItem): string | null {
  return isLookedAfter(item) && item.scheduling.nextCrawlAt !== "" ? item.scheduling.nextCrawlAt : null;
}
