import { EMPTY_ITEM } from "../../contracts/empty-item.ts";
import type { IngestItem, IngestStatus } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { withEvent } from "./item-events.ts";
import type { Identity } from "./web-identity.ts";

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

/**
 * Somebody asks for this address, for the first time or again: it is watched from now on, and due at once. What was refused
 * or gone is read anew: "not modified" would not tell whether it still is.
 */
export function afterRegistration(
  item: IngestItem,
  request: {
    readonly identity: Identity;
    readonly title: string;
    readonly includeImages: boolean;
    readonly force: boolean;
  },
  now: Date,
): IngestItem {
  const { identity, title, includeImages, force } = request;
  const keepsStatus = item.status === "Indexed" || item.status === "Crawled";
  const registered: IngestItem = {
    ...item,
    displaySource: identity.displaySource,
    foundSource: identity.foundSource,
    status: keepsStatus ? item.status : "Pending",
    http: hasLeft(item.status) ? { ...item.http, etag: "", lastModified: "" } : item.http,
    watched: true,
    includeImages: includeImages || item.includeImages,
    title: title || item.title,
    scheduling: { ...item.scheduling, nextCrawlAt: toUtcMicros(now) },
  };
  const noted = item.watched ? registered : withEvent(registered, "registered", "", now);
  return force ? afterForce(noted, now) : noted;
}

/** One more request to look at it regardless of what is known. */
export function afterForce(item: IngestItem, now: Date): IngestItem {
  const reindexGeneration = item.reindexGeneration + 1;
  const forced = {
    ...item,
    reindexRequested: true,
    reindexGeneration,
    requestedGeneration: reindexGeneration,
    scheduling: { ...item.scheduling, nextCrawlAt: toUtcMicros(now) },
  };
  return withEvent(forced, "requested", `request ${reindexGeneration}`, now);
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

/** An address that leads to another is looked after there: whoever watches the one watches the other. The same object: nothing to put. */
export function watchedLike(target: IngestItem, alias: IngestItem): IngestItem {
  const watched = target.watched || alias.watched;
  const includeImages = target.includeImages || alias.includeImages;
  const title = target.title || alias.title;
  const isSame = watched === target.watched && includeImages === target.includeImages && title === target.title;
  return isSame ? target : { ...target, watched, includeImages, title };
}
