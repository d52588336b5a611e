// A web site is crawled completely, once, and cheaply the second time.
import assert from "node:assert/strict";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { gzipSync } from "node:zlib";
import { runAhead } from "../../src/lib/concurrency.ts";
import { createPageVisitor } from "../../src/sources/web/page-visitor.ts";
import { createWebClient } from "../../src/sources/web/web-client.ts";
import { SiteWorld } from "./web-site-world.ts";
import { CLIENT, html, linksTo, redirect } from "./web-visit-world.ts";

let world: SiteWorld;
beforeEach(async () => {
  world = await SiteWorld.open();
});
afterEach(() => world.close());

const noindex = '<meta name="robots" content="noindex">';
const canonical = (href: string): string => `<link rel="canonical" href="${href}">`;
const sitemap = (...paths: string[]): string =>
  `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${paths
    .map((path) => `<url><loc>${world.site.origin}${path}</loc><lastmod>2020-01-01</lastmod></url>`)
    .join("")}</urlset>`;

/** A front page, two pages below, one of them with a page below, and what no crawl should trip over. */
function plainSite(): void {
  world.site.set(
    "/",
    html("Home", linksTo("/a", "/b#part", "/b?utm_source=x", "mailto:a@b.c", "https://elsewhere.example/")),
  );
  world.site.set("/a", html("Alpha", linksTo("/", "/a/deep", "b")));
  world.site.set("/b", html("Beta", linksTo("/a", "/old", "/dead")));
  world.site.set("/a/deep", html("Deep", linksTo("/a")));
  world.site.set("/old", redirect("/a/deep"));
}

test("every page that can be reached is listed once, and a second crawl downloads nothing", async () => {
  plainSite();
  const first = await world.crawl({}, { pagesAtOnce: 1 });
  assert.equal(first.completeness, "complete");
  assert.deepEqual(first.pages, ["/", "/a", "/a/deep", "/b"]);
  assert.deepEqual(await world.members(), ["/", "/a", "/a/deep", "/b"]);
  const asked = world.site.asked.filter((line) => /^GET \/(a|b|a\/deep|old)?$/.test(line));
  assert.deepEqual(asked.length, new Set(asked).size, `each is asked once: ${asked.join()}`);
  world.site.forgetRequests();
  const second = await world.crawl();
  assert.deepEqual(second.pages, first.pages);
  assert.deepEqual(world.site.bodies, []);
  assert.deepEqual(
    second.listed.map((each) => each.kind === "sighting" && each.fingerprint).sort(),
    first.listed.map((each) => each.kind === "sighting" && each.fingerprint).sort(),
  );
});

test("a page and its Markdown are downloaded once, whichever comes first in a crawl, and the links of both are followed", async () => {
  const { site } = world;
  const twice = (name: string, ...links: string[]): void => {
    const head = `<link rel="alternate" type="text/markdown" href="/${name}.md">`;
    site.set(`/${name}`, html(name, linksTo(...links), head));
    site.set(`/${name}.md`, { type: "text/markdown", body: `# ${name}\n\nSee [more](/below-${name}).\n` });
    site.set(`/below-${name}`, html(`Below ${name}`));
  };
  site.set("/", html("Home", linksTo("/one")));
  twice("one", "/two");
  twice("two");
  const orders = ["", "# Site\n\n- [Two](/two.md)\n", "", "# Site\n\n- [Two](/two.md)\n"];
  for (const [at, list] of orders.entries()) {
    if (list === "") site.pages.delete("/llms.txt");
    else site.set("/llms.txt", { type: "text/plain", body: list });
    site.forgetRequests();
    const { pages } = await world.crawl({}, { pagesAtOnce: 1 });
    assert.deepEqual(pages, ["/", "/below-one", "/below-two", "/one", "/two"]);
    if (at > 0)
      assert.deepEqual(
        site.bodies.filter((path) => path !== "/llms.txt"),
        [],
        `crawl ${at + 1}`,
      );
  }
});

