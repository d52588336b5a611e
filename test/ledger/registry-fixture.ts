import { TableClient } from "@azure/data-tables";
import { EMPTY_ITEM } from "../../src/contracts/empty-item.ts";
import type { DomainId, ItemId, SourceId } from "../../src/contracts/ids.ts";
import type { Member, Members } from "../../src/contracts/members.ts";
import type { IngestItem, RegisteredItem, Registry } from "../../src/contracts/registry.ts";
import { createEntityTable } from "../../src/ledger/registry/entity-table.ts";
import { toEntity } from "../../src/ledger/registry/item-entity.ts";
import { idKey, partitionOf, rowKeyOf } from "../../src/ledger/registry/table-keys.ts";
import { toUtcMicros } from "../../src/lib/time.ts";

export const at = (day: number, hour = 0): string => toUtcMicros(new Date(Date.UTC(2026, 0, day, hour)));
export const itemId = (name: string): ItemId => `url_${name.padStart(26, "7")}` as ItemId;
export const DEMO = "DEMO" as DomainId;
export const SITE = "site" as SourceId;

type Grouped = "http" | "file" | "content" | "linkage" | "scheduling" | "lock";
type Changes = Partial<Omit<IngestItem, Grouped>> & { readonly [Name in Grouped]?: Partial<IngestItem[Name]> };

/** A page of example.com that is watched and due since 1 January. */
export function page(name: string, changes: Changes = {}): IngestItem {
  const url = `https://example.com/${name}`;
  return {
    ...EMPTY_ITEM,
    id: itemId(name),
    normalizedSource: url,
    displaySource: url,
    foundSource: url,
    sourceHost: "example.com",
    contentGroupId: "group",
    watched: true,
    ...changes,
    http: { ...EMPTY_ITEM.http, ...changes.http },
    file: { ...EMPTY_ITEM.file, ...changes.file },
    content: { ...EMPTY_ITEM.content, ...changes.content },
    linkage: { ...EMPTY_ITEM.linkage, ...changes.linkage },
    scheduling: {
      ...EMPTY_ITEM.scheduling,
      firstSeen: at(1),
      nextCrawlAt: at(1),
      crawlIntervalSeconds: 86_400,
      ...changes.scheduling,
    },
    lock: { ...EMPTY_ITEM.lock, ...changes.lock },
  };
}

export function member(item: string, changes: Partial<Member> = {}): Member {
  return {
    domainId: DEMO,
    sourceId: SITE,
    itemId: itemId(item),
    wanted: "led",
    unlinkedCount: 0,
    lastIndexedDocId: "",
    lastIndexed: "",
    contentHash: "",
    indexedGeneration: 0,
    ...changes,
  };
}

export async function putAll(registry: Registry, items: readonly IngestItem[]): Promise<void> {
  const left = [...items];
  const work = async (): Promise<void> => {
    for (let item = left.pop(); item; item = left.pop()) await registry.put(item, null);
  };
  await Promise.all(Array.from({ length: 16 }, work));
}

/** As if a registry had put them, in as few requests as can be; the index is made by its first look. Its tables exist. */
export async function plant(connectionString: string, tableName: string, items: readonly IngestItem[]): Promise<void> {
  const client = (suffix: string): TableClient =>
    TableClient.fromConnectionString(connectionString, `${tableName}${suffix}`, { allowInsecureConnection: true });
  const keyed = items.map((item) => ({ item, partition: partitionOf(item, "host") }));
  await createEntityTable(client("Keys")).putAll(
    keyed.map(({ item, partition }) => ({ ...idKey(item.id), partition })),
  );
  await createEntityTable(client("")).putAll(
    keyed.map(({ item, partition }) => toEntity(item, { partitionKey: partition, rowKey: rowKeyOf(item.id) })),
  );
}

/** Adds or replaces. */
export async function putMembers(members: Members, all: readonly Member[]): Promise<void> {
  await members.change(all, (_, member) => member);
}

export async function gather<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) all.push(...page);
  return all;
}

/** The names given to page(). */
export function namesOf(items: readonly (IngestItem | RegisteredItem)[]): string[] {
  return items.map((one) => ("item" in one ? one.item : one).id.replace(/^url_7*/, ""));
}
