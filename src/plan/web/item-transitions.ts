import type { ItemId } from "../../contracts/ids.ts";
import type { Member } from "../../contracts/members.ts";
import type {
  ContentState,
  FileState,
  HttpState,
  IngestItem,
  IngestStatus,
  SchedulingState,
} from "../../contracts/registry.ts";
import { backoffMs } from "../../lib/retry.ts";
import { toUtcMicros } from "../../lib/time.ts";
import type { Dated } from "./choose-date.ts";
import type { Identity } from "./item-identity.ts";
import { type CheckPolicy, hasLeft, isForced, isInStep } from "./item-state.ts";

/**
 * Context of one visit. The `after…` functions take the record as it is when the visit ends, which may have changed
 * since it began: after a write conflict the record is read again and the function is applied again.
 */
export interface VisitContext {
  readonly at: Date;
  /** The item's `reindexGeneration` when the visit began: it serves requests up to this one. */
  readonly generation: number;
  readonly isForced: boolean;
  /** The visit was requested, so it does not count for the interval. */
  readonly isOutOfTurn: boolean;
  /** Values when the visit began: other programs request a visit by setting both. */
  readonly reindexRequested: boolean;
  readonly nextCrawlAt: string;
}

/** `force`: a forced visit that the item itself does not request. */
export function beginVisit(item: IngestItem, at: Date, { force = false } = {}): VisitContext {
  const { reindexGeneration: generation, reindexRequested, scheduling } = item;
  const isRequested = isForced(item);
  const { nextCrawlAt } = scheduling;
  return { at, generation, isForced: isRequested, isOutOfTurn: isRequested || force, reindexRequested, nextCrawlAt };
}

/** What a response said. Absent fields are unchanged; a 304 has none. */
export interface Found {
  readonly http?: Partial<HttpState>;
  readonly file?: FileState;
  readonly content?: Partial<ContentState>;
}

const ERROR_CHARACTERS = 1024;

/** The document exists. Status Crawled if it differs from the index or was requested; otherwise the interval lengthens. */
export function afterFound(item: IngestItem, visit: VisitContext, found: Found, policy: CheckPolicy): IngestItem {
  const isChanged = (found.content?.contentHash ?? item.content.contentHash) !== item.content.contentHash;
  const content = { ...item.content, ...found.content, ...(isChanged ? {} : keepDates(item.content)) };
  const isNew = item.content.contentHash === "";
  const isBack = hasLeft(item.status) || item.scheduling.goneCount >= CONFIRMATIONS;
  const served = serve(item, visit, isOtherCanonical(item, found) && policy.forceOnCanonicalChange ? 1 : 0);
  const isServed = served.processedGeneration > item.processedGeneration;
  const isAsIndexed = !isChanged && !isServed && item.status !== "Crawled" && item.linkage.lastIndexedDocId !== "";
  // Another visit does not make an unreadable document readable.
  const indexError = isChanged || isServed || isBack ? "" : item.linkage.indexError;
  const unchangedCount = isChanged || isBack ? 0 : countUnchanged(item, visit);
  const updated: IngestItem = {
    ...item,
    ...served,
    aliasOf: "",
    status: indexError ? "Error" : isAsIndexed ? "Indexed" : "Crawled",
    http: { ...item.http, robotsAllowed: true, ...found.http },
    file: found.file ?? item.file,
    content,
    linkage: { ...item.linkage, indexError },
    scheduling: schedule(item, visit, intervalSeconds(unchangedCount, policy), {
      ...(isChanged || isBack ? { lastChanged: toUtcMicros(visit.at) } : {}),
      errorMessage: indexError,
      crawlIntervalSeconds: intervalSeconds(unchangedCount, policy),
      unchangedCount,
      failureCount: 0,
      ...NOTHING_COUNTED,
    }),
  };
  const event = isNew ? "new" : isBack ? "restored" : isChanged ? "changed" : "unchanged";
  return withEvent(updated, event, event === "unchanged" ? `${unchangedCount} in a row` : "", visit.at);
}