test("a sighting is named after its address", async () => {
  world.site.set("/", html("Home", linksTo("/docs/install", "/Gr%C3%BC%C3%9Fe/%2Fx.html?q=1%2F2", "/paper.pdf")));
  world.site.set("/docs/install", html("Install"));
  world.site.set("/Gr%C3%BC%C3%9Fe/%2Fx.html?q=1%2F2", html("Greetings"));
  world.site.set("/paper.pdf", { type: "application/pdf", body: "%PDF-1.4" });
  const { listed } = await world.crawl();
  const host = new URL(world.site.origin).host;
  assert.deepEqual(
    listed.flatMap((each) => (each.kind === "sighting" ? [[each.path, each.name, each.documentType]] : [])).sort(),
    [
      [`${host}/Grüße/_x_q=1_2.md`, "_x_q=1_2.md", "md"],
      [`${host}/docs/install.md`, "install.md", "md"],
      [`${host}/index.md`, "index.md", "md"],
      [`${host}/paper.pdf`, "paper.pdf", "pdf"],
    ],
  );
});

test("what links hold that nobody should write down is not written down", async () => {
  const secretive = `${world.site.origin.replace("http://", "http://user:hunter2@")}/a?token=hunter2`;
  world.site.set("/", html("Home", linksTo(secretive, "/a?sig=hunter2&se=1")));
  world.site.set("/sitemap.xml", { type: "text/xml", body: sitemap("/a?password=hunter2") });
  world.site.set("/a", html("A"));
  assert.deepEqual((await world.crawl()).pages, ["/", "/a"]);
  assert.doesNotMatch(world.remembered(), /hunter2/);
});

test("links are followed without their secrets, and as they are where a name only looks like one", async () => {
  const links = ["/a?private_token=hunter2&x=1", "/b?key=red", "/c?code=404", "/d?key=ghp_hunter2hunter2"];
  world.site.set("/", html("Home", linksTo(...links)));
  for (const path of ["/a?x=1", "/b?key=red", "/c?code=404", "/d"]) world.site.set(path, html(path));
  assert.deepEqual((await world.crawl()).pages, ["/", "/a?x=1", "/b?key=red", "/c?code=404", "/d"]);
  assert.doesNotMatch(world.site.asked.join(), /hunter2/);
});

test("a start address that holds a secret from earlier is crawled without it, and the log says so", async () => {
  plainSite();
  const { pages, log } = await world.crawl({ startUrls: [`${world.site.origin}/?feed_token=hunter2`] });
  assert.ok(pages.includes("/"));
  assert.match(
    log.join(),
    /^(?!.*hunter2).*WARNING: start address 1 holds a key, token or signature \('feed_token'\)/s,
  );
});

test("a feed that is a start address with a token from earlier is asked for without it, and nothing of that is written down", async () => {
  const feed = (...paths: string[]): string =>
    `<rss version="2.0"><channel>${paths.map((path) => `<item><link>${world.site.origin}${path}</link></item>`).join("")}</channel></rss>`;
  world.site.set("/feed.xml", { type: "text/xml", body: feed("/a") });
  world.site.set("/a", html("A"));
  const startUrls = [`${world.site.origin}/feed.xml?feed_token=hunter2`];
  const { pages, log } = await world.crawl({ startUrls });
  assert.deepEqual(pages, ["/a"]);
  assert.match(log.join(), /WARNING: start address 1 holds a key, token or signature \('feed_token'\)/);
  // A server that insists on it is not there now: what was named stays.
  world.site.set("/feed.xml", { status: 401 });
  const { departed } = await world.crawl({ startUrls });
  assert.deepEqual(departed, []);
  assert.doesNotMatch(world.site.asked.join(), /hunter2/);
  assert.doesNotMatch(world.remembered(), /hunter2/);
});

test("include and exclude choose by path or by whole address; the way may lead through what is not wanted", async () => {
  world.site.set("/", html("Home", linksTo("/docs", "/blog", "/docs/a", "/docs/secret/b")));
  for (const path of ["/docs", "/blog", "/docs/a", "/docs/secret/b"]) world.site.set(path, html(path));
  const { pages } = await world.crawl({ include: ["/docs/**"], exclude: [`${world.site.origin}/docs/secret/**`] });
  assert.deepEqual(pages, ["/docs", "/docs/a"]);
  const wider = await world.crawl();
  assert.deepEqual(wider.pages, ["/", "/blog", "/docs", "/docs/a", "/docs/secret/b"]);
  const { departed } = await world.crawl({ exclude: ["/blog"] });
  assert.deepEqual(departed, ["/blog"]);
});

