// Pages and hosts that fail do not end the crawl of a site, and lose nothing.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { parseDomainId, parseSourceId } from "../../src/contracts/ids.ts";
import { type SiteCrawled, SiteWorld } from "./web-site-world.ts";
import { html, linksTo, type PageAnswer, redirect } from "./web-visit-world.ts";

let world: SiteWorld;
beforeEach(async () => {
  world = await SiteWorld.open();
});
afterEach(() => world.close());

const numbered = (path: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${path}${i}`);
const problemsOf = ({ listed }: SiteCrawled): string =>
  listed.flatMap((each) => (each.kind === "unreadable" && !each.itemId ? [each.reason] : [])).join();

/** A front page with links to all of these, each of which is there. */
function siteOf(...paths: string[]): void {
  world.site.set("/", html("Home", linksTo(...paths)));
  for (const path of paths) world.site.set(path, html(path));
}

/** Lists until more than `count` items were seen, and goes away. Their ids. */
async function cutAfter(count: number): Promise<string[]> {
  const listing = world.source().list(new AbortController().signal);
  const seen: string[] = [];
  while (seen.length <= count) {
    const { done, value } = await listing.next();
    assert.ok(!done, "it was cut off before its end");
    for (const each of value) if (each.kind === "sighting") seen.push(each.itemId);
  }
  await listing.return("partial");
  return seen;
}

async function loseRecords(which: (id: string) => boolean): Promise<number> {
  const { registry, ledgers } = world.world;
  let lost = 0;
  for await (const page of registry.entries()) {
    for (const { item, version } of page) {
      if (!which(item.id)) continue;
      lost += 1;
      await registry.delete(item.id, version);
      const key = { domainId: parseDomainId("STORY"), sourceId: parseSourceId("site"), itemId: item.id };
      await ledgers.members.change([key], () => undefined);
    }
  }
  return lost;
}

test("pages that are not shown to everybody are no reason to leave a site alone", async () => {
  const closed = numbered("/members/", 40);
  siteOf(...closed, "/a");
  for (const path of closed) world.site.set(path, { status: 403 });
  world.site.set("/a", html("A", linksTo("/b")));
  world.site.set("/b", html("B"));
  const crawled = await world.crawl();
  assert.deepEqual([crawled.completeness, crawled.pages], ["complete", ["/", "/a", "/b"]]);
});

test("a host that stops answering is left alone; the others are crawled, and that is a crawl with an end", async () => {
  const port = new URL(world.site.origin).port;
  const dead = numbered(`http://localhost:${port}/dead/`, 60);
  siteOf("/a", "/b");
  world.site.set("/", html("Home", linksTo(...dead, "/a", "/b")));
  const startUrls = [world.world.url("/"), `http://localhost:${port}/alive`];
  world.site.set("/alive", html("Alive"));
  for (const url of dead) world.site.set(new URL(url).pathname, { status: 500 });
  const crawled = await world.crawl({ startUrls });
  assert.deepEqual(crawled.pages, ["/", "/a", "/alive", "/b"]);
  assert.equal(crawled.completeness, "partial");
  assert.match(problemsOf(crawled), /^localhost:\d+ stopped answering: \d+ addresses not visited$/);
  assert.ok(world.site.asked.filter((line) => line.includes("/dead/")).length < 40);
  assert.deepEqual(
    world.inLedger("SELECT finished FROM site_crawl").map((row) => row["finished"]),
    [1],
  );
});

test("a server that dies while pages nobody links to are looked at is left alone, too", async () => {
  siteOf(...numbered("/u/", 60));
  await world.crawl();
  world.site.set("/", html("Home", "<p>Nothing.</p>"));
  world.site.onRequest = (path) => {
    if (path.startsWith("/u/")) world.site.trouble = { status: 500 };
  };
  world.site.forgetRequests();
  const crawled = await world.crawl();
  assert.deepEqual([crawled.completeness, crawled.departed], ["partial", []]);
  assert.match(problemsOf(crawled), /stopped answering: \d+ addresses not visited/);
  assert.ok(world.site.asked.length < 50, `${world.site.asked.length} requests`);
});