/** 404 or 410 (0 for a file). After several in a row the item is Gone; it is still checked now and then. */
export function afterMissing(
  item: IngestItem,
  visit: VisitContext,
  statusCode: number,
  policy: CheckPolicy,
): IngestItem {
  const reason =
    statusCode === 0 ? "There is no such file" : `The server answered ${statusCode}: there is no such page`;
  const counts = countGone(item, visit.at, policy);
  const isGone = counts.goneCount >= CONFIRMATIONS;
  const seconds = isGone ? policy.maxIntervalSeconds : intervalSeconds(0, policy);
  const count = `${Math.min(counts.goneCount, CONFIRMATIONS)} of ${CONFIRMATIONS}`;
  const updated: IngestItem = {
    ...item,
    ...serve(item, visit),
    status: isGone ? "Gone" : failing(item.status),
    http: { ...item.http, statusCode },
    ...(isGone ? withoutDocument(item) : {}),
    scheduling: schedule(item, visit, seconds, {
      ...(isGone && item.status !== "Gone" ? { lastChanged: toUtcMicros(visit.at) } : {}),
      errorMessage: `${reason} (${count}).`,
      crawlAttempts: item.scheduling.crawlAttempts + 1,
      crawlIntervalSeconds: seconds,
      unchangedCount: 0,
      failureCount: 0,
      ...counts,
    }),
  };
  return withEvent(updated, isGone ? "gone" : "missing", [statusCode || "no file", count].join(", "), visit.at);
}

/** A temporary failure: the document and owed requests stay, and it is retried later. */
export function afterFailure(
  item: IngestItem,
  visit: VisitContext,
  failure: { readonly reason: string; readonly statusCode?: number; readonly retryAfterMs?: number },
  policy: CheckPolicy,
): IngestItem {
  const [failureCount, crawlAttempts] = [item.scheduling.failureCount + 1, item.scheduling.crawlAttempts + 1];
  const reason = failure.reason.trim() || "It could not be fetched, for an unknown reason.";
  const updated: IngestItem = {
    ...item,
    status: failing(item.status),
    http: { ...item.http, statusCode: failure.statusCode ?? item.http.statusCode },
    scheduling: schedule(item, visit, retrySeconds(failureCount, failure.retryAfterMs ?? 0, policy), {
      errorMessage: reason.slice(0, ERROR_CHARACTERS),
      ...{ failureCount, crawlAttempts },
    }),
  };
  return withEvent(updated, "failed", reason, visit.at);
}

const MAX_PUT_OFF_SECONDS = 3600;

/** No request was sent: only the next visit is rescheduled. */
export function afterDeferral(item: IngestItem, visit: VisitContext, waitMs: number): IngestItem {
  const { lastChecked, crawlAttempts } = item.scheduling;
  const seconds = Math.min(Math.ceil(waitMs / 1000), MAX_PUT_OFF_SECONDS);
  return { ...item, scheduling: schedule(item, visit, seconds, { lastChecked, crawlAttempts }) };
}

/** Something else replaced the document: a failure until it is confirmed. */
export function afterMove(
  item: IngestItem,
  visit: VisitContext,
  move: { readonly to: string; readonly reason: string; readonly statusCode?: number },
  policy: CheckPolicy,
): IngestItem {
  const failed = afterFailure(item, visit, move, policy);
  return { ...failed, scheduling: { ...failed.scheduling, ...countMove(item, move.to, visit.at, policy) } };
}

/** An alias whose target failed is scheduled together with it. */
export function afterTargetFailed(item: IngestItem, visit: VisitContext, behind: IngestItem): IngestItem {
  const seconds = (Date.parse(behind.scheduling.nextCrawlAt) - visit.at.getTime()) / 1000;
  const isAnswered = behind.scheduling.failureCount === 0;
  return {
    ...item,
    ...(isAnswered && serve(item, visit)),
    scheduling: schedule(item, visit, Math.max(seconds, 0), {}),
  };
}

interface Refusal {
  readonly why: "robots" | "other";
  readonly reason: string;
  /** Validators of the refused response: a later 304 means still refused. Without it they are cleared. */
  readonly http?: Partial<HttpState>;
}

