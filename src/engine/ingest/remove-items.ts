import { BadInputError, ConflictError, explain, NotFoundError, RemoteError } from "../../contracts/errors.ts";
import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { Member, MemberKey } from "../../contracts/members.ts";
import type { RegisteredItem } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";
import type { OpenIngestParts } from "./create-ingest.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";
import { changeItem, type ItemRepository, syncMembers } from "./item-records.ts";
import { rekeyItem } from "./rekey-item.ts";

/**
 * Deletes items that are in no domain, with their documents and images; stops watching those that are not registered.
 * `keepLeft` keeps records of pages that left (Gone, OutOfScope): they may come back.
 */
export async function dropItems(
  ids: Iterable<ItemId>,
  repository: ItemRepository,
  { keepLeft, warn }: { readonly keepLeft: boolean; readonly warn: Warn },
): Promise<void> {
  const { registry } = repository;
  for (const id of ids) {
    let members: readonly Member[] = [];
    const found = await changeItem(registry, id, async (item) => {
      members = await repository.members.of(id);
      const isRegistered = members.some(({ sourceId }) => sourceId === REGISTERED_SOURCE);
      return item.watched && !isRegistered ? { ...item, watched: false } : item;
    });
    const hasLeft = found?.item.status === "Gone" || found?.item.status === "OutOfScope";
    if (found && members.length === 0 && !(keepLeft && hasLeft)) await deleteItem(id, found.version, repository, warn);
  }
}

/** Called with what could not be deleted of a deleted item. */
export type Warn = (sentence: string) => void;

/** Deletes the record first: one that changed meanwhile stays, with all it has. Returns false if it stays. */
export async function deleteItem(
  id: ItemId,
  version: string,
  { registry, documents, images }: ItemRepository,
  warn: Warn,
): Promise<boolean> {
  try {
    await registry.delete(id, version);
  } catch (error) {
    if (error instanceof ConflictError) return false;
    throw error;
  }
  for (const [name, store] of Object.entries({ documents, images })) {
    await store.delete(id).catch((error: unknown) => {
      warn(`Address '${id}' was removed, but some of its ${name} could not be deleted: ${explain(error)}`);
    });
  }
  return true;
}

/** Deletes the members of these sources, and items that are in no domain then. */
export async function forgetMembers(
  domainId: DomainId,
  sources: Iterable<SourceId>,
  repository: ItemRepository,
  warn: Warn,
): Promise<void> {
  const ids = new Set<ItemId>();
  for (const source of sources) {
    for await (const page of repository.members.in(domainId, source)) for (const { itemId } of page) ids.add(itemId);
    await repository.members.forget(domainId, source);
  }
  await dropItems(ids, repository, { keepLeft: false, warn });
}

/**
 * Removes an address from a domain, with the aliases that lead to it and the pages that only it leads to. Indexed ones
 * are removed by the next crawl of the source; until then their members stay, with `wanted: "no"`.
 */
export async function removeItem(
  id: ItemId,
  domainId: DomainId,
  parts: OpenIngestParts,
  { dryRun }: { readonly dryRun: boolean },
): Promise<void> {
  const found = await parts.registry.get(id);
  const [member] = (await parts.members.of(id)).filter((one) => one.domainId === domainId).sort(registeredFirst);
  if (!found || !member) throw new NotFoundError(`Item '${id}' is not in domain '${domainId}'.`);
  if (member.sourceId !== REGISTERED_SOURCE) {
    throw new BadInputError(
      `'${found.item.displaySource}' is a page of the web site '${member.sourceId}'. Exclude its address there.`,
    );
  }
  if (dryRun) return;
  const leaving = await findLeaving(id, domainId, parts);
  for (const itemId of leaving) await markRemoved({ domainId, sourceId: REGISTERED_SOURCE, itemId }, parts);
  const failures: string[] = [];
  await dropItems(leaving, parts, { keepLeft: false, warn: (sentence) => failures.push(sentence) });
  if (failures.length > 0) throw new RemoteError(failures.join(" "));
}

function registeredFirst(a: Member, b: Member): number {
  return Number(b.sourceId === REGISTERED_SOURCE) - Number(a.sourceId === REGISTERED_SOURCE);
}