test("a page that fails is tried once more before the crawl ends, and so is what it links to then", async () => {
  siteOf("/a", "/b");
  const once = (page: string): (() => PageAnswer) => {
    let asked = 0;
    return () => (asked++ === 0 ? { status: 500 } : { body: page });
  };
  world.site.set("/", once(html("Home", linksTo("/a", "/b"))));
  world.site.set("/a", once(html("A", linksTo("/c"))));
  world.site.set("/c", html("C"));
  world.site.set("/b", { status: 500 });
  const crawled = await world.crawl();
  assert.deepEqual([crawled.completeness, crawled.pages], ["complete", ["/", "/a", "/c"]]);
  assert.equal(crawled.listed.filter(({ kind }) => kind === "unreadable").length, 1, "each is reported once");
  assert.equal(world.site.asked.filter((line) => line === "GET /b").length, 2);
});

test("what a page links to is not known while it cannot be read, also not to later crawls", async () => {
  siteOf("/a", "/x");
  world.site.set("/a", html("A", linksTo("/c")));
  world.site.set("/c", html("C"));
  await world.crawl();
  world.site.set("/a", { status: 503 });
  const startUrls = ["/", "/x"].map((path) => world.world.url(path));
  await world.crawl({ startUrls });
  world.site.set("/a", html("A", linksTo("/c")));
  for (let crawl = 0; crawl < 3; crawl++) {
    const { pages, departed } = await world.crawl({ startUrls });
    assert.deepEqual([pages, departed], [["/", "/a", "/c", "/x"], []]);
  }
});

test("a page that is missing stays, also when the registry was lost; a dead link is nothing to report", async () => {
  siteOf("/a");
  await world.crawl();
  assert.equal(await loseRecords(() => true), 2);
  world.site.pages.delete("/a");
  const { listed, completeness } = await world.crawl();
  assert.equal(completeness, "complete");
  assert.deepEqual(
    listed.map((each) => [each.kind, each.kind === "undecided" && each.itemId === world.world.id("/a")]),
    [
      ["sighting", false],
      ["undecided", true],
    ],
  );
});

test("a page that is not shown to us stays when the registry was lost; one that asks not to be indexed leaves", async () => {
  siteOf("/a", "/b", "/c");
  await world.crawl();
  await loseRecords(() => true);
  world.site.set("/a", { status: 403 });
  world.site.set("/b", redirect("/b", 302));
  world.site.set("/c", html("C", "", '<meta name="robots" content="noindex">'));
  const { listed } = await world.crawl();
  const kept = listed.flatMap((each) => (each.kind === "undecided" ? [each.itemId] : []));
  assert.deepEqual(kept.sort(), [world.world.id("/a"), world.world.id("/b")].sort());
});

test("an item whose record was lost stays for as long as one that nobody links to", async () => {
  siteOf("/a");
  await world.crawl();
  const found = await world.world.registry.get(world.world.id("/a"));
  await world.world.registry.delete(world.world.id("/a"), found?.version ?? "");
  world.site.set("/", html("Home", "<p>Nothing.</p>"));
  const kinds = async (): Promise<string[]> => (await world.crawl()).listed.map(({ kind }) => kind);
  assert.deepEqual(await kinds(), ["sighting", "undecided"]);
  assert.deepEqual(await kinds(), ["sighting", "undecided"]);
  assert.deepEqual(await kinds(), ["sighting", "departed"]);
  assert.deepEqual(await kinds(), ["sighting"]);
});

test("a crawl that goes on looks again at pages of which the registry knows nothing", async () => {
  siteOf(...numbered("/u/", 40));
  const seen = await cutAfter(33);
  const lost = new Set(seen.slice(5, 25));
  assert.equal(await loseRecords((id) => lost.has(id)), 20);
  const { pages, completeness } = await world.crawl();
  assert.deepEqual([pages.length, completeness], [41, "complete"]);
});

