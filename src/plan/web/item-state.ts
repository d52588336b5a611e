import { EMPTY_ITEM } from "../../contracts/empty-item.ts";
import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { Member } from "../../contracts/members.ts";
import type { IngestItem, IngestStatus } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";
import type { Identity } from "./item-identity.ts";

/** How often items are looked at. */
export interface CheckPolicy {
  readonly baseIntervalSeconds: number;
  readonly maxIntervalSeconds: number;
  readonly errorBackoffSeconds: number;
  /** Another 404 counts after this time: a trouble of minutes is one, however often it is met. */
  readonly goneSpacingSeconds: number;
  /** The same for whatever else is there instead of a document: another page, another type, nothing. */
  readonly movedSpacingSeconds: number;
  readonly forceOnCanonicalChange: boolean;
}

/** An item nobody has looked at yet: due at once. */
export function newItem(identity: Identity, now: Date): IngestItem {
  const at = toUtcMicros(now);
  return { ...EMPTY_ITEM, ...identity, scheduling: { ...EMPTY_ITEM.scheduling, firstSeen: at, nextCrawlAt: at } };
}

/** Is a request owed that bypasses what is known? */
export function isForced(item: IngestItem): boolean {
  return item.reindexRequested || item.reindexGeneration > item.processedGeneration;
}

/** A request that was made is due at once, and after a failure when the failure is forgiven. */
export function isDue(item: IngestItem, now: Date): boolean {
  return item.scheduling.nextCrawlAt <= toUtcMicros(now);
}

/** Is there something to lose? */
export function hasDocument({ status, aliasOf, content, linkage }: IngestItem): boolean {
  if (content.contentHash === "" || aliasOf !== "" || hasLeft(status)) return false;
  // One that had left and was registered again waits to be looked at.
  return status !== "Pending" || linkage.lastIndexedDocId !== "";
}

/** Nobody finds it in the index, and nobody should. */
export function hasLeft(status: IngestStatus): boolean {
  return status === "Gone" || status === "OutOfScope";
}

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
