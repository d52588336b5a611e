import type { ItemId } from "../../contracts/ids.ts";
import type { Member } from "../../contracts/members.ts";
import { newMember, withStanding } from "../../plan/web/member-standing.ts";
import { changeItem } from "./change-item.ts";
import type { ItemRecords } from "./drop-items.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";

/**
 * After a look at `address`, which turned out to be `item`: the domains in which the one was registered have the other, and
 * it is Crawled as long as one of them is behind.
 */
export async function settleItem(address: ItemId, item: ItemId, records: ItemRecords): Promise<void> {
  if (address !== item) await addFollowers(address, item, records);
  await changeItem(records.registry, item, async (now) => withStanding(now, await records.members.of(item)));
}

/** Nobody asked for these themselves: they are there while an address that somebody asked for leads to them. */
async function addFollowers(address: ItemId, item: ItemId, { members }: ItemRecords): Promise<void> {
  const isWanted = (one: Member): boolean => one.sourceId === REGISTERED_SOURCE && one.wanted !== "no";
  const wanted = (await members.of(address)).filter(isWanted);
  const followers = wanted.map(({ domainId, sourceId }) => newMember(domainId, sourceId, item));
  await members.change(followers, (known, follower) =>
    known && isWanted(known) ? known : { ...(known ?? follower), wanted: "led" },
  );
}
