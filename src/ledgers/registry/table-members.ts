import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { Member, MemberKey, Members } from "../../contracts/registry.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { storableText } from "../../lib/sql/storable-text.ts";
import type { Entity, EntityKey, EntityTable } from "./entity-table.ts";
import { beginsWith, encodeKey, idKey, quoted } from "./table-keys.ts";

const REQUESTS_AT_ONCE = 8;

export interface MemberTables {
  /** Partition: domain and source. Row: the item. */
  readonly members: EntityTable;
  /** By the id of an item, which members it has or had: written before the member, deleted with the source or domain. */
  readonly keys: EntityTable;
}

export function createTableMembers(open: () => Promise<MemberTables>): Members {
  const takeOut = async (
    domain: DomainId,
    source: SourceId | undefined,
    instead: (members: readonly Member[]) => Promise<void>,
  ): Promise<void> => {
    const tables = await open();
    for await (const page of readMembers(tables, domain, source)) {
      await instead(page);
      await removeAll(tables, page);
    }
  };
  return {
    async of(item) {
      return membersOf(await open(), item);
    },
    async *in(domain, source) {
      yield* readMembers(await open(), domain, source);
    },
    async change(keys, change) {
      const tables = await open();
      const unique = new Map(keys.map((key) => [JSON.stringify(memberKey(key)), key]));
      await forEachConcurrent(unique.values(), REQUESTS_AT_ONCE, (key) => changeOne(tables, key, change));
    },
    forget: (domain, source) => takeOut(domain, source, async () => undefined),
    async rename(from, to) {
      if (from === to) return;
      const tables = await open();
      await takeOut(from, undefined, (page) =>
        putAll(
          tables,
          page.map((member) => ({ ...member, domainId: to })),
        ),
      );
    },
  };
}

/** The ids of domains and sources are letters, digits, underscores and hyphens. */
function memberKey({ domainId, sourceId, itemId }: MemberKey): EntityKey {
  return { partitionKey: `${domainId}|${sourceId}`, rowKey: encodeKey(itemId) };
}

function lookupKey({ domainId, sourceId, itemId }: MemberKey): EntityKey {
  return idKey(itemId, `|${domainId}|${sourceId}`);
}

/**
 * Reads it again for as long as somebody was faster: of several that write it at once, one is through each time. The row by
 * its id stays when it goes, so that nobody who adds it again meanwhile loses that.
 */
async function changeOne<Key extends MemberKey>(
  { members, keys }: MemberTables,
  key: Key,
  change: (known: Member | undefined, key: Key) => Member | undefined,
): Promise<void> {
  for (;;) {
    const found = await members.get(memberKey(key));
    const before = found && toMember(found);
    const after = change(before, key);
    if (after === before) return;
    const etag = String(found?.["etag"]);
    if (!after) {
      if ((await members.delete(memberKey(key), etag)) !== "changed") return;
      continue;
    }
    if (!found) await keys.putAll([toLookup(key)]);
    const entity = toEntity(after);
    if (await (found ? members.replace(entity, etag) : members.insert(entity))) return;
  }
}

async function putAll({ members, keys }: MemberTables, given: readonly Member[]): Promise<void> {
  await keys.putAll(given.map(toLookup));
  await members.putAll(given.map(toEntity));
}

async function removeAll({ members, keys }: MemberTables, given: readonly MemberKey[]): Promise<void> {
  await members.deleteAll(given.map(memberKey));
  await keys.deleteAll(given.map(lookupKey));
}

async function* readMembers(
  { members }: MemberTables,
  domain: DomainId,
  source: SourceId | undefined,
): AsyncGenerator<readonly Member[], void> {
  const filter =
    source === undefined
      ? beginsWith("PartitionKey", `${domain}|`)
      : `PartitionKey eq ${quoted(`${domain}|${source}`)}`;
  for await (const page of members.pages(filter)) yield page.map(toMember);
}

async function membersOf({ members, keys }: MemberTables, itemId: ItemId): Promise<readonly Member[]> {
  const { partitionKey, rowKey } = idKey(itemId);
  const found: Member[] = [];
  for await (const page of keys.pages(
    `PartitionKey eq ${quoted(partitionKey)} and ${beginsWith("RowKey", `${rowKey}|`)}`,
  )) {
    await forEachConcurrent(page, REQUESTS_AT_ONCE, async ({ domainId, sourceId }) => {
      const key = { domainId: domainId as DomainId, sourceId: sourceId as SourceId, itemId };
      const entity = await members.get(memberKey(key));
      if (entity) found.push(toMember(entity));
    });
  }
  return found;
}

function toLookup(key: MemberKey): Entity {
  return { ...lookupKey(key), domainId: key.domainId, sourceId: key.sourceId };
}

function toEntity(member: Member): Entity {
  return {
    ...memberKey(member),
    ...member,
    lastIndexedDocId: storableText(member.lastIndexedDocId),
    contentHash: storableText(member.contentHash),
  };
}

function toMember(entity: Entity): Member {
  const text = (name: keyof Member): string => String(entity[name] ?? "");
  const count = (name: keyof Member): number => Number(entity[name] ?? 0);
  return {
    domainId: text("domainId") as DomainId,
    sourceId: text("sourceId") as SourceId,
    itemId: text("itemId") as ItemId,
    lastIndexedDocId: text("lastIndexedDocId"),
    lastIndexed: text("lastIndexed"),
    contentHash: text("contentHash"),
    indexedGeneration: count("indexedGeneration"),
    unlinkedCount: count("unlinkedCount"),
  };
}
