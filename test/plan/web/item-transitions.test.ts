// When an item is fetched next follows from its history.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { IngestItem } from "../../../src/contracts/registry.ts";
import { identifyUrl, USUAL_RULES } from "../../../src/plan/web/item-identity.ts";
import { type CheckPolicy, isDue, isForced, newItem } from "../../../src/plan/web/item-state.ts";
import {
  afterAlias,
  afterFailure,
  afterForce,
  afterFound,
  afterIndexed,
  afterMissing,
  afterRefusal,
  afterRegistration,
  beginVisit,
  type Found,
  LOCK_MS,
  lock,
  mayLock,
  unlock,
  withEvent,
  withWatchOf,
} from "../../../src/plan/web/item-transitions.ts";

const DAY = 86_400;
const POLICY: CheckPolicy = {
  baseIntervalSeconds: DAY,
  maxIntervalSeconds: 14 * DAY,
  errorBackoffSeconds: 600,
  goneSpacingSeconds: 0,
  movedSpacingSeconds: 0,
  forceOnCanonicalChange: true,
};
const IDENTITY = identifyUrl("https://example.com/a", USUAL_RULES);
const START = new Date("2026-01-01T00:00:00Z");

test("a new item is pending and due at once; registering it again keeps what it is", () => {
  const fresh = newItem(IDENTITY, START);
  assert.deepEqual([fresh.id, fresh.status, fresh.watched, isDue(fresh, START)], [IDENTITY.id, "Pending", false, true]);
  assert.equal(fresh.scheduling.firstSeen, "2026-01-01T00:00:00.000000Z");
  const request = { identity: identifyUrl("https://example.com/a/", USUAL_RULES), includeImages: true, force: false };
  const later = after(DAY / 2);
  const known = indexed(found(fresh, "1"));
  assert.equal(isDue(known, later), false);
  const again = afterRegistration(known, { ...request, title: "A" }, later);
  assert.deepEqual([again.status, again.watched, isDue(again, later)], ["Indexed", true, true]);
  assert.deepEqual([again.foundSource, again.title, again.includeImages], ["https://example.com/a/", "A", true]);
  assert.deepEqual([again.scheduling.firstSeen, isForced(again)], [fresh.scheduling.firstSeen, false]);
  const quietly = afterRegistration(again, { ...request, includeImages: false, title: "" }, later);
  assert.deepEqual([quietly.title, quietly.includeImages, quietly.history.length], ["A", true, again.history.length]);
  const statuses = {
    Pending: "Pending",
    Crawled: "Crawled",
    Indexed: "Indexed",
    Error: "Pending",
    Gone: "Pending",
    OutOfScope: "Pending",
  };
  for (const [before, then] of Object.entries(statuses)) {
    const item = { ...known, status: before as IngestItem["status"] };
    assert.equal(afterRegistration(item, { ...request, title: "" }, later).status, then, before);
  }
});

test("what does not change is looked at less often, what changes as often as at first", () => {
  let item = indexed(found(newItem(IDENTITY, START), "1"));
  const days: number[] = [];
  for (let i = 0; i < 13; i += 1) {
    item = found(item);
    assert.equal(item.status, "Indexed");
    days.push(item.scheduling.crawlIntervalSeconds / DAY);
    assert.equal(secondsToNext(item), item.scheduling.crawlIntervalSeconds);
  }
  assert.deepEqual(days, [1, 1, 3, 3, 3, 7, 7, 7, 14, 14, 14, 14, 14]);
  assert.deepEqual([item.scheduling.unchangedCount, item.scheduling.crawlAttempts], [13, 0]);
  item = found(item, "1");
  assert.equal(item.scheduling.unchangedCount, 14, "the same content is no change, however it was sent");
  item = found(item, "2", after(100 * DAY));
  assert.deepEqual([item.status, item.scheduling.unchangedCount, secondsToNext(item)], ["Crawled", 0, DAY]);
  assert.deepEqual([item.scheduling.lastChanged, item.content.contentHash], [stamp(after(100 * DAY)), "2"]);
  assert.deepEqual(
    item.history.map(({ event }) => event),
    ["new", "indexed", "unchanged", "changed"],
  );
  const hourly = { ...POLICY, baseIntervalSeconds: 3600, maxIntervalSeconds: 50 * 3600 };
  const steps = [0, 3, 6, 9, 12, 15].map((unchangedCount) => {
    const { scheduling } = item;
    const before = { ...item, scheduling: { ...scheduling, unchangedCount: unchangedCount - 1 } };
    return secondsToNext(afterFound(before, beginVisit(before, START), {}, hourly)) / 3600;
  });
  assert.deepEqual(steps, [1, 3, 7, 14, 28, 50]);
});