test("limits make the listing partial, and the sentence says which one", async () => {
  plainSite();
  const shallow = await world.crawl({ maxDepth: 1 });
  assert.deepEqual([shallow.completeness, shallow.pages], ["partial", ["/", "/a", "/b"]]);
  assert.match(JSON.stringify(shallow.listed.at(-1)), /max_depth \(1\) was reached: \d addresses not visited/);
  const few = await world.crawl({ maxPages: 2 });
  assert.equal(few.completeness, "partial");
  assert.match(JSON.stringify(few.listed.at(-1)), /max_pages \(2\) was reached/);
  assert.equal((await world.crawl({ maxDepth: 0 })).pages.length, 1 + 2, "the start, and members that are still there");
});

test("a calendar without end, paths that repeat themselves and session ids end by themselves", async () => {
  world.site.set(
    "/",
    html(
      "Home",
      linksTo("/cal/1", "/x/x/x/x/page", `/${"l".repeat(2001)}`, "/s?PHPSESSID=1f4b7c9d2a", "/s;jsessionid=2e5a8b0c3d"),
    ),
  );
  for (const path of ["/s", "/s?PHPSESSID=1f4b7c9d2a", "/s;jsessionid=2e5a8b0c3d"])
    world.site.set(path, html("Session"));
  for (let day = 1; day < 40; day++) world.site.set(`/cal/${day}`, html(`Day ${day}`, linksTo(`/cal/${day + 1}`)));
  const { pages, completeness, log } = await world.crawl({ maxDepth: 5 });
  assert.deepEqual(pages, ["/", "/cal/1", "/cal/2", "/cal/3", "/cal/4", "/cal/5", "/s"]);
  assert.equal(completeness, "partial");
  assert.match(log.join("\n"), /Skipped 2 addresses/);
});

test("sitemaps from robots.txt, an index, a packed one, feeds and llms.txt lead to pages nobody links to", async () => {
  const { site } = world;
  site.set(
    "/",
    html(
      "Home",
      "",
      '<link rel="alternate" type="application/rss+xml" href="/rss"><link rel="alternate" type="application/atom+xml" href="/atom"><link rel="alternate" type="application/feed+json" href="/feed.json">',
    ),
  );
  site.set("/robots.txt", { type: "text/plain", body: `Sitemap: ${site.origin}/maps.xml` });
  site.set("/maps.xml", {
    type: "application/xml",
    body: `<sitemapindex><sitemap><loc>${site.origin}/one.xml.gz</loc></sitemap><sitemap><loc><![CDATA[${site.origin}/two.xml]]></loc></sitemap></sitemapindex>`,
  });
  site.set("/one.xml.gz", { type: "application/gzip", body: gzipSync(sitemap("/packed?a=1&amp;b=2")) });
  site.set("/two.xml", { type: "text/xml", body: sitemap("/plain") });
  site.set("/sitemap.xml", { type: "text/xml", body: sitemap("/usual") });
  site.set("/rss", {
    type: "application/rss+xml",
    body: `<rss version="2.0"><channel><link>${site.origin}/</link><item><link>${site.origin}/rss-item</link></item></channel></rss>`,
  });
  site.set("/atom", {
    type: "application/atom+xml",
    body: '<feed xmlns="http://www.w3.org/2005/Atom"><link href="/"/><entry><link rel="edit" href="/edit"/><link href="/atom-item"/></entry></feed>',
  });
  site.set("/feed.json", {
    type: "application/feed+json",
    body: '{"version":"https://jsonfeed.org/version/1.1","items":[{"url":"/json-item"}]}',
  });
  site.set("/llms.txt", { type: "text/plain", body: "# Site\n\n- [Guide](/guide.md)\n" });
  site.set("/guide.md", { type: "text/markdown", body: "# Guide\n" });
  const found = ["/packed?a=1&b=2", "/plain", "/usual", "/rss-item", "/atom-item", "/json-item"];
  for (const path of found) site.set(path, html(path));
  const { pages, completeness } = await world.crawl();
  assert.deepEqual(pages, ["/", "/guide.md", ...found].sort());
  assert.equal(completeness, "complete");
  site.forgetRequests();
  assert.deepEqual((await world.crawl()).pages, pages, "also when the front page that names the feeds is unchanged");
  assert.deepEqual(site.bodies, [], "lists are asked conditionally, too");
  site.set("/two.xml", { status: 500 });
  const { completeness: now, pages: then } = await world.crawl();
  assert.deepEqual([now, then], ["partial", pages]);
  site.set("/two.xml", { type: "text/xml", body: sitemap("/plain") });
  site.forgetRequests();
  await world.crawl();
  assert.deepEqual(site.bodies, [], "what it named is remembered meanwhile");
  site.set("/llms.txt", {
    type: "text/plain",
    body: `# Site\n\n- [Packed](${site.origin}/packed?a=1&b=2)\n- [New](/new.md)\n`,
  });
  site.set("/new.md", { type: "text/markdown", body: "# New\n" });
  assert.ok((await world.crawl()).pages.includes("/new.md"));
});

