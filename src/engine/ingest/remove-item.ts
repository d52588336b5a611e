import { BadInputError, NotFoundError, RemoteError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { Member, MemberKey } from "../../contracts/members.ts";
import type { OpenIngestParts } from "./create-ingest.ts";
import { dropItems } from "./drop-items.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";
import { settleItem } from "./settle-item.ts";

/**
 * Takes an address out of a domain, together with those that lead to it and what only it leads to. What the index has of them
 * leaves with the next crawl of the source; until then the members stay, marked as nobody's.
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
  const leaving = await allOf(id, domainId, parts);
  for (const itemId of leaving) await leave({ domainId, sourceId: REGISTERED_SOURCE, itemId }, parts);
  const troubles: string[] = [];
  await dropItems(leaving, parts, { keepLeft: false, warn: (sentence) => troubles.push(sentence) });
  if (troubles.length > 0) throw new RemoteError(troubles.join(" "));
}

function registeredFirst(a: Member, b: Member): number {
  return Number(b.sourceId === REGISTERED_SOURCE) - Number(a.sourceId === REGISTERED_SOURCE);
}

/** Left alone, an address that leads to it would bring it back; what only it leads to is there for nobody. */
async function allOf(
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
  // Some lead on, and are nobody's any more.
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

/** The index may have more of it than the member says, unless nothing was ever read. */
async function leave(member: MemberKey, parts: OpenIngestParts): Promise<void> {
  const wasRead = (await parts.registry.get(member.itemId))?.item.content.contentHash !== "";
  await parts.members.change([member], (known) =>
    known && (wasRead || known.lastIndexedDocId !== "") ? { ...known, wanted: "no" } : undefined,
  );
  await settleItem(member.itemId, member.itemId, parts);
}