/** It must not be indexed: robots.txt, noindex, a type that is not accepted, a forbidden address. */
export function afterRefusal(item: IngestItem, visit: VisitContext, refusal: Refusal, policy: CheckPolicy): IngestItem {
  const http = {
    ...item.http,
    ...(refusal.http ?? { etag: "", lastModified: "" }),
    robotsAllowed: refusal.why !== "robots",
  };
  const left = leave(item, visit, { http, aliasOf: "", errorMessage: refusal.reason }, policy);
  return withEvent(left, "refused", refusal.reason, visit.at);
}

/** The URL is an alias of another item, by redirect or canonical link. `http` is that of the alias. */
export function afterAlias(
  item: IngestItem,
  visit: VisitContext,
  alias: { readonly of: ItemId; readonly http: Partial<HttpState> },
  policy: CheckPolicy,
): IngestItem {
  const http = { ...item.http, robotsAllowed: true, ...alias.http };
  return withEvent(
    leave(item, visit, { http, aliasOf: alias.of, errorMessage: "" }, policy),
    "alias",
    `of ${alias.of}`,
    visit.at,
  );
}

/** A failure does not change the status of items that wait for the index (Crawled) or have left it. */
function failing(status: IngestStatus): IngestStatus {
  return status === "Crawled" || hasLeft(status) ? status : "Error";
}

function isOtherCanonical(item: IngestItem, { http }: Found): boolean {
  const isKnown = item.content.contentHash !== "";
  return isKnown && http?.canonicalUrl !== undefined && http.canonicalUrl !== item.http.canonicalUrl;
}

function countUnchanged({ scheduling }: IngestItem, { isOutOfTurn }: VisitContext): number {
  return scheduling.unchangedCount + (isOutOfTurn ? 0 : 1);
}

function leave(
  item: IngestItem,
  visit: VisitContext,
  to: { readonly http: HttpState; readonly aliasOf: ItemId | ""; readonly errorMessage: string },
  policy: CheckPolicy,
): IngestItem {
  const isOut = item.status === "OutOfScope";
  const unchangedCount = isOut ? countUnchanged(item, visit) : 0;
  const seconds = intervalSeconds(unchangedCount, policy);
  return {
    ...item,
    ...serve(item, visit),
    status: "OutOfScope",
    aliasOf: to.aliasOf,
    http: to.http,
    ...withoutDocument(item),
    scheduling: schedule(item, visit, seconds, {
      ...(isOut ? {} : { lastChanged: toUtcMicros(visit.at) }),
      errorMessage: to.errorMessage.slice(0, ERROR_CHARACTERS),
      crawlIntervalSeconds: seconds,
      unchangedCount,
      failureCount: 0,
      ...NOTHING_COUNTED,
    }),
  };
}

function withoutDocument(item: IngestItem): Pick<IngestItem, "linkage"> {
  return { linkage: { ...item.linkage, lastIndexedDocId: "", indexError: "" } };
}

type Generations = Pick<
  IngestItem,
  "reindexRequested" | "reindexGeneration" | "processedGeneration" | "requestedGeneration"
>;

/**
 * Marks the requests made before the visit as done. A flag set without counting, and `more` requests that
 * the response itself caused, are counted here, so that later steps see a new generation.
 */
function serve(item: IngestItem, visit: VisitContext, more: 0 | 1 = 0): Generations {
  const isUncounted =
    visit.isForced &&
    item.reindexRequested &&
    visit.generation <= item.processedGeneration &&
    item.reindexGeneration === visit.generation;
  const added = isUncounted ? 1 : more;
  const reindexGeneration = item.reindexGeneration + added;
  const processedGeneration = Math.max(item.processedGeneration, visit.generation + added);
  const reindexRequested = reindexGeneration > processedGeneration || isFlaggedSince(item, visit);
  const requestedGeneration = isUncounted ? reindexGeneration : item.requestedGeneration;
  return { reindexRequested, reindexGeneration, processedGeneration, requestedGeneration };
}

/** Whether another program set the flag during the visit. It does not count generations, so the next visit serves it. */
function isFlaggedSince({ reindexRequested, scheduling }: IngestItem, visit: VisitContext): boolean {
  return reindexRequested && (!visit.reindexRequested || scheduling.nextCrawlAt !== visit.nextCrawlAt);
}