test("crawls that were cut off do not count for pages that nobody links to", async () => {
  siteOf(...numbered("/u/", 40));
  await world.crawl();
  world.site.set("/", html("Home", "<p>Nothing.</p>"));
  await cutAfter(33);
  await cutAfter(33);
  for (const crawl of [1, 2]) assert.deepEqual((await world.crawl()).departed, [], `crawl ${crawl}`);
  assert.equal((await world.crawl()).departed.length, 40);
});

test("a list that cannot be read now still names what it named", async () => {
  const named = world.world.url("/named");
  const listed = world.world.url("/listed");
  world.site.set("/", html("Home", "<p>Nothing.</p>"));
  world.site.set("/llms.txt", { type: "text/plain", body: `# Site\n\n- [Named](${named})\n` });
  world.site.set("/sitemap.xml", { type: "text/xml", body: `<urlset><url><loc>${listed}</loc></url></urlset>` });
  for (const path of ["/named", "/listed"]) world.site.set(path, html(path));
  assert.deepEqual((await world.crawl()).pages, ["/", "/listed", "/named"]);
  for (const answer of [{ status: 503 }, { status: 403 }, { body: html("Sign in") }]) {
    world.site.set("/llms.txt", answer);
    world.site.set("/sitemap.xml", answer);
    const crawled = await world.crawl();
    assert.deepEqual([crawled.completeness, crawled.pages], ["partial", ["/", "/listed", "/named"]]);
    assert.match(problemsOf(crawled), /sitemap\.xml could not be read.*llms\.txt could not be read/);
  }
  for (const path of ["/llms.txt", "/sitemap.xml"]) world.site.pages.delete(path);
  for (const crawl of [1, 2]) {
    const { completeness, departed } = await world.crawl();
    assert.deepEqual([completeness, departed], ["complete", []], `crawl ${crawl} without them`);
  }
  assert.deepEqual((await world.crawl()).departed, ["/listed", "/named"]);
});

test("pages that are none have an end as well, and the sentence says so", async () => {
  world.site.set("/robots.txt", { type: "text/plain", body: "User-agent: *\nDisallow: /closed/" });
  world.site.set("/", html("Home", linksTo(...numbered("/closed/", 1500))));
  const crawled = await world.crawl({ maxPages: 2 });
  assert.equal(crawled.completeness, "partial");
  assert.match(problemsOf(crawled), /^1008 addresses gave only 1 page, .* max_pages is 2: 493 addresses left/);
});

test("what moved names where it is now", async () => {
  siteOf("/old");
  await world.crawl();
  world.site.set("/old", redirect("/new"));
  world.site.set("/new", html("/old"));
  const { listed } = await world.crawl();
  const successor = listed.flatMap((each) => (each.kind === "departed" ? [each.itemId, each.successor] : []));
  assert.deepEqual(successor, [world.world.id("/old"), world.world.id("/new")]);
});

test("a number called sid is part of the address; a session is not", async () => {
  const session = "0123456789abcdef0123";
  siteOf("/article?sid=1", "/article?sid=2", `/s?sid=${session}`);
  for (const path of ["/s", `/s?sid=${session}`]) world.site.set(path, html("Session"));
  for (const number of [1, 2]) world.site.set(`/article?sid=${number}`, html(`Article ${number}`));
  assert.deepEqual((await world.crawl()).pages, ["/", "/article?sid=1", "/article?sid=2", "/s"]);
});

test("a sitemap may have a prefix; one that is too long makes the crawl incomplete, also when it is not modified", async () => {
  const urls = Array.from({ length: 50_001 }, () => `<sm:url><sm:loc>${world.world.url("/a")}</sm:loc></sm:url>`);
  world.site.set("/", html("Home", "<p>Nothing.</p>"));
  world.site.set("/a", html("A"));
  world.site.set("/sitemap.xml", { type: "text/xml", body: `<sm:urlset xmlns:sm="s">${urls.join("")}</sm:urlset>` });
  for (const crawl of [1, 2]) {
    const crawled = await world.crawl();
    assert.deepEqual([crawled.completeness, crawled.pages], ["partial", ["/", "/a"]], `crawl ${crawl}`);
    assert.match(problemsOf(crawled), /sitemap\.xml names more than 50000 addresses/);
  }
});
