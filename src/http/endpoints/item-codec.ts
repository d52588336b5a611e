import type { Member } from "../../contracts/members.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import type { StoredImage } from "../../contracts/web.ts";
import type { ItemView, Registered } from "../../engine/ingest/ingest.ts";
import type { ShownSummary } from "../../engine/ingest/shown-items.ts";
import { toInstant } from "../../lib/time.ts";

export type ItemJson = ReturnType<typeof toItemJson>;
export type SummaryJson = ReturnType<typeof toSummaryJson>;
export type ItemViewJson = ReturnType<typeof toItemViewJson>;

/** Formats a row of IngestItems with the names of the specification, flattened as in its example. */
export function toItemJson(item: IngestItem) {
  const { http, file, content, linkage } = item;
  const { queuedUntil: _ofOurQueue, ...scheduling } = item.scheduling;
  return {
    id: item.id,
    type: item.type,
    normalizedSource: item.normalizedSource,
    displaySource: item.displaySource,
    sourceHost: item.sourceHost,
    contentGroupId: item.contentGroupId,
    parentPageId: item.parentPageId,
    aliasOf: item.aliasOf,
    status: item.status,
    title: item.title || content.foundTitle,
    watched: item.watched,
    includeImages: item.includeImages,
    reindexRequested: item.reindexRequested,
    reindexGeneration: item.reindexGeneration,
    processedGeneration: item.processedGeneration,
    httpEtag: http.etag,
    httpLastModified: toInstant(http.lastModified),
    httpContentLength: http.contentLength,
    httpStatusCode: http.statusCode,
    httpRedirectChain: http.redirectChain,
    httpRobotsAllowed: http.robotsAllowed,
    httpCanonicalUrl: http.canonicalUrl,
    fileEtag: file.etag,
    fileLastModified: file.lastModified,
    fileLength: file.length,
    fileContentType: file.contentType,
    contentHash: content.contentHash,
    textHash: content.textHash,
    mimeType: content.mimeType,
    language: content.language,
    modifiedAt: content.modifiedAt,
    modifiedFrom: content.modifiedFrom,
    ...linkage,
    ...scheduling,
  };
}

/** Formats one item with its members, pictures and history, newest last. */
export function toItemViewJson({ item, members, images }: ItemView) {
  return {
    ...toItemJson(item),
    members: members.map(toMemberJson),
    images: images.map(toImageJson),
    history: item.history,
  };
}

function toMemberJson(member: Member) {
  return {
    domain_id: member.domainId,
    source_id: member.sourceId,
    lastIndexedDocId: member.lastIndexedDocId,
    lastIndexed: member.lastIndexed,
    contentHash: member.contentHash,
  };
}

export function toImageJson(image: StoredImage) {
  const { id, url, alt, caption, width, height, mimeType, parentPageId, parentPageUrl } = image;
  const thumbnail = imageAddress(parentPageId, id, "thumbnail");
  const parent = { parentPageId, parentPageUrl, source: parentPageUrl };
  return { id, url, alt, caption, thumbnail, width, height, mimeType, ...parent };
}

/** Returns the address under which this server serves the picture. */
export function imageAddress(page: string, image: string, size: "full" | "thumbnail"): string {
  return `/v2/ingest/images/get?${new URLSearchParams({ item_id: page, image_id: image, size })}`;
}

/** Formats the result of a registration. */
export function toRegisteredJson(registered: Registered) {
  const { id, status, nextCrawlAt, domainId, reindexGeneration, normalizedSource, displaySource, note } = registered;
  const fields = { id, status, nextCrawlAt, domain_id: domainId, reindexGeneration, normalizedSource, displaySource };
  return note === "" ? fields : { ...fields, note };
}

/** Rates are shares of the items checked in the last day: 0 to 1. `heldBack`: the domains that show an earlier generation. */
export function toSummaryJson(summary: ShownSummary) {
  const { total, byStatus, due, oldestDue, oldestChecked, checkedLastDay, changedLastDay, failedLastDay } = summary;
  const share = (count: number): number =>
    checkedLastDay === 0 ? 0 : Math.min(1, Math.round((count / checkedLastDay) * 10_000) / 10_000);
  return {
    itemCount: total,
    byStatus,
    changeRate: share(changedLastDay),
    errorRate: share(failedLastDay),
    due,
    oldestDue,
    oldestChecked,
    checkedLastDay,
    changedLastDay,
    failedLastDay,
    heldBack: summary.heldBack.map(({ domainId, shown, newest }) => ({
      domain_id: domainId,
      shownGeneration: shown,
      newestGeneration: newest,
    })),
  };
}