test("a look that somebody wanted regardless does not make the next ones rarer", () => {
  const known = indexed(found(newItem(IDENTITY, START), "1"));
  const wanted = { ...known, reindexRequested: true, reindexGeneration: 1 };
  const refusal = { why: "other", reason: "noindex" } as const;
  const out = afterRefusal(known, beginVisit(known, START), refusal, POLICY);
  const looks = [
    afterFound(wanted, beginVisit(wanted, START), {}, POLICY),
    afterFound(known, beginVisit(known, START, { force: true }), {}, POLICY),
    afterRefusal(out, beginVisit(out, START, { force: true }), refusal, POLICY),
  ];
  assert.deepEqual(
    looks.map(({ scheduling }) => scheduling.unchangedCount),
    [0, 0, 0],
  );
});

test("failures wait twice as long each time, as long as the server asks, and lose nothing", () => {
  const known = indexed(found(newItem(IDENTITY, START), "1", START, { http: { etag: "e", statusCode: 200 } }));
  let item = known;
  const waits: number[] = [];
  for (let i = 0; i < 13; i += 1) {
    item = failed(item);
    waits.push(secondsToNext(item));
  }
  assert.deepEqual(waits.slice(0, 5), [600, 1200, 2400, 4800, 9600]);
  assert.equal(waits.at(-1), 14 * DAY);
  assert.deepEqual([item.status, item.http.statusCode, item.scheduling.failureCount], ["Error", 503, 13]);
  assert.deepEqual([item.content, item.linkage, item.http.etag], [known.content, known.linkage, "e"]);
  assert.equal(item.scheduling.errorMessage.length, 1024);
  assert.equal(secondsToNext(failed(known, 3_600_500)), 3601, "the server asked for more");
  assert.equal(secondsToNext(failed(known, 1000)), 600, "the server asked for less");
  assert.equal(secondsToNext(failed(known, 1e12)), 14 * DAY, "nobody may ask for years");
  item = found(item);
  assert.deepEqual([item.status, item.scheduling.errorMessage, item.scheduling.failureCount], ["Indexed", "", 0]);
  assert.equal(item.scheduling.unchangedCount, 1);
});

test("an item that the index lacks stays to be indexed while its host fails", () => {
  const crawled = failed(found(newItem(IDENTITY, START), "1"));
  assert.deepEqual([crawled.status, crawled.scheduling.failureCount], ["Crawled", 1]);
  assert.equal(indexed(crawled).status, "Error");
  assert.equal(found(indexed(crawled)).status, "Indexed");
  assert.equal(failed(newItem(IDENTITY, START)).status, "Error");
});