/** A request made during the visit is due at once. */
function schedule(
  item: IngestItem,
  visit: VisitContext,
  seconds: number,
  changes: Partial<SchedulingState>,
): SchedulingState {
  const isOwed = item.reindexGeneration > visit.generation || isFlaggedSince(item, visit);
  return {
    ...item.scheduling,
    lastChecked: toUtcMicros(visit.at),
    nextCrawlAt: toUtcMicros(new Date(visit.at.getTime() + (isOwed ? 0 : seconds * 1000))),
    ...changes,
  };
}

const UNCHANGED_CHECKS_A_STEP = 3;
/** The longest `Retry-After` that is obeyed even if the maximum interval is shorter. */
const MAX_RETRY_AFTER_SECONDS = 86_400;

/** Lengthens with every third check that found nothing new: 1, 3, 7, 14 times the base, then doubling, up to the maximum. */
function intervalSeconds(unchangedCount: number, policy: CheckPolicy): number {
  const step = Math.floor(unchangedCount / UNCHANGED_CHECKS_A_STEP);
  const times = [1, 3][step] ?? 7 * 2 ** (step - 2);
  return Math.min(policy.baseIntervalSeconds * times, policy.maxIntervalSeconds);
}

/** Doubles with every failure in a row, up to the maximum; a longer time that the server asked for wins, within a day or the maximum. */
function retrySeconds(failureCount: number, retryAfterMs: number, policy: CheckPolicy): number {
  const limits = { firstMs: policy.errorBackoffSeconds * 1000, longestMs: policy.maxIntervalSeconds * 1000 };
  const asked = Math.min(Math.ceil(retryAfterMs / 1000), Math.max(policy.maxIntervalSeconds, MAX_RETRY_AFTER_SECONDS));
  return Math.max(backoffMs(failureCount, limits) / 1000, asked);
}

/** Visits in a row that must report the same change before a document is removed for it. */
export const CONFIRMATIONS = 3;

/** Only one of the two counts is above 0: a redirect ends a series of 404s, and vice versa. */
type ConfirmationCounts = Pick<SchedulingState, "goneCount" | "movedTo" | "movedCount" | "countedAt">;

const NOTHING_COUNTED: ConfirmationCounts = { goneCount: 0, movedTo: "", movedCount: 0, countedAt: "" };

/** After one more 404 or 410. */
export function countGone({ scheduling }: IngestItem, at: Date, policy: CheckPolicy): ConfirmationCounts {
  const { count, countedAt } = oneMore(scheduling.goneCount, scheduling.countedAt, at, policy.goneSpacingSeconds);
  return { ...NOTHING_COUNTED, goneCount: count, countedAt };
}

/** After one more visit that found `to` instead: another item, or a word for what replaced the document. */
export function countMove({ scheduling }: IngestItem, to: string, at: Date, policy: CheckPolicy): ConfirmationCounts {
  const before = scheduling.movedTo === to ? scheduling.movedCount : 0;
  const { count, countedAt } = oneMore(before, scheduling.countedAt, at, policy.movedSpacingSeconds);
  return { ...NOTHING_COUNTED, movedTo: to, movedCount: count, countedAt };
}

/** Visits within `spacingSeconds` count as one: they may have met the same outage. */
function oneMore(
  count: number,
  countedAt: string,
  at: Date,
  spacingSeconds: number,
): { readonly count: number; readonly countedAt: string } {
  const isTooSoon = count > 0 && at.getTime() - Date.parse(countedAt) < spacingSeconds * 1000;
  return isTooSoon ? { count, countedAt } : { count: count + 1, countedAt: toUtcMicros(at) };
}