test("lists that are broken, hostile or endless harm nobody", async () => {
  const { site } = world;
  site.set("/", html("Home", linksTo("/a"), '<link rel="alternate" type="application/rss+xml" href="/rss">'));
  site.set("/a", html("A"));
  const bomb = gzipSync(Buffer.alloc(60 * 1024 * 1024, " "));
  site.set("/robots.txt", {
    type: "text/plain",
    body: ["/bomb.xml.gz", "/circle.xml", "/odd.xml", "/blanks.xml"]
      .map((path) => `Sitemap: ${site.origin}${path}`)
      .join("\n"),
  });
  site.set("/bomb.xml.gz", { type: "application/gzip", body: bomb });
  site.set("/circle.xml", {
    type: "text/xml",
    body: `<sitemapindex><sitemap><loc>${site.origin}/circle.xml</loc></sitemap></sitemapindex>`,
  });
  site.set("/odd.xml", {
    type: "text/xml",
    body: "<urlset><loc>http://</loc><loc>javascript:alert(1)</loc><loc>https://elsewhere.example/</loc><loc>",
  });
  site.set("/blanks.xml", {
    type: "text/xml",
    body: `<urlset><url><loc>${site.origin}/b</loc><lastmod>${" ".repeat(50_000)}<x/></url></urlset>`,
  });
  site.set("/b", html("B", linksTo(`/${"urls".repeat(1900)}`)));
  site.set("/rss", {
    type: "text/xml",
    body: `<!DOCTYPE rss [<!ENTITY a "${"x".repeat(100)}"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><rss><channel><item><link>&b;&b;</link></item></channel></rss>`,
  });
  const { pages, completeness, listed } = await world.crawl();
  assert.deepEqual([pages, completeness], [["/", "/a", "/b"], "partial"]);
  assert.match(JSON.stringify(listed.at(-1)), /bomb\.xml\.gz could not be read/);
});

test("a start address may be a sitemap, a feed or Markdown, told by what it holds", async () => {
  const { site } = world;
  site.set("/list", { type: "text/xml", body: sitemap("/x") });
  site.set("/map.xml", { type: "text/xml", body: sitemap("/y") });
  site.set("/llms-full.txt", { type: "text/plain", body: "# All\n\nSee [z](/z).\n" });
  for (const path of ["/x", "/y", "/z"]) site.set(path, html(path));
  const startUrls = ["/list", "/map.xml", "/llms-full.txt"].map((path) => site.origin + path);
  assert.deepEqual((await world.crawl({ startUrls })).pages, ["/llms-full.txt", "/x", "/y", "/z"]);
  assert.deepEqual((await world.crawl({ startUrls, maxDepth: 0 })).pages, ["/llms-full.txt", "/x", "/y", "/z"]);
});

test("404 and a new canonical link three times, and noindex at once, make a page leave; failures do not", async () => {
  world.site.set("/", html("Home", linksTo("/gone", "/noindex", "/robots", "/twin", "/sick", "/stays")));
  for (const path of ["/gone", "/noindex", "/robots", "/twin", "/sick", "/stays"]) world.site.set(path, html(path));
  assert.equal((await world.crawl()).pages.length, 7);
  world.site.pages.delete("/gone");
  world.site.set("/noindex", html("/noindex", "", noindex));
  world.site.set("/twin", html("/twin", "", canonical("/stays")));
  world.site.set("/sick", { status: 500 });
  const first = await world.crawl();
  assert.deepEqual(first.departed, ["/noindex"]);
  assert.deepEqual(first.unreadable, ["/sick", "/twin"]);
  assert.deepEqual(first.pages, ["/", "/robots", "/stays"]);
  assert.deepEqual(
    first.listed.flatMap((each) => (each.kind === "undecided" ? [each.itemId] : [])),
    [world.world.id("/gone")],
  );
  assert.equal(first.completeness, "complete");
  assert.deepEqual((await world.crawl()).departed, ["/noindex"]);
  assert.deepEqual((await world.crawl()).departed, ["/gone", "/noindex", "/twin"]);
  world.site.set("/gone", html("/gone"));
  world.site.set("/sick", html("/sick"));
  assert.deepEqual((await world.crawl()).pages, ["/", "/gone", "/robots", "/sick", "/stays"]);
});