test("three 404 in a row make it gone, whatever fails between them; coming back restores it", () => {
  const known = indexed(found(newItem(IDENTITY, START), "1"));
  const once = missing(known, 404);
  const twice = missing(failed(once), 410);
  assert.deepEqual([once.status, twice.status, secondsToNext(twice)], ["Error", "Error", DAY]);
  assert.deepEqual([twice.linkage.lastIndexedDocId, twice.scheduling.goneCount], ["doc", 2]);
  assert.equal(found(twice).status, "Indexed");
  assert.equal(missing(missing(found(twice))).status, "Error", "the row was broken");
  const gone = missing(twice, 404, after(DAY));
  assert.deepEqual([gone.status, gone.http.statusCode, secondsToNext(gone)], ["Gone", 404, 14 * DAY]);
  assert.deepEqual([gone.linkage.lastIndexedDocId, gone.scheduling.lastChanged], ["", stamp(after(DAY))]);
  const still = missing(failed(gone), 404, after(20 * DAY));
  assert.deepEqual([still.status, still.scheduling.lastChanged], ["Gone", stamp(after(DAY))]);
  assert.equal(indexed(still), still, "an index that was slower does not bring it back");
  const registered = afterRegistration(
    still,
    { identity: IDENTITY, title: "", includeImages: false, force: false },
    START,
  );
  assert.equal(missing(registered).status, "Gone");
  for (const item of [still, registered]) {
    const back = found(item, undefined, after(30 * DAY));
    assert.deepEqual([back.id, back.status, back.content.contentHash], [known.id, "Crawled", "1"]);
    assert.deepEqual([back.scheduling.goneCount, secondsToNext(back)], [0, DAY]);
    assert.equal(back.history.at(-1)?.event, "restored");
    assert.equal(indexed(back).status, "Indexed");
  }
});

test("why the index cannot have a document is known until there is another, or somebody asks", () => {
  const crawled = found(newItem(IDENTITY, START), "1");
  const indexError = "The PDF is damaged.";
  const refused: IngestItem = { ...crawled, status: "Error", linkage: { ...crawled.linkage, indexError } };
  const shown = ({ status, scheduling }: IngestItem): string => `${status} ${scheduling.errorMessage}`.trim();
  assert.equal(shown(found(refused)), `Error ${indexError}`);
  assert.equal(shown(found(failed(refused), "1")), `Error ${indexError}`, "also after a failure");
  assert.equal(shown(found(refused, "2")), "Crawled");
  assert.equal(shown(found(afterForce(refused, START))), "Crawled");
  assert.equal(shown(found(indexed(found(refused)))), "Indexed");
});

test('what is refused leaves, and what it was refused for is not forgotten by "not modified"', () => {
  const known = indexed(found(newItem(IDENTITY, START), "1", START, { http: { etag: "old" } }));
  const robots = afterRefusal(known, beginVisit(known, START), { why: "robots", reason: "robots.txt" }, POLICY);
  assert.deepEqual([robots.status, robots.http.robotsAllowed, robots.http.etag], ["OutOfScope", false, ""]);
  assert.deepEqual([robots.linkage.lastIndexedDocId, robots.scheduling.errorMessage], ["", "robots.txt"]);
  const noindex = afterRefusal(
    known,
    beginVisit(known, START),
    { why: "other", reason: "noindex", http: { etag: "new" } },
    POLICY,
  );
  assert.deepEqual([noindex.status, noindex.http.robotsAllowed, noindex.http.etag], ["OutOfScope", true, "new"]);
  const request = { identity: IDENTITY, title: "", includeImages: false, force: false };
  assert.equal(afterRegistration(noindex, request, START).http.etag, "");
  assert.equal(failed(noindex).status, "OutOfScope");
  let again = noindex;
  for (let i = 0; i < 3; i += 1)
    again = afterRefusal(again, beginVisit(again, START), { why: "other", reason: "noindex" }, POLICY);
  assert.equal(secondsToNext(again), 3 * DAY);
  const back = found(robots);
  assert.deepEqual([back.status, back.http.robotsAllowed, back.scheduling.errorMessage], ["Crawled", true, ""]);
});