/** The index has a version of the document. If that is not the current one, the item stays Crawled. Returns the same object if nothing changes. */
export function afterIndexed(
  item: IngestItem,
  indexed: {
    readonly docId: string;
    readonly contentHash: string;
    /** The item's `processedGeneration` when it was listed. */
    readonly generation: number;
    readonly at: Date;
  },
): IngestItem {
  if (hasLeft(item.status)) return item;
  const isPresent = indexed.contentHash === item.content.contentHash && indexed.generation >= item.processedGeneration;
  const isFailing = item.scheduling.failureCount > 0 || item.scheduling.goneCount > 0;
  const status = isPresent ? (isFailing ? "Error" : "Indexed") : item.status;
  if (status === item.status && indexed.docId === item.linkage.lastIndexedDocId) return item;
  const indexedItem: IngestItem = {
    ...item,
    status,
    linkage: { ...item.linkage, lastIndexedDocId: indexed.docId, indexError: "" },
    scheduling: { ...item.scheduling, lastIndexed: toUtcMicros(indexed.at) },
  };
  return withEvent(indexedItem, "indexed", indexed.docId, indexed.at);
}

const EVENTS_KEPT = 30;
const DETAIL_CHARACTERS = 300;

type ItemEventName =
  | "registered"
  | "requested"
  | "new"
  | "changed"
  | "unchanged"
  | "restored"
  | "missing"
  | "gone"
  | "refused"
  | "alias"
  | "failed"
  | "indexed";

/** Adds an event to the history. A repeated event replaces the one before, so that it does not push out others. */
export function withEvent(item: IngestItem, event: ItemEventName, detail: string, at: Date): IngestItem {
  const added = { at: toUtcMicros(at), event, detail: detail.slice(0, DETAIL_CHARACTERS) };
  const last = item.history.at(-1);
  const isRepeated = last?.event === event && (event === "unchanged" || last.detail === added.detail);
  const before = isRepeated ? item.history.slice(0, -1) : item.history;
  return { ...item, history: [...before, added].slice(-EVENTS_KEPT) };
}

/** Locks are renewed during a visit, so a dead worker holds an item no longer than this. */
export const LOCK_MS = 5 * 60_000;

/** Whether the item is unlocked, expired, or locked by this worker. */
export function mayLock(item: IngestItem, worker: string, now: Date): boolean {
  const { lockedUntil, lockedBy } = item.lock;
  return lockedUntil === "" || lockedUntil <= toUtcMicros(now) || lockedBy === worker;
}

/** Locks or renews. Effective once stored: put it with the version that `mayLock` was given. */
export function lock(item: IngestItem, worker: string, now: Date, lockMs: number = LOCK_MS): IngestItem {
  return { ...item, lock: { lockedUntil: toUtcMicros(new Date(now.getTime() + lockMs)), lockedBy: worker } };
}

/** Leaves the lock of another worker alone. */
export function unlock(item: IngestItem, worker: string): IngestItem {
  return item.lock.lockedBy === worker ? { ...item, lock: { lockedUntil: "", lockedBy: "" } } : item;
}

/** Unchanged content keeps its modification date. */
function keepDates({ modifiedAt, modifiedFrom }: ContentState): Partial<Dated> {
  return modifiedAt === "" ? {} : { modifiedAt, modifiedFrom };
}

/**
 * The URL was registered, for the first time or again: it is watched and due at once. Refused and gone items
 * lose their validators, because a 304 would not tell whether they still are.
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

/** Requests an unconditional visit. */
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

/** The target of an alias takes over its options. Returns the same object if nothing changes. */
export function withWatchOf(target: IngestItem, alias: IngestItem): IngestItem {
  const watched = target.watched || alias.watched;
  const includeImages = target.includeImages || alias.includeImages;
  const title = target.title || alias.title;
  const isSame = watched === target.watched && includeImages === target.includeImages && title === target.title;
  return isSame ? target : { ...target, watched, includeImages, title };
}

/**
 * Crawled while the index of one of its domains is behind, else Indexed; other statuses stay, unless the item was removed from a domain:
 * that index is behind, too. Returns the same object if nothing changes.
 */
export function withIndexStatus(item: IngestItem, members: readonly Member[]): IngestItem {
  const isTakenOut = !hasLeft(item.status) && members.some(({ wanted }) => wanted === "no");
  if (item.status !== "Crawled" && item.status !== "Indexed" && !isTakenOut) return item;
  const isIndexed = members.length > 0 && members.every((one) => one.lastIndexedDocId !== "" && isInStep(one, item));
  const status = isIndexed ? "Indexed" : "Crawled";
  return status === item.status ? item : { ...item, status };
}