test("a page that nobody links to any more leaves after three complete crawls", async () => {
  plainSite();
  await world.crawl();
  world.site.set("/a", html("Alpha", linksTo("/")));
  world.site.set("/b", html("Beta"));
  for (const crawl of [1, 2]) {
    const { pages, departed } = await world.crawl();
    assert.deepEqual([pages, departed], [["/", "/a", "/a/deep", "/b"], []], `crawl ${crawl}`);
  }
  assert.deepEqual((await world.crawl({ maxPages: 2 })).departed, [], "an incomplete crawl does not count");
  assert.deepEqual((await world.crawl()).departed, ["/a/deep"]);
  assert.deepEqual(await world.members(), ["/", "/a", "/b"]);
});

test("pages below one that cannot be read now are still linked to", async () => {
  plainSite();
  await world.crawl();
  world.site.set("/a", { status: 500 });
  world.site.set("/b", html("Beta"));
  for (let i = 0; i < 3; i++) {
    const { pages, departed, unreadable } = await world.crawl();
    assert.deepEqual([pages, departed, unreadable], [["/", "/a/deep", "/b"], [], ["/a"]]);
  }
});

test("a site that robots.txt closes leaves page by page", async () => {
  plainSite();
  await world.crawl();
  world.site.set("/robots.txt", { type: "text/plain", body: "User-agent: *\nDisallow: /" });
  const client = createWebClient(CLIENT);
  const visitor = createPageVisitor({ ...world.world.parts, client });
  const { completeness, departed, listed } = await world.crawl({}, { client, visitor });
  await client.close();
  assert.deepEqual([completeness, departed], ["partial", ["/", "/a", "/a/deep", "/b"]]);
  assert.match(JSON.stringify(listed.at(-1)), /robots\.txt/);
});

test("no start address: an error; one of two: partial", async () => {
  plainSite();
  world.site.set("/movie", { type: "video/mp4", body: "x" });
  await assert.rejects(world.crawl({ startUrls: [`${world.site.origin}/movie`] }), /video\/mp4 is not accepted/);
  const sick = `${world.site.origin}/sick`;
  world.site.set("/sick", { status: 500 });
  await assert.rejects(world.crawl({ startUrls: [sick] }), /no start address could be visited: .*\/sick: .*500/);
  const { completeness, pages } = await world.crawl({ startUrls: [`${world.site.origin}/`, sick] });
  assert.deepEqual([completeness, pages], ["partial", ["/", "/a", "/a/deep", "/b"]]);
});

test("a site that stops answering is left alone, and the next crawl goes on from there", async () => {
  const paths = Array.from({ length: 240 }, (_, i) => `/p${i}`);
  world.site.set("/", html("Home", linksTo(...paths)));
  for (const path of paths) world.site.set(path, html(path));
  world.site.onRequest = () => {
    if (world.site.asked.length === 50) world.site.trouble = { status: 500 };
  };
  const { completeness, listed } = await world.crawl();
  assert.equal(completeness, "partial");
  assert.match(JSON.stringify(listed.at(-1)), /stopped answering: \d+ addresses not visited/);
  // Answers that were on their way begin the count of failures anew.
  assert.ok(world.site.asked.length < 200, `${world.site.asked.length} requests`);
  world.site.onRequest = () => undefined;
  world.site.trouble = undefined;
  world.site.forgetRequests();
  const next = await world.crawl();
  assert.deepEqual([next.completeness, next.pages.length], ["complete", 241]);
  assert.ok(world.site.bodies.length < 210, `${world.site.bodies.length} of 240 pages were downloaded again`);
});