test("an address that is another item's points there, and whoever watched it watches that one", () => {
  const known = { ...indexed(found(newItem(IDENTITY, START), "1")), watched: true, includeImages: true, title: "A" };
  const other = identifyUrl("https://example.com/b", USUAL_RULES);
  const alias = afterAlias(known, beginVisit(known, START), { of: other.id, http: { statusCode: 301 } }, POLICY);
  assert.deepEqual([alias.status, alias.aliasOf, alias.http.statusCode], ["OutOfScope", other.id, 301]);
  assert.deepEqual([alias.linkage.lastIndexedDocId, alias.scheduling.errorMessage], ["", ""]);
  const itself = found(alias);
  assert.deepEqual([itself.status, itself.aliasOf, isForced(itself)], ["Crawled", "", false]);
  const target = withWatchOf(newItem(other, START), alias);
  assert.deepEqual([target.watched, target.includeImages, target.title], [true, true, "A"]);
  assert.equal(withWatchOf(target, alias), target);
});

test("each request is served once: by the first look that began after it and got an answer", () => {
  const known = indexed(found(newItem(IDENTITY, START), "1"));
  const twice = afterForce(afterForce(known, after(1)), after(1));
  assert.deepEqual([twice.reindexGeneration, twice.reindexRequested, isForced(twice)], [2, true, true]);
  assert.ok(isDue(twice, after(1)));
  const look = beginVisit(twice, after(2));
  const failure = afterFailure(twice, look, { reason: "busy" }, POLICY);
  assert.deepEqual([isForced(failure), isDue(failure, after(601)), isDue(failure, after(602))], [true, false, true]);

  const served = afterFound(twice, look, { content: { contentHash: "1" } }, POLICY);
  assert.deepEqual([served.status, served.processedGeneration, isForced(served)], ["Crawled", 2, false]);
  assert.equal(served.scheduling.lastChanged, known.scheduling.lastChanged, "the page did not change");
  assert.equal(
    indexed({ ...served, processedGeneration: 1 }, served).status,
    "Crawled",
    "the index has an older generation",
  );
  assert.equal(indexed(served).status, "Indexed");
  assert.equal(found(indexed(served)).status, "Indexed", "and none is served twice");

  const meanwhile = afterFound(afterForce(twice, after(3)), look, { content: { contentHash: "2" } }, POLICY);
  assert.deepEqual([meanwhile.processedGeneration, meanwhile.reindexGeneration], [2, 3]);
  assert.deepEqual([isForced(meanwhile), meanwhile.reindexRequested, isDue(meanwhile, after(3))], [true, true, true]);
  const flagged = { ...known, reindexRequested: true };
  const unflagged = found(flagged);
  assert.deepEqual([unflagged.status, unflagged.processedGeneration, isForced(unflagged)], ["Crawled", 1, false]);
  // Another program asks by setting the flag and the time, also while a look is under way.
  for (const begun of [known, flagged]) {
    const asked = { ...flagged, scheduling: { ...flagged.scheduling, nextCrawlAt: stamp(after(3)) } };
    const since = afterFound(asked, beginVisit(begun, after(2)), {}, POLICY);
    assert.deepEqual([isForced(since), isDue(since, after(3))], [true, true]);
    const then = found(since, undefined, after(4));
    assert.deepEqual([then.status, isForced(then), isDue(then, after(5))], ["Crawled", false, false]);
  }
  for (const answered of [missing(twice), afterRefusal(twice, look, { why: "robots", reason: "" }, POLICY)]) {
    assert.equal(isForced(answered), false);
  }
});

