// A visit to an address ends in the right state, whatever the server answers.
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import sharp from "sharp";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { WebClient } from "../../src/contracts/web.ts";
import { createWebPageReader } from "../../src/extract/web/create-web-page-reader.ts";
import { createPageVisitor } from "../../src/sources/web/page-visitor.ts";
import { createWebClient } from "../../src/sources/web/web-client.ts";
import { CLIENT, html, linksTo, type PageAnswer, PageSite, redirect, VisitWorld } from "./web-visit-world.ts";

let world: VisitWorld;
beforeEach(async () => {
  world = await VisitWorld.open();
});
afterEach(() => world.close());

const noindex = '<meta name="robots" content="noindex">';
const canonical = (href: string): string => `<link rel="canonical" href="${href}">`;

test("a page becomes a document, and is not downloaded again while it is the same", async () => {
  world.site.set("/a", html("Alpha", linksTo("/b", "/c?utm_source=x")));
  const first = await world.visit("/a");
  assert.equal(first.outcome, "new");
  assert.match(await world.text(first.item), /^# Alpha\n/);
  assert.deepEqual(first.links.get(world.id("/a")), [world.url("/b"), world.url("/c?utm_source=x")]);
  assert.deepEqual(
    [first.item.status, first.item.content.documentType, first.item.content.language, first.item.http.statusCode],
    ["Crawled", "md", "en", 200],
  );
  world.site.forgetRequests();
  const second = await world.visit("/a#part");
  assert.equal(second.outcome, "unchanged");
  assert.equal(second.links.get(world.id("/a")), undefined);
  assert.deepEqual(world.site.bodies, []);
  assert.equal(second.item.scheduling.unchangedCount, 1);
  world.site.set("/a", html("Omega"));
  const third = await world.visit("/a");
  assert.equal(third.outcome, "changed");
  assert.match(await world.text(third.item), /Omega/);
  assert.deepEqual(await world.item("/a"), third.item);
});

test("a changed page with the same text is unchanged", async () => {
  world.site.set("/a", { body: html("Alpha", "<script>token=1</script>") });
  await world.visit("/a");
  world.site.set("/a", { body: html("Alpha", "<script>token=2</script>") });
  const again = await world.visit("/a");
  assert.equal(again.outcome, "unchanged");
  assert.deepEqual(again.links.get(world.id("/a")), []);
});

test("a forced look asks without conditions, and serves the requests that were there when it began", async () => {
  world.site.set("/a", html("Alpha"));
  await world.visit("/a");
  const registered = await world.registry.get(world.id("/a"));
  assert.ok(registered);
  await world.registry.put({ ...registered.item, reindexRequested: true, reindexGeneration: 1 }, registered.version);
  world.site.forgetRequests();
  let raced = false;
  world.site.onRequest = async (path) => {
    if (path !== "/a" || raced) return;
    raced = true;
    const meanwhile = await world.registry.get(world.id("/a"));
    assert.ok(meanwhile);
    await world.registry.put({ ...meanwhile.item, reindexGeneration: 2 }, meanwhile.version);
  };
  const { item, outcome } = await world.visit("/a");
  assert.equal(outcome, "unchanged");
  assert.deepEqual(world.site.bodies, ["/a"]);
  assert.deepEqual([item.processedGeneration, item.reindexGeneration, item.reindexRequested], [1, 2, true]);
  world.site.onRequest = () => undefined;
  const { unchangedCount } = (await world.visit("/a", { force: true })).item.scheduling;
  assert.equal(unchangedCount, 0, "looks out of turn do not lengthen the interval");
});

test("another revision of the reader reads everything again", async () => {
  world.site.set("/a", html("Alpha"));
  await world.visit("/a");
  const registered = await world.registry.get(world.id("/a"));
  assert.ok(registered);
  const content = { ...registered.item.content, readerRevision: "older" };
  await world.registry.put({ ...registered.item, content }, registered.version);
  world.site.forgetRequests();
  await world.visit("/a");
  assert.deepEqual(world.site.bodies, ["/a"]);
});

interface Case {
  readonly title: string;
  readonly pages: Readonly<Record<string, string | PageAnswer>>;
  readonly visit: string;
  /** Outcome, and the path of the item it turned out to be. */
  readonly expected: readonly [string, string];
  readonly aliases?: readonly string[];
  readonly reason?: RegExp;
}

const cases: readonly Case[] = [
  {
    title: "a redirect",
    pages: { "/a": redirect("/b"), "/b": html("B") },
    visit: "/a",
    expected: ["new", "/b"],
    aliases: ["/a"],
  },
  {
    title: "a chain of redirects of all kinds",
    pages: {
      "/1": redirect("/2", 301),
      "/2": redirect("/3", 302),
      "/3": redirect("/4", 307),
      "/4": redirect("/5", 308),
      "/5": redirect("/6", 303),
      "/6": html("Six"),
    },
    visit: "/1",
    expected: ["new", "/6"],
    aliases: ["/1", "/2", "/3", "/4", "/5"],
  },
  {
    title: "a redirect to the same address in another spelling",
    pages: { "/dir": redirect("/dir/"), "/dir/": html("Directory") },
    visit: "/dir",
    expected: ["new", "/dir"],
    aliases: [],
  },
  {
    title: "a redirect in a circle",
    pages: { "/a": redirect("/b"), "/b": redirect("/a") },
    visit: "/a",
    expected: ["refused", "/a"],
    reason: /in a circle/,
  },
  {
    title: "a redirect to itself",
    pages: { "/a": redirect("/a") },
    visit: "/a",
    expected: ["refused", "/a"],
    reason: /circle/,
  },
  {
    title: "more redirects than anybody needs",
    pages: Object.fromEntries(Array.from({ length: 13 }, (_, i) => [`/${i}`, redirect(`/${i + 1}`)])),
    visit: "/0",
    expected: ["refused", "/0"],
    reason: /more than 10 times/,
  },
  {
    title: "a redirect out of the site",
    pages: { "/a": redirect("http://elsewhere.example/x?y=1#z") },
    visit: "/a",
    expected: ["refused", "/a"],
    reason: /redirects out of the site to http:\/\/elsewhere\.example\/x/,
  },
  {
    title: "a redirect to another scheme",
    pages: { "/a": redirect("ftp://127.0.0.1/x") },
    visit: "/a",
    expected: ["refused", "/a"],
  },
  {
    title: "a redirect to nowhere",
    pages: { "/a": { status: 302 } },
    visit: "/a",
    expected: ["refused", "/a"],
    reason: /without saying/,
  },
  {
    title: "a redirect to a page that is not there",
    pages: { "/a": redirect("/b") },
    visit: "/a",
    expected: ["missing", "/a"],
  },
  {
    title: "a redirect to what robots.txt forbids",
    pages: {
      "/robots.txt": { type: "text/plain", body: "User-agent: *\nDisallow: /b" },
      "/a": redirect("/b"),
      "/b": html("B"),
    },
    visit: "/a",
    expected: ["refused", "/a"],
  },
  {
    title: "a canonical link",
    pages: { "/a?x=1": html("A", "", canonical("/a")), "/a": html("A", "", canonical("/a")) },
    visit: "/a?x=1",
    expected: ["new", "/a"],
    aliases: ["/a?x=1"],
  },
  {
    title: "a canonical link in a header",
    pages: {
      "/a.pdf": { type: "application/pdf", body: "%PDF-1", headers: { link: '</a>; rel="canonical"' } },
      "/a": html("A"),
    },
    visit: "/a.pdf",
    expected: ["new", "/a"],
    aliases: ["/a.pdf"],
  },
  {
    title: "a canonical link to itself in another spelling",
    pages: { "/a": html("A", "", canonical("/a/?utm_source=feed#top")) },
    visit: "/a",
    expected: ["new", "/a"],
    aliases: [],
  },
  {
    title: "a canonical link to a page that is not there",
    pages: { "/a": html("A", "", canonical("/b")) },
    visit: "/a",
    expected: ["new", "/a"],
    aliases: [],
  },
  {
    title: "a canonical link to a page that cannot be looked at",
    pages: { "/a": html("A", "", canonical("/b")), "/b": { status: 500 } },
    visit: "/a",
    expected: ["failed", "/a"],
  },
  {
    title: "a canonical link to a page that is redirected back",
    pages: { "/a": html("A", "", canonical("/b")), "/b": redirect("/a") },
    visit: "/a",
    expected: ["new", "/a"],
    aliases: [],
  },
  {
    title: "two pages that name each other",
    pages: { "/a": html("A", "", canonical("/b")), "/b": html("B", "", canonical("/a")) },
    visit: "/a",
    expected: ["new", "/a"],
    aliases: [],
  },
  {
    title: "a canonical link to another site",
    pages: { "/a": html("A", "", canonical("https://elsewhere.example/a")) },
    visit: "/a",
    expected: ["new", "/a"],
    aliases: [],
  },
  {
    title: "a canonical link to a page that is not to be indexed",
    pages: { "/a": html("A", "", canonical("/b")), "/b": html("B", "", noindex) },
    visit: "/a",
    expected: ["new", "/a"],
    aliases: [],
  },
  {
    title: "a redirect to a page with a canonical link",
    pages: { "/a": redirect("/b?x=1"), "/b?x=1": html("B", "", canonical("/b")), "/b": html("B") },
    visit: "/a",
    expected: ["new", "/b"],
    aliases: ["/a", "/b?x=1"],
  },
  {
    title: "noindex in the page",
    pages: { "/a": html("A", linksTo("/b"), noindex) },
    visit: "/a",
    expected: ["refused", "/a"],
    reason: /noindex/,
  },
  {
    title: "noindex in a header",
    pages: {
      "/a.pdf": { type: "application/pdf", body: "%PDF-1", headers: { "x-robots-tag": "otherbot: nofollow, noindex" } },
    },
    visit: "/a.pdf",
    expected: ["refused", "/a.pdf"],
    reason: /noindex/,
  },
  {
    title: "noindex for somebody else",
    pages: { "/a": { body: html("A"), headers: { "x-robots-tag": "otherbot: noindex" } } },
    visit: "/a",
    expected: ["new", "/a"],
  },
  {
    title: "a sign-in page",
    pages: { "/a": { status: 401 } },
    visit: "/a",
    expected: ["refused", "/a"],
    reason: /401/,
  },
  {
    title: "a forbidden page",
    pages: { "/a": { status: 403 } },
    visit: "/a",
    expected: ["refused", "/a"],
    reason: /403/,
  },
  {
    title: "a page that may not be shown here",
    pages: { "/a": { status: 451 } },
    visit: "/a",
    expected: ["refused", "/a"],
    reason: /451/,
  },
  { title: "410", pages: { "/a": { status: 410 } }, visit: "/a", expected: ["missing", "/a"], reason: /1 of 3/ },
  { title: '"not modified" out of nothing', pages: { "/a": { status: 304 } }, visit: "/a", expected: ["failed", "/a"] },
  {
    title: "a picture",
    pages: { "/a.png": { type: "image/png", body: "x" } },
    visit: "/a.png",
    expected: ["refused", "/a.png"],
    reason: /image\/png/,
  },
  {
    title: "a feed",
    pages: { "/feed": { type: "text/xml", body: '<?xml version="1.0"?><rss version="2.0"></rss>' } },
    visit: "/feed",
    expected: ["refused", "/feed"],
    reason: /list of addresses/,
  },
];

for (const { title, pages, visit: path, expected, aliases, reason } of cases) {
  test(`the visitor meets ${title}`, async () => {
    for (const [at, page] of Object.entries(pages)) world.site.set(at, page);
    const visit = await world.visit(path);
    assert.deepEqual([visit.outcome, visit.item.id], [expected[0], world.id(expected[1])], visit.reason);
    if (aliases)
      assert.deepEqual(
        visit.aliases,
        aliases.map((alias) => world.id(alias)),
      );
    if (reason) assert.match(visit.reason, reason);
    assert.deepEqual(await world.item(expected[1]), visit.item);
    for (const alias of visit.aliases) {
      const record = (await world.registry.get(alias))?.item;
      assert.deepEqual([record?.aliasOf, record?.status], [visit.item.id, "OutOfScope"]);
    }
    world.site.forgetRequests();
    const again = await world.visit(path);
    assert.equal(again.item.id, visit.item.id, "the second look ends at the same item");
    if (visit.outcome === "new") {
      assert.equal(again.outcome, "unchanged");
      assert.deepEqual(world.site.bodies, [], "nothing is downloaded twice");
    } else assert.equal(again.outcome, visit.outcome);
  });
}

const types: readonly [title: string, path: string, answer: PageAnswer, documentType: string][] = [
  ["HTML with parameters", "/a", { type: "Text/HTML ; charset=x", body: html("A") }, "md"],
  ["XHTML", "/a", { type: "application/xhtml+xml", body: html("A") }, "md"],
  ["Markdown", "/a", { type: "text/markdown", body: "# A\n" }, "md"],
  ["Markdown sent as text", "/a.md", { type: "text/plain", body: "# A\n" }, "md"],
  ["text", "/a", { type: "text/plain", body: "A" }, "txt"],
  ["text that is called a page", "/a.html", { type: "text/plain", body: html("A") }, "txt"],
  ["a PDF", "/a", { type: "application/pdf", body: "%PDF-1.4" }, "pdf"],
  ["bytes with an extension", "/a.docx", { type: "application/octet-stream", body: "PK\u0003\u0004" }, "docx"],
  ["a page without a type", "/a", { untyped: true, body: html("A") }, "md"],
  ["a PDF without a type", "/a", { untyped: true, body: "%PDF-1.4" }, "pdf"],
  ["text without a type", "/a", { untyped: true, body: "just words" }, "txt"],
];
for (const [title, path, answer, documentType] of types) {
  test(`the document of ${title} is ${documentType}`, async () => {
    world.site.set(path, answer);
    const { item, outcome, reason } = await world.visit(path);
    assert.deepEqual([outcome, item.content.documentType], ["new", documentType], reason);
    const isPage = /html/i.test(answer.type ?? "") || (answer.untyped === true && documentType === "md");
    if (!isPage) assert.equal(await world.text(item), answer.body);
  });
}

test("404 three times is gone; back again it is the same item", async () => {
  world.site.set("/a", html("Alpha"));
  const { item } = await world.visit("/a");
  world.site.pages.delete("/a");
  const outcomes: string[] = [];
  for (let i = 0; i < 3; i++) outcomes.push((await world.visit("/a")).outcome);
  assert.deepEqual(outcomes, ["missing", "missing", "gone"]);
  assert.equal((await world.item("/a"))?.status, "Gone");
  world.site.set("/a", html("Alpha"));
  const back = await world.visit("/a");
  assert.deepEqual([back.item.id, back.item.status, back.item.scheduling.goneCount], [item.id, "Crawled", 0]);
});

test("what is known stays while the server answers 500, and Retry-After is heeded", async () => {
  world.site.set("/a", html("Alpha"));
  const { item } = await world.visit("/a");
  world.site.trouble = { status: 503, headers: { "retry-after": "7200" } };
  const { outcome, item: now, reason } = await world.visit("/a");
  assert.equal(outcome, "failed");
  assert.equal(now.content.contentHash, item.content.contentHash);
  assert.ok(Date.parse(now.scheduling.nextCrawlAt) - Date.parse(now.scheduling.lastChecked) >= 3_600_000, reason);
});

test("a known page that is redirected to a sign-in page elsewhere for a while is kept, one that moved away for good is not", async () => {
  world.site.set("/a", html("Alpha"));
  await world.visit("/a");
  world.site.set("/a", redirect("https://login.example/", 302));
  assert.equal((await world.visit("/a")).outcome, "failed");
  world.site.set("/a", redirect("https://other.example/", 301));
  const outcomes: string[] = [];
  for (let i = 0; i < 3; i++) outcomes.push((await world.visit("/a")).outcome);
  assert.deepEqual(outcomes, ["failed", "failed", "refused"]);
});

test("a page that becomes a redirect to a page that fails is kept as it was", async () => {
  world.site.set("/a", html("Alpha"));
  await world.visit("/a");
  world.site.set("/a", redirect("/b"));
  world.site.set("/b", { status: 500 });
  const { outcome, item } = await world.visit("/a");
  assert.deepEqual([outcome, item.id, item.aliasOf], ["failed", world.id("/a"), ""]);
  world.site.set("/b", html("Alpha"));
  assert.equal((await world.visit("/a")).item.id, world.id("/b"));
  assert.equal((await world.item("/a"))?.aliasOf, world.id("/b"));
});

test("a page whose canonical one is gone for good is itself again", async () => {
  world.site.set("/a?x", html("Alpha", "", canonical("/a")));
  world.site.set("/a", html("Alpha"));
  await world.visit("/a?x");
  world.site.pages.delete("/a");
  const outcomes: string[] = [];
  for (let i = 0; i < 4; i++) {
    const { outcome, item } = await world.visit("/a?x");
    outcomes.push(`${outcome} ${item.id === world.id("/a?x") ? "itself" : "other"}`);
  }
  assert.deepEqual(outcomes.slice(0, 2), ["missing other", "missing other"]);
  assert.equal(outcomes.at(-1), "unchanged itself");
});

test("a server that ignores conditions is asked once, and believed by its ETag", async () => {
  world.site.set("/a", { body: html("Alpha"), ignoresConditions: true });
  await world.visit("/a");
  world.site.forgetRequests();
  assert.equal((await world.visit("/a")).outcome, "unchanged");
  assert.deepEqual(world.site.asked, ["GET /a"]);
  world.site.set("/a", { body: html("Omega"), ignoresConditions: true });
  assert.equal((await world.visit("/a")).outcome, "changed");
});

test("each crawl goes by the robots.txt of today", async () => {
  world.site.set("/a", html("Alpha"));
  await world.visit("/a", { crawl: {} });
  world.site.set("/robots.txt", { type: "text/plain", body: "User-agent: *\nDisallow: /a" });
  assert.equal((await world.visit("/a")).outcome, "unchanged", "what was read a moment ago is believed");
  assert.equal((await world.visit("/a", { crawl: {} })).outcome, "refused");
});

for (const ignoresConditions of [false, true]) {
  const how = ignoresConditions ? "a body" : '"not modified"';
  test(`noindex in the headers counts with ${how}, and is over when they say it no more`, async () => {
    const page = { body: html("Alpha", linksTo("/b")), ignoresConditions };
    const closed = { ...page, headers: { "x-robots-tag": "noindex" } };
    const look = async (answer: PageAnswer): Promise<unknown[]> => {
      world.site.set("/a", answer);
      world.site.forgetRequests();
      const { outcome, item, links } = await world.visit("/a");
      return [outcome, item.status, world.site.bodies.length, links.has(item.id)];
    };
    await look(page);
    const sent = ignoresConditions ? 1 : 0;
    assert.deepEqual(await look(closed), ["refused", "OutOfScope", sent, true]);
    assert.deepEqual(await look(closed), ["refused", "OutOfScope", 0, true]);
    assert.deepEqual(await look(page), ["unchanged", "Crawled", 1, true]);
    const hidden = { ...closed, body: html("Alpha", "", noindex) };
    assert.deepEqual(await look(hidden), ["refused", "OutOfScope", 1, true]);
    assert.deepEqual(
      await look({ ...page, body: hidden.body }),
      ["refused", "OutOfScope", sent, true],
      "the page says so",
    );
  });
}

test("Last-Modified alone is a condition; a weak ETag that comes with a body is read and compared", async () => {
  const dated = { etag: null, headers: { "last-modified": "Mon, 02 Nov 2026 10:00:00 GMT" } };
  world.site.set("/a", { ...dated, body: html("Alpha") });
  world.site.set("/b", { etag: 'W/"1"', ignoresConditions: true, body: html("Beta") });
  await world.visit("/a");
  await world.visit("/b");
  world.site.forgetRequests();
  world.site.set("/b", { etag: 'W/"1"', ignoresConditions: true, body: html("Gamma") });
  assert.equal((await world.visit("/a")).outcome, "unchanged");
  assert.equal((await world.visit("/b")).outcome, "changed");
  assert.deepEqual(world.site.bodies, ["/b"]);
});

test("Markdown beside the pages is preferred, under the address of the page", async () => {
  const crawl = {};
  world.site.set("/guide", html("Guide", linksTo("/next")));
  world.site.set("/guide.md", { type: "text/markdown", body: "# Guide\n\nIn Markdown.\n" });
  world.site.set("/bare", html("Bare"));
  const { item, links, aliases } = await world.visit("/guide", { crawl });
  assert.equal(item.id, world.id("/guide"));
  assert.equal(await world.text(item), "# Guide\n\nIn Markdown.\n");
  assert.deepEqual(links.get(item.id), [world.url("/next")]);
  assert.deepEqual(aliases, [world.id("/guide.md")]);
  assert.match(await world.text((await world.visit("/bare", { crawl })).item), /Bare/);
  world.site.forgetRequests();
  assert.equal((await world.visit("/guide", { crawl: {} })).outcome, "unchanged");
  assert.deepEqual(world.site.bodies, []);
  world.site.set("/guide", html("Guide", linksTo("/other")));
  assert.equal((await world.visit("/guide", { crawl: {} })).outcome, "unchanged", "the Markdown is the same");
  world.site.set("/guide.md", { type: "text/markdown", body: "# Guide\n\nRewritten.\n" });
  const byVariant = await world.visit("/guide.md", { crawl: {} });
  assert.equal(byVariant.item.id, world.id("/guide"), "the Markdown is the page's, whoever links to it");
});

test("a site that answers 200 for what it does not have", async () => {
  const crawl = {};
  const nothing = (path: string): PageAnswer => ({ body: html("Page not found", `<p>There is no ${path} here.</p>`) });
  world.site.set("/lost", nothing("/lost"));
  world.site.set("/story", html("The page not found in any book"));
  const get = world.site.pages.get.bind(world.site.pages);
  world.site.pages.get = (path) => get(path) ?? nothing(path);
  assert.equal((await world.visit("/lost", { crawl })).outcome, "missing");
  assert.equal((await world.visit("/story", { crawl })).outcome, "new");
  assert.equal((await world.visit("/lost-too", { crawl })).outcome, "missing");
});

const inside: readonly [title: string, target: (port: number) => string][] = [
  ["this machine", (port) => `http://127.0.0.1:${port}/secret`],
  ["this machine by name", (port) => `http://localhost:${port}/secret`],
  ["one number", (port) => `http://2130706433:${port}/secret`],
  ["hexadecimal", (port) => `http://0x7f.1:${port}/secret`],
  ["IPv6 with an IPv4 address inside", (port) => `http://[::ffff:127.0.0.1]:${port}/secret`],
  ["the address of a cloud's metadata", () => "http://169.254.169.254/latest/meta-data"],
  ["a private network", () => "http://10.0.0.1/"],
];
for (const [title, target] of inside) {
  test(`a redirect or a canonical link to ${title} leads nowhere`, async () => {
    const other = await PageSite.start();
    const { origin } = world.site;
    const strict = createWebClient({ ...CLIENT, allowPrivateNetworks: false });
    // The one site is on the internet, as far as the visitor can tell.
    const send: WebClient["send"] = (request) =>
      (request.url.startsWith(`${origin}/`) ? world.client : strict).send(request);
    const visitor = createPageVisitor({ ...world.parts, client: { ...strict, send } });
    try {
      other.set("/secret", html("Secret"));
      const address = target(Number(new URL(other.origin).port));
      world.site.set("/a", redirect(address));
      world.site.set("/b", html("B", "", canonical(address)));
      const options = { force: false, inScope: () => true, signal: new AbortController().signal };
      const led = await visitor.visit(world.url("/a"), options);
      assert.equal(led.outcome, "refused", led.reason);
      assert.equal((await visitor.visit(world.url("/b"), options)).item.id, world.id("/b"));
      assert.deepEqual(other.asked, []);
    } finally {
      await strict.close();
      await other.close();
    }
  });
}

test("addresses with a user name, a password or a signature are stored without", async () => {
  const secretive = world.site.origin.replace("http://", "http://user:hunter2@");
  world.site.set("/a", redirect(`${secretive}/b?sig=hunter2&x=1#hunter2`));
  world.site.set("/b?x=1", html("B", linksTo(`${secretive}/c`), canonical(`${secretive}/b?x=1&token=hunter2`)));
  const visit = await world.visit("/a");
  assert.deepEqual([visit.outcome, visit.item.id], ["new", world.id("/b?x=1")]);
  for await (const page of world.registry.entries()) assert.doesNotMatch(JSON.stringify(page), /hunter2/);
});

test("a known page that grows until it takes too much to be read is kept as it was, and says why", async () => {
  const strict = await VisitWorld.open({ reader: createWebPageReader({ timeoutMs: 50 }) });
  try {
    strict.site.set("/a", html("Alpha"));
    const { item } = await strict.visit("/a");
    strict.site.set("/a", html("Alpha", "<p>word<br>".repeat(150_000)));
    const { outcome, item: now, reason } = await strict.visit("/a");
    assert.deepEqual([outcome, reason], ["failed", "The page takes too long to read: the limit is 0 s."]);
    assert.equal(now.content.contentHash, item.content.contentHash);
    assert.match(now.scheduling.errorMessage, /takes too long to read/);
  } finally {
    await strict.close();
  }
});

test("a dry run looks and remembers nothing", async () => {
  world.site.set("/a", redirect("/b"));
  world.site.set("/b", html("B"));
  const { outcome, item } = await world.visit("/a", { dryRun: true });
  assert.deepEqual([outcome, item.id], ["new", world.id("/b")]);
  assert.deepEqual([await world.item("/a"), await world.item("/b")], [undefined, undefined]);
  assert.equal(await world.documents.get(item.id, item.content.contentHash), undefined);
});

test("a document that is not kept any more is asked for again", async () => {
  world.site.set("/a", html("Alpha"));
  const { item } = await world.visit("/a");
  await world.documents.delete(item.id);
  const { signal } = new AbortController();
  assert.match(Buffer.from((await world.visitor.document(item, signal)) ?? []).toString(), /Alpha/);
  await world.documents.delete(item.id);
  world.site.trouble = { status: 500 };
  await assert.rejects(world.visitor.document(item, signal), /500/);
  world.site.trouble = undefined;
  world.site.set("/a", html("Alpha", "", noindex));
  assert.equal(await world.visitor.document(item, signal), undefined);
});

test("the answer is kept as it came, once for each content", async () => {
  const body = html("Alpha");
  world.site.set("/a", { body, etag: null });
  const { item } = await world.visit("/a");
  await world.visit("/a");
  const snapshots = await world.documents.snapshots(item.id);
  assert.equal(snapshots.length, 1);
  assert.equal(await readFile(snapshots[0]?.path ?? "", "utf8"), body);
});

test("an answer that cannot be kept as it came is a remark, and the page is a document", async () => {
  await mkdir(join(world.folder, "documents"), { recursive: true });
  await writeFile(join(world.folder, "documents", "snapshots"), "no folder");
  world.site.set("/a", html("Alpha"));
  const { outcome, reason, item } = await world.visit("/a");
  assert.equal(outcome, "new");
  assert.match(reason, /could not be kept as it came: ./);
  assert.match(await world.text(item), /Alpha/);
  assert.equal((await world.visit("/a")).outcome, "unchanged");
});

test("pictures are kept when they are wished for, also of a page that is known already", async () => {
  const picture = await sharp({ create: { width: 300, height: 200, channels: 3, background: "red" } })
    .png()
    .toBuffer();
  world.site.set("/p.png", { type: "image/png", body: picture });
  world.site.set(
    "/a",
    html("Alpha", '<figure><img src="/p.png" alt="A red field"><figcaption>Red</figcaption></figure>'),
  );
  assert.equal((await world.visit("/a")).item.linkage.imageCount, 0);
  const { outcome, item } = await world.visit("/a", { includeImages: true });
  assert.deepEqual([outcome, item.includeImages, item.linkage.imageCount], ["unchanged", true, 1]);
  assert.deepEqual(await world.item("/a"), item);
  const [image] = await world.parts.images.of(item.id);
  assert.deepEqual([image?.alt, image?.caption, image?.parentPageId], ["A red field", "Red", item.id]);
  world.site.forgetRequests();
  await world.visit("/a", { includeImages: true });
  assert.deepEqual(world.site.bodies, []);
});

test("pages that keep no pictures are not read again for them", async () => {
  world.site.set("/hidden", html("Hidden", "", noindex));
  world.site.set("/a?x=1", html("A", "", canonical("/a")));
  world.site.set("/a", html("A", "", canonical("/a")));
  const look = async (): Promise<void> => {
    for (const path of ["/hidden", "/a?x=1"]) await world.visit(path, { includeImages: true });
  };
  await look();
  world.site.forgetRequests();
  await look();
  assert.deepEqual(world.site.bodies, []);
});

test("an item that was looked at a moment ago is not asked again by addresses that lead to it", async () => {
  world.site.set("/a", redirect("/b"));
  world.site.set("/b", html("B"));
  await world.visit("/b");
  world.site.forgetRequests();
  const visit = await world.visit("/a", { isFresh: (id) => id === world.id("/b") });
  assert.deepEqual([visit.outcome, visit.item.id, visit.aliases], ["unchanged", world.id("/b"), [world.id("/a")]]);
  assert.deepEqual(world.site.asked, ["GET /a"]);
});

test("a page that leads to one which failed a moment ago is kept as it was", async () => {
  for (const [trouble, outcome] of [
    [{ status: 500 }, "failed"],
    [{ status: 404 }, "missing"],
    [html("B", "", noindex), "refused"],
  ] as const) {
    world.site.set("/a", html("Alpha"));
    world.site.set("/b", trouble);
    const { item } = await world.visit("/a", { force: true });
    await world.visit("/b");
    world.site.set("/a", redirect("/b"));
    const visit = await world.visit("/a", { isFresh: (id) => id === world.id("/b") });
    assert.deepEqual([visit.outcome, visit.item.id, visit.item.aliasOf], [outcome, item.id, ""]);
  }
});

test("a page that leads to one which fails just now is kept as it was, though the other's record was read before", async () => {
  for (const path of ["/a", "/b"]) {
    world.site.set(path, html(`About ${path}`));
    await world.visit(path, { force: true });
  }
  world.site.set("/a", redirect("/b"));
  world.site.set("/b", { status: 404 });
  let [isRead, hasFailed] = [false, false];
  const registry = new Proxy(world.registry, {
    get(known, key) {
      const value: unknown = Reflect.get(known, key);
      if (key !== "get") return typeof value === "function" ? value.bind(known) : value;
      return async (id: ItemId) => {
        const record = await known.get(id);
        if (id !== world.id("/b") || isRead) return record;
        isRead = true;
        await world.visit("/b");
        hasFailed = true;
        return record;
      };
    },
  });
  const visitor = createPageVisitor({ ...world.parts, registry });
  const isFresh = (id: ItemId): boolean => hasFailed && id === world.id("/b");
  const { signal } = new AbortController();
  const visit = await visitor.visit(world.url("/a"), { force: false, signal, isFresh });
  assert.deepEqual([visit.outcome, visit.item.id, visit.item.aliasOf], ["missing", world.id("/a"), ""]);
});

test("two who look at the same page at once agree on one record", async () => {
  world.site.set("/a", html("Alpha"));
  const visits = await Promise.all(Array.from({ length: 6 }, () => world.visit("/a")));
  assert.equal(visits.filter(({ outcome }) => outcome === "new").length, 1);
  assert.equal((await world.item("/a"))?.scheduling.unchangedCount, 5);
});