test("a crawl that was cut off goes on with what is left", async () => {
  plainSite();
  const stop = new AbortController();
  world.site.onRequest = (path) => {
    if (path === "/a/deep") stop.abort();
  };
  const cut = world.source({}, { pagesAtOnce: 1 }).list(stop.signal);
  await assert.rejects(async () => {
    while (!(await cut.next()).done);
  }, /stopped|cancelled/);
  world.site.onRequest = () => undefined;
  world.site.forgetRequests();
  const { pages, log, completeness } = await world.crawl();
  assert.deepEqual([pages, completeness], [["/", "/a", "/a/deep", "/b"], "complete"]);
  assert.match(log.join("\n"), /Resuming the crawl of .*: \d pages? visited already/);
  assert.ok(!world.site.asked.includes("GET /a"), world.site.asked.join());
  const left = world.inLedger(
    "SELECT page_id FROM page WHERE crawl_no = (SELECT crawl_no FROM site_crawl WHERE finished)",
  );
  assert.equal(left.length, 6, "four pages, an alias and a dead link");
  assert.doesNotMatch((await world.crawl()).log.join(), /Resuming/, "a finished crawl is not gone on with");
});

test("a crawl that was cut off goes on with the feeds that its pages named", async () => {
  const { site } = world;
  const feed = '<link rel="alternate" type="application/rss+xml" href="/rss">';
  site.set("/", html("Home", linksTo("/a"), feed));
  site.set("/a", html("Alpha", linksTo("/a/deep")));
  site.set("/a/deep", html("Deep"));
  site.set("/rss", {
    type: "application/rss+xml",
    body: `<rss version="2.0"><channel><item><link>${site.origin}/only-in-feed</link></item></channel></rss>`,
  });
  site.set("/only-in-feed", html("News"));
  const stop = new AbortController();
  site.onRequest = (path) => {
    if (path === "/a") stop.abort();
  };
  const cut = world.source({}, { pagesAtOnce: 1 }).list(stop.signal);
  await assert.rejects(async () => {
    while (!(await cut.next()).done);
  }, /stopped|cancelled/);
  site.onRequest = () => undefined;
  const { pages, log, completeness } = await world.crawl();
  assert.match(log.join("\n"), /Resuming the crawl of .*: 1 page visited already/);
  assert.deepEqual([pages, completeness], [["/", "/a", "/a/deep", "/only-in-feed"], "complete"]);
});

test("who watches a crawl is told why it takes long", async () => {
  plainSite();
  world.site.set("/robots.txt", { type: "text/plain", body: "User-agent: *\nCrawl-delay: 50" });
  const stop = new AbortController();
  const log: string[] = [];
  const tell = (line: string): void => {
    log.push(line);
    if (line.startsWith("Waiting")) stop.abort();
  };
  const listing = world.source({}, { log: tell }).list(stop.signal);
  await assert.rejects(async () => {
    while (!(await listing.next()).done);
  }, /stopped|cancelled/);
  assert.match(log.join("\n"), /^Waiting (4\d|50) s: .* is requested at a minimum interval$/m);
});

test("a crawl with other rules, or an old one, starts from the beginning", async () => {
  plainSite();
  await world.crawl();
  world.inLedger("UPDATE site_crawl SET finished = 0");
  const other = await world.crawl({ exclude: ["/b"] });
  assert.doesNotMatch(other.log.join("\n"), /Resuming/);
  await world.crawl();
  world.inLedger("UPDATE site_crawl SET finished = 0");
  assert.match((await world.crawl()).log.join("\n"), /Resuming/);
  const old = new Date(Date.now() - 25 * 3600 * 1000).toISOString();
  world.inLedger("UPDATE site_crawl SET finished = 0, started_at = ?", old);
  assert.doesNotMatch((await world.crawl()).log.join("\n"), /Resuming/);
});

test("without the memory of links a page is read again", async () => {
  plainSite();
  await world.crawl();
  world.inLedger("DELETE FROM page");
  world.site.forgetRequests();
  assert.deepEqual((await world.crawl({}, { pagesAtOnce: 1 })).pages, ["/", "/a", "/a/deep", "/b"]);
  assert.deepEqual(world.site.bodies.sort(), ["/", "/a", "/a/deep", "/b"]);
});

test("a dry run leaves nothing", async () => {
  plainSite();
  const { pages } = await world.crawl({}, { dryRun: true });
  assert.deepEqual(pages, ["/", "/a", "/a/deep", "/b"]);
  assert.deepEqual(await world.members(), []);
  for await (const page of world.world.registry.entries()) assert.deepEqual(page, []);
  await assert.rejects(access(world.folder));
  await assert.rejects(access(join(world.world.folder, "crawler/STORY/ledger.sqlite")));
});