test("another canonical address counts as one request, when that is wanted", () => {
  const canonical = (canonicalUrl: string): Found => ({ http: { canonicalUrl } });
  const known = indexed(found(newItem(IDENTITY, START), "1", START, canonical("https://example.com/a")));
  assert.equal(known.processedGeneration, 0, "the first one is no change");
  const look = beginVisit(known, START);
  const changed = afterFound(known, look, canonical("https://example.com/A"), POLICY);
  assert.deepEqual([changed.status, changed.processedGeneration, isForced(changed)], ["Crawled", 1, false]);
  const asked = afterFound(afterForce(known, START), look, canonical("https://example.com/A"), POLICY);
  assert.deepEqual([asked.processedGeneration, isForced(asked)], [1, true], "a request meanwhile is still owed");
  assert.equal(afterFound(known, look, canonical("https://example.com/a"), POLICY).status, "Indexed");
  assert.equal(afterFound(known, look, {}, POLICY).status, "Indexed");
  const unforced = afterFound(known, look, canonical("https://example.com/A"), {
    ...POLICY,
    forceOnCanonicalChange: false,
  });
  assert.deepEqual([unforced.status, unforced.processedGeneration], ["Indexed", 0]);
  assert.equal(unforced.http.canonicalUrl, "https://example.com/A");
});

test("an index that has another content does not make the item indexed", () => {
  const item = found(indexed(found(newItem(IDENTITY, START), "1")), "2");
  assert.equal(indexed({ ...item, content: { ...item.content, contentHash: "1" } }, item).status, "Crawled");
  const done = indexed(item);
  assert.deepEqual([done.status, done.scheduling.lastIndexed], ["Indexed", stamp(START)]);
  assert.equal(indexed(done), done, "nothing to put");
});

test("a lock keeps others away until it is given back or has run out", () => {
  const free = newItem(IDENTITY, START);
  const held = lock(free, "one", START);
  const end = new Date(START.getTime() + LOCK_MS);
  const cases: readonly (readonly [string, Date, boolean])[] = [
    ["two", START, false],
    ["two", new Date(end.getTime() - 1), false],
    ["two", end, true],
    ["one", START, true],
  ];
  assert.ok(mayLock(free, "two", START));
  for (const [worker, at, may] of cases) assert.equal(mayLock(held, worker, at), may, `${worker} ${at.toISOString()}`);
  assert.equal(lock(held, "one", end).lock.lockedUntil, stamp(new Date(end.getTime() + LOCK_MS)));
  assert.equal(unlock(held, "two"), held);
  assert.deepEqual(unlock(held, "one").lock, { lockedUntil: "", lockedBy: "" });
});

test("the history keeps the last thirty events, and repetitions as one", () => {
  let item = newItem(IDENTITY, START);
  for (let i = 0; i < 40; i += 1) item = withEvent(item, "changed", String(i), after(i));
  assert.deepEqual([item.history.length, item.history[0]?.detail, item.history.at(-1)?.detail], [30, "10", "39"]);
  item = withEvent(withEvent(item, "failed", "x".repeat(2000), after(50)), "failed", "x".repeat(2000), after(51));
  assert.deepEqual([item.history.at(-2)?.event, item.history.at(-1)?.at], ["changed", stamp(after(51))]);
  assert.equal(item.history.at(-1)?.detail.length, 300);
});

function after(seconds: number): Date {
  return new Date(START.getTime() + seconds * 1000);
}

function stamp(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}

function secondsToNext({ scheduling }: IngestItem): number {
  return (Date.parse(scheduling.nextCrawlAt) - Date.parse(scheduling.lastChecked)) / 1000;
}

function found(item: IngestItem, contentHash?: string, at = START, more: Found = {}): IngestItem {
  return afterFound(item, beginVisit(item, at), { ...more, ...(contentHash && { content: { contentHash } }) }, POLICY);
}

function failed(item: IngestItem, retryAfterMs?: number): IngestItem {
  const failure = { reason: "x".repeat(2000), statusCode: 503, ...(retryAfterMs && { retryAfterMs }) };
  return afterFailure(item, beginVisit(item, START), failure, POLICY);
}

function missing(item: IngestItem, statusCode = 404, at = START): IngestItem {
  return afterMissing(item, beginVisit(item, at), statusCode, POLICY);
}

/** The index has it as `listed` was. */
function indexed(listed: IngestItem, item = listed): IngestItem {
  const { content, processedGeneration: generation } = listed;
  return afterIndexed(item, { docId: "doc", contentHash: content.contentHash, generation, at: START });
}
