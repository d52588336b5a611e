import { EMPTY_ITEM } from "../../contracts/empty-item.ts";
import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { Member } from "../../contracts/members.ts";
import type { ContentState, IngestItem, IngestStatus } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";
import type { Identity } from "./item-identity.ts";

/** How often items are visited, and how far apart confirmations must be. */
export interface CheckPolicy {
  readonly baseIntervalSeconds: number;
  readonly maxIntervalSeconds: number;
  readonly errorBackoffSeconds: number;
  /** Another 404 counts only after this time: an outage of minutes counts once. */
  readonly goneSpacingSeconds: number;
  /** The same for other replacements of a document: another page, another type, nothing. */
  readonly movedSpacingSeconds: number;
  readonly forceOnCanonicalChange: boolean;
}

/** An item that was never visited: due at once. */
export function newItem(identity: Identity, now: Date): IngestItem {
  const at = toUtcMicros(now);
  return { ...EMPTY_ITEM, ...identity, scheduling: { ...EMPTY_ITEM.scheduling, firstSeen: at, nextCrawlAt: at } };
}

/** Whether an unconditional visit is owed. */
export function isForced(item: IngestItem): boolean {
  return item.reindexRequested || item.reindexGeneration > item.processedGeneration;
}

/** A requested visit is due at once; after a failure, when its backoff is over. */
export function isDue(item: IngestItem, now: Date): boolean {
  return item.scheduling.nextCrawlAt <= toUtcMicros(now);
}

/** Returns the text hash of a page, the content hash of a file: the text of a file may be incomplete. */
export function contentKeyOf({ textHash, contentHash, documentType }: ContentState): string {
  return (documentType === "md" && textHash) || contentHash;
}

/** Whether the item has a document that could be lost. */
export function hasDocument({ status, aliasOf, content, linkage }: IngestItem): boolean {
  if (content.contentHash === "" || aliasOf !== "" || hasLeft(status)) return false;
  // An item that had left and was registered again waits to be fetched.
  return status !== "Pending" || linkage.lastIndexedDocId !== "";
}

/** Whether items of this status are not in the index. */
export function hasLeft(status: IngestStatus): boolean {
  return status === "Gone" || status === "OutOfScope";
}

/** Membership of an item that the domain's index does not have yet. */
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

/** Whether the domain's index has the current version of the item. Always false for an item removed from the domain. */
export function isInStep(member: Member, { content, processedGeneration }: IngestItem): boolean {
  const { wanted, contentHash, indexedGeneration } = member;
  return wanted !== "no" && contentHash === content.contentHash && indexedGeneration === processedGeneration;
}
