import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { Member } from "../../contracts/members.ts";
import type { IngestItem } from "../../contracts/registry.ts";

/** Of an item that the index of the domain has nothing of yet. */
export function newMember(domainId: DomainId, sourceId: SourceId, itemId: ItemId): Member {
  return {
    domainId,
    sourceId,
    itemId,
    wanted: "led",
    unlinkedCount: 0,
    lastIndexedDocId: "",
    lastIndexed: "",
    contentHash: "",
    indexedGeneration: 0,
  };
}

/** Does the index of this domain have the item as it is known now? Of one that was taken out it should have nothing. */
export function isInStep(member: Member, { content, processedGeneration }: IngestItem): boolean {
  const { wanted, contentHash, indexedGeneration } = member;
  return wanted !== "no" && contentHash === content.contentHash && indexedGeneration === processedGeneration;
}

/**
 * Crawled while one of its domains is behind, Indexed when none is; what it is otherwise it stays, unless it was taken out:
 * that is behind like one whose content changed, and whoever looks for that finds it. The same object: nothing to put.
 */
export function withStanding(item: IngestItem, members: readonly Member[]): IngestItem {
  const hasLeft = item.status === "Gone" || item.status === "OutOfScope";
  const isTakenOut = !hasLeft && members.some(({ wanted }) => wanted === "no");
  if (item.status !== "Crawled" && item.status !== "Indexed" && !isTakenOut) return item;
  const isIndexed = members.length > 0 && members.every((one) => one.lastIndexedDocId !== "" && isInStep(one, item));
  const status = isIndexed ? "Indexed" : "Crawled";
  return status === item.status ? item : { ...item, status };
}