test("a page whose links changed is remembered with the new ones, one that is not met any more is forgotten", async () => {
  plainSite();
  await world.crawl();
  const links = (): string[] =>
    world
      .inLedger("SELECT url, target FROM page JOIN page_link USING (page_no) WHERE kind = 'link'")
      .map(({ url, target }) => `${String(url).slice(world.site.origin.length)} ${target}`)
      .sort();
  const before = links();
  await world.crawl();
  assert.deepEqual(links(), before);
  world.site.set("/", html("Home", linksTo("/new")));
  world.site.set("/new", html("New", linksTo("/new/er")));
  world.site.set("/new/er", html("Newer"));
  for (const path of ["/a", "/a/deep", "/b"]) world.site.pages.delete(path);
  for (let crawl = 0; crawl < 4; crawl++) await world.crawl();
  assert.deepEqual(links(), ["/ /new", "/new /new/er"]);
});

test("what an earlier release left of a crawl that was cut off is gone on with, also when its last line was cut", async () => {
  plainSite();
  await world.crawl();
  const [head] = world.inLedger("SELECT digest, site, started_at FROM site_crawl");
  const pages = world.inLedger("SELECT page_id, url, depth, item_id FROM page WHERE item_id <> ''");
  const lines = pages
    .filter(({ url }) => String(url).endsWith("/a"))
    .map(({ page_id: id, url, depth, item_id: item }) =>
      JSON.stringify({ id, url, depth, outcome: "new", item, aliases: [], links: ["/a/deep"], feeds: [] }),
    );
  for (const table of ["page", "site_crawl"]) world.inLedger(`DELETE FROM ${table}`);
  const folder = join(world.folder, ".lockstep/web");
  await mkdir(folder, { recursive: true });
  const log = [JSON.stringify({ version: 1, ...head }), ...lines, '{"id":"url_torn'].join("\n");
  await writeFile(join(folder, "crawl.jsonl"), log);
  await writeFile(join(folder, "pages.jsonl"), JSON.stringify({ version: 1, ...head, digest: "other" }));
  world.site.forgetRequests();
  const crawled = await world.crawl();
  assert.match(crawled.log.join("\n"), /Resuming the crawl of .*: 1 page visited already/);
  assert.deepEqual(crawled.pages, ["/", "/a", "/a/deep", "/b"]);
  assert.ok(!world.site.asked.includes("GET /a"), world.site.asked.join());
  assert.ok(world.site.asked.includes("GET /a/deep"), world.site.asked.join());
  await assert.rejects(access(folder));
  assert.equal(await readFile(join(world.folder, ".lockstep/before-ledger/crawl.jsonl"), "utf8"), log);
});

test("a reader that takes its time is not run away from", async () => {
  let started = 0;
  const work = runAhead(() => (started < 1000 ? async () => ++started : undefined), { atOnce: 4, together: 10 });
  await work.next();
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(started >= 10 && started < 30, `${started} pieces of work while nobody listens`);
  await work.return();
  assert.ok(started < 30);
});

test("examine says what a crawl would meet", async () => {
  plainSite();
  world.site.set("/robots.txt", { type: "text/plain", body: "User-agent: *\nDisallow: /private" });
  world.site.set("/private", html("Private"));
  const startUrls = ["/", "/private", "/nowhere"].map((path) => world.site.origin + path);
  const found: [string, string][] = [];
  for await (const { subject, outcome, detail } of world.source({ startUrls }).diagnose(new AbortController().signal)) {
    found.push([`${subject.slice(0, 5)} ${outcome}`, detail]);
  }
  assert.deepEqual(
    found.map(([what]) => what),
    ["Start ok", "Start problem", "Start problem", "Sitem not checked"],
  );
  assert.match(found[0]?.[1] ?? "", /Links to 3 addresses/);
  assert.match(found[1]?.[1] ?? "", /robots\.txt/);
  assert.equal(found[2]?.[1], "The address answers 404: there is no such page.");
  const details: string[] = [];
  for await (const { detail } of world.source({ include: ["/a*/x"] }).diagnose(new AbortController().signal)) {
    details.push(detail);
  }
  assert.match(details[0] ?? "", /Neither it nor anything it links to is wanted/);
});
