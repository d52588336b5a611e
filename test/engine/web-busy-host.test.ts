// An address that asks to wait is left alone, and three of them speak for their host.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { html, linksTo, type PageAnswer } from "../sources/web-visit-world.ts";
import { WebStory } from "./web-story.ts";

const COUNT = 12;
const PATHS = Array.from({ length: COUNT }, (_, i) => `/p${i}`);
const wordOf = (path: string): string => path.replace("/p", "creature");
const busy = (status: number): PageAnswer => ({ status, headers: { "retry-after": "7200" }, etag: null });

let story: WebStory;
before(async () => {
  story = await WebStory.open({}, { WEB_PAGES_AT_ONCE: "1", WEB_REQUESTS_PER_HOST: "1" });
});
after(() => story.close());

function setPages(word: string): void {
  story.site.set("/", html("About gnu", linksTo(...PATHS)));
  for (const path of PATHS) story.site.set(path, html(`About ${word} ${wordOf(path)}`));
}

async function states(): Promise<Record<string, string>> {
  const items = await Promise.all(["/", ...PATHS].map((path) => story.item(path)));
  return Object.fromEntries(
    items.map(({ normalizedSource, status, scheduling }) => [
      normalizedSource.slice(story.site.origin.length),
      `${status} ${scheduling.crawlAttempts} ${scheduling.errorMessage}`,
    ]),
  );
}

test("an address that asks to wait is left alone, and nobody else", async () => {
  setPages("okapi");
  await story.crawl();
  setPages("tapir");
  story.site.set("/p4", busy(503));
  const { error } = await story.crawl();
  assert.match(error, /p4 answered 503 and asks to wait/);
  const now = await states();
  assert.match(now["/p4"] ?? "", /^Error 1 .*answered 503/);
  for (const path of PATHS.filter((each) => each !== "/p4")) {
    assert.equal(now[path], "Indexed 0 ", path);
    assert.deepEqual(await story.found(wordOf(path)), [path]);
  }
  assert.deepEqual((await story.found("okapi")).concat((await story.found("tapir")).slice(0, 1)), ["/p4", "/p0"]);
  story.site.forgetRequests();
  story.site.set("/p4", html("About tapir creature4"));
  const second = await story.crawl();
  assert.ok(!story.site.asked.includes("GET /p4"), "it is not asked before its time");
  assert.doesNotMatch(second.error, /robots/);
  assert.match((await states())["/p4"] ?? "", /^Error 1 /, "and nobody counts what was not asked");
  assert.equal(story.site.asked.filter((line) => /\/p\d+$/.test(line)).length, COUNT - 1);
  await story.reopen();
  assert.equal((await story.crawl()).error, "", "a later process asks anew");
});

test("three addresses that ask to wait speak for their host: the others are not now, and what is known of them stays", async () => {
  setPages("lemur");
  for (const path of ["/p1", "/p2", "/p3"]) story.site.set(path, busy(429));
  const before = await states();
  story.site.forgetRequests();
  const { error, source } = await story.crawl();
  const asked = story.site.asked.filter((line) => /\/p\d+$/.test(line));
  assert.deepEqual(asked, ["GET /p0", "GET /p1", "GET /p2", "GET /p3"]);
  assert.match(error, /127\.0\.0\.1:\d+ answered 429 and asks to wait.*8 addresses not visited/);
  assert.doesNotMatch(error, /robots/);
  assert.equal(source.complete, false);
  const now = await states();
  for (const path of PATHS.slice(4)) {
    assert.equal(now[path], before[path], path);
    assert.ok((await story.item(path)).scheduling.nextCrawlAt > new Date().toISOString(), "asked later");
  }
  for (const path of ["/p1", "/p2", "/p3"]) assert.match(now[path] ?? "", /^Error .*429/);
  story.site.forgetRequests();
  const second = await story.crawl();
  assert.deepEqual(story.site.asked, []);
  assert.match(second.error, /answered 429 and asks to wait/);
  assert.doesNotMatch(second.error, /robots/);
  assert.deepEqual(await states(), now);
  for (const path of PATHS) assert.equal((await story.found(wordOf(path))).length, 1, path);
  await story.reopen();
  setPages("lemur");
  assert.equal((await story.crawl()).error, "");
  assert.deepEqual(await story.found("tapir"), []);
});