/** Returns the item, its aliases (one of them would bring it back) and the pages that only it leads to. */
async function findLeaving(
  id: ItemId,
  domainId: DomainId,
  { registry, members }: OpenIngestParts,
): Promise<readonly ItemId[]> {
  const leadsTo = new Map<ItemId, ItemId>();
  const followers = new Set<ItemId>();
  const follow = async (ids: readonly ItemId[]): Promise<void> => {
    for (const record of await registry.getMany(ids)) {
      if (record?.item.aliasOf) leadsTo.set(record.item.id, record.item.aliasOf);
    }
  };
  for await (const page of members.in(domainId, REGISTERED_SOURCE)) {
    await follow(page.map(({ itemId }) => itemId));
    for (const { itemId, wanted } of page) if (wanted !== "asked") followers.add(itemId);
  }
  const addresses = [...leadsTo.keys()];
  // Some aliases lead on to items that are no members.
  for (let met = 0; met < leadsTo.size; ) {
    met = leadsTo.size;
    await follow([...new Set(leadsTo.values())].filter((one) => !leadsTo.has(one) && !followers.has(one)));
  }
  const leaving = new Set([id, ...addresses.filter((one) => chainFrom(one, leadsTo).has(id))]);
  const staying = addresses.filter((one) => !leaving.has(one) && !followers.has(one));
  const needed = new Set(staying.flatMap((one) => [...chainFrom(one, leadsTo)]));
  for (const one of chainFrom(id, leadsTo)) if (followers.has(one) && !needed.has(one)) leaving.add(one);
  return [...leaving];
}

function chainFrom(id: ItemId, leadsTo: ReadonlyMap<ItemId, ItemId>): ReadonlySet<ItemId> {
  const chain = new Set([id]);
  for (let next = leadsTo.get(id); next && !chain.has(next); next = leadsTo.get(next)) chain.add(next);
  return chain;
}

/**
 * Deletes the member if nothing was ever fetched; otherwise the index may have it, even if the member does not say so.
 */
async function markRemoved(member: MemberKey, parts: OpenIngestParts): Promise<void> {
  const wasRead = (await parts.registry.get(member.itemId))?.item.content.contentHash !== "";
  await parts.members.change([member], (known) =>
    known && (wasRead || known.lastIndexedDocId !== "") ? { ...known, wanted: "no" } : undefined,
  );
  await syncMembers(member.itemId, member.itemId, parts);
}

const DAY_MS = 24 * 3600_000;

/**
 * Deletes items that have been gone long enough, from all domains. Not while an index has them: that removal needs a
 * crawl.
 */
export async function purgeGone(parts: OpenIngestParts, signal: AbortSignal, warn: Warn): Promise<number> {
  const { registry, members: all } = parts;
  let purged = 0;
  for await (const page of registry.entries({ statuses: ["Gone"] })) {
    for (const found of page) {
      if (signal.aborted) return purged;
      const { id, scheduling } = found.item;
      if (scheduling.lastChanged > limitOf(parts)) continue;
      const members = await all.of(id);
      if (members.some(({ lastIndexedDocId }) => lastIndexedDocId !== "")) continue;
      await all.change(members, () => undefined);
      if (await deleteItem(id, found.version, parts, warn)) purged += 1;
      // It was requested meanwhile.
      else await all.change(members, (known, member) => known ?? member);
    }
  }
  return purged;
}

/**
 * Deletes records that are in no domain and were not fetched for as long: pages that were followed once and led
 * nowhere. Stops watching items that are not registered (left by a kill). Gives items the id that the current rules
 * say. If a lost ledger may still have to restore its members, only the last is done.
 */
export async function purgeStray(parts: OpenIngestParts, signal: AbortSignal, warn: Warn): Promise<number> {
  const isWhole = await areMembersWhole(parts);
  let purged = 0;
  for await (const page of parts.registry.entries()) {
    const known = await parts.members.ofMany(page.map(({ item }) => item.id));
    for (const found of page) {
      if (signal.aborted) return purged;
      const { id, watched } = found.item;
      const members = known.get(id) ?? [];
      const idNow = await rekeyItem(found.item, parts).catch((error: unknown) => {
        warn(`Address '${id}' could not be moved to its new id: ${explain(error)}`);
        return id;
      });
      if (idNow !== id) await dropItems([id], parts, { keepLeft: false, warn });
      else if (!isWhole || members.some(({ sourceId }) => sourceId === REGISTERED_SOURCE)) continue;
      else if (watched) await dropItems([id], parts, { keepLeft: true, warn });
      else if (isStale(found, parts) && members.length === 0) {
        if (await deleteItem(id, found.version, parts, warn)) purged += 1;
      }
    }
  }
  return purged;
}

async function areMembersWhole({ domains, members }: OpenIngestParts): Promise<boolean> {
  for (const { domainId, sources } of (await domains.list()).domains) {
    const isRegistered = sources.some(({ sourceId }) => sourceId === REGISTERED_SOURCE);
    if (isRegistered && !(await members.isWhole(domainId, REGISTERED_SOURCE))) return false;
  }
  return true;
}

function isStale({ item: { scheduling } }: RegisteredItem, parts: OpenIngestParts): boolean {
  return scheduling.lastChecked <= limitOf(parts) && scheduling.firstSeen <= limitOf(parts);
}

function limitOf({ now, keepGoneDays }: OpenIngestParts): string {
  return toUtcMicros(new Date(now().getTime() - keepGoneDays * DAY_MS));
}
