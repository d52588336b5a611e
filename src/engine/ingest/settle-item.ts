import type { ItemId } from "../../contracts/ids.ts";
import { type Member, type Registry, TAKEN_OUT } from "../../contracts/registry.ts";
import { newMember, withStanding } from "../../detect/web/member-standing.ts";
import { changeItem } from "./change-item.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";

/**
 * After a look at `address`, which turned out to be `item`: the domains in which the one was registered have the other, and
 * it is Crawled as long as one of them is behind.
 */
export async function settleItem(address: ItemId, item: ItemId, registry: Registry): Promise<void> {
  if (address !== item) await addFollowers(address, item, registry);
  await changeItem(registry, item, async (now) => withStanding(now, await registry.members.of(item)));
}

/** Nobody asked for these themselves: they are there while an address that somebody asked for leads to them. */
async function addFollowers(address: ItemId, item: ItemId, registry: Registry): Promise<void> {
  const isWanted = (one: Member): boolean => one.sourceId === REGISTERED_SOURCE && one.unlinkedCount < TAKEN_OUT;
  const wanted = (await registry.members.of(address)).filter(isWanted);
  const followers = wanted.map(({ domainId, sourceId }) => newMember(domainId, sourceId, item));
  await registry.members.change(followers, (known, follower) =>
    known && isWanted(known) ? known : { ...(known ?? follower), unlinkedCount: 1 },
  );
}
