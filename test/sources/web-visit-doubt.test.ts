// A doubtful response removes a document only when it is repeated for hours.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { afterForce } from "../../src/plan/web/item-transitions.ts";
import { html, redirect, VisitWorld } from "./web-visit-world.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
const canonical = (to: string): string => `<link rel="canonical" href="${to}">`;
const noindex = '<meta name="robots" content="noindex">';

let now = new Date(START);
let world: VisitWorld;
beforeEach(async () => {
  now = new Date(START);
  world = await VisitWorld.open({ now: () => now }, { goneSpacingSeconds: 3600, movedSpacingSeconds: 3600 });
});
afterEach(() => world.close());

function later(minutes: number): void {
  now = new Date(now.getTime() + minutes * 60_000);
}

/** What comes of looking at it after so many minutes each: the outcome, and which page it turned out to be. */
async function looks(path: string, ...minutes: number[]): Promise<string[]> {
  const names = new Map(["/a", "/b", "/login"].map((each) => [world.id(each), each]));
  const seen: string[] = [];
  for (const wait of minutes) {
    later(wait);
    const { outcome, item } = await world.visit(path);
    seen.push(`${outcome} ${names.get(item.id)}`);
  }
  return seen;
}

const moves = [
  ["a redirect for now to a page", redirect("/login", 302), html("Sign in"), "new /login"],
  [
    "a redirect for now to a page that is not to be indexed",
    redirect("/login", 307),
    html("x", "", noindex),
    "refused /a",
  ],
  ["a canonical link", { body: html("Alpha", "", canonical("/login")) }, html("Front page"), "new /login"],
] as const;

for (const [title, answer, target, end] of moves) {
  test(`${title} takes a document only when three looks that are an hour apart say so`, async () => {
    world.site.set("/login", target);
    world.site.set("/a", html("Alpha"));
    const { item } = await world.visit("/a");
    world.site.set("/a", answer);
    assert.deepEqual(await looks("/a", 1440, 1, 1, 59), ["failed /a", "failed /a", "failed /a", "failed /a"]);
    const known = await world.item("/a");
    assert.deepEqual([known?.content.contentHash, known?.aliasOf], [item.content.contentHash, ""]);
    assert.match(known?.scheduling.errorMessage ?? "", /\/login.*\(2 of 3\)/);
    assert.deepEqual(await looks("/a", 60), [end]);
  });
}

test("an outage with redirects to a sign-in page leaves no trace", async () => {
  world.site.set("/a", html("Alpha"));
  await world.visit("/a");
  world.site.set("/login", html("Sign in"));
  world.site.set("/a", redirect("/login", 302));
  assert.deepEqual(await looks("/a", 60, 60), ["failed /a", "failed /a"]);
  world.site.set("/a", html("Alpha"));
  assert.deepEqual(await looks("/a", 60), ["unchanged /a"]);
  world.site.set("/a", redirect("/login", 302));
  assert.deepEqual(await looks("/a", 60, 60), ["failed /a", "failed /a"], "the row begins anew");
});

test("a new address and an old one that lead to a page in doubt lead to that page", async () => {
  world.site.set("/a", html("Alpha"));
  world.site.set("/b", redirect("/a"));
  world.site.set("/login", html("Sign in"));
  await world.visit("/b");
  world.site.set("/a", redirect("/login", 302));
  world.site.set("/c", redirect("/a"));
  assert.deepEqual([...(await looks("/b", 1440)), ...(await looks("/c", 1))], ["failed /a", "failed /a"]);
  for (const path of ["/b", "/c"]) {
    const alias = await world.item(path);
    assert.equal(alias?.aliasOf, world.id("/a"), path);
    assert.ok((alias?.scheduling.nextCrawlAt ?? "") > now.toISOString(), path);
  }
});

test("404 counts again after an hour: not for everybody who asks, and not for each address that leads there", async () => {
  world.site.set("/a", html("Alpha"));
  world.site.set("/b", redirect("/a"));
  await world.visit("/b");
  world.site.pages.delete("/a");
  assert.deepEqual(await looks("/a", 1440, 1, 1), ["missing /a", "missing /a", "missing /a"]);
  assert.deepEqual(await looks("/b", 1), ["missing /a"]);
  assert.equal((await world.item("/a"))?.scheduling.goneCount, 1);
  assert.deepEqual(await looks("/a", 60, 30, 30), ["missing /a", "missing /a", "gone /a"]);
});

for (const status of [404, 503]) {
  test(`an address that leads to a page with ${status} waits like that page`, async () => {
    world.site.set("/b", redirect("/a"));
    world.site.set("/a", html("Alpha"));
    await world.visit("/b");
    world.site.set("/a", { status });
    const [known] = [await world.registry.get(world.id("/b"))];
    if (known) await world.registry.put(afterForce(known.item, now), known.version);
    later(1440);
    await world.visit("/b");
    const [a, b] = [await world.item("/a"), await world.item("/b")];
    assert.ok((a?.scheduling.nextCrawlAt ?? "") > now.toISOString());
    assert.equal(b?.scheduling.nextCrawlAt, a?.scheduling.nextCrawlAt);
    assert.equal(b?.reindexRequested, status === 503, "a request is served by an answer");
    assert.deepEqual([b?.status, b?.aliasOf], ["OutOfScope", a?.id]);
  });
}

test("an empty document is kept like any other", async () => {
  world.site.set("/a", { type: "text/plain", body: "", untyped: false });
  const { item } = await world.visit("/a");
  world.site.forgetRequests();
  const document = await world.visitor.document(item, new AbortController().signal);
  assert.deepEqual([document?.length, world.site.asked], [0, []]);
});

test("Markdown that was taken for a page stays its document, whoever looks and whatever else the host has", async () => {
  const page = { body: html("Guide"), etag: null };
  const markdown = (text: string) => ({ type: "text/markdown", body: `# Guide\n\n${text}\n` });
  world.site.set("/a", page);
  world.site.set("/a.md", markdown("One."));
  await world.visit("/a", { crawl: {} });
  const text = async (options: object = {}): Promise<string> => {
    const { item, outcome } = await world.visit("/a", options);
    return `${outcome}: ${(await world.text(item)).trim().split("\n").at(-1)}`;
  };
  assert.equal(await text(), "unchanged: One.", "without a crawl");
  world.site.set("/b", html("Bare"));
  const crawl = {};
  await world.visit("/b", { crawl });
  assert.equal(await text({ crawl }), "unchanged: One.", "although the first page of the host has none");
  world.site.set("/a", { body: html("Guide") });
  await world.visit("/a");
  world.site.set("/a.md", markdown("Two."));
  world.site.forgetRequests();
  assert.equal(await text(), "changed: Two.", "although the page answers that it is not modified");
  assert.deepEqual(world.site.bodies, ["/a.md"]);
  world.site.set("/a.md", { status: 503 });
  assert.equal(await text(), "failed: Two.");
  world.site.pages.delete("/a.md");
  assert.match(await text(), /^changed: All that is to be said about Guide/);
  world.site.forgetRequests();
  assert.match(await text(), /^unchanged/);
  assert.deepEqual(world.site.asked, ["GET /a"], "and is forgotten when it is gone");
});

test("a host that could not say whether it has Markdown is asked again", async () => {
  const crawl = {};
  for (const path of ["/a", "/b"]) {
    world.site.set(path, html(path));
    world.site.set(`${path}.md`, { type: "text/markdown", body: `# ${path}\n\nIn Markdown.\n` });
  }
  world.site.set("/a.md", { status: 503 });
  await world.visit("/a", { crawl });
  assert.match(await world.text((await world.visit("/b", { crawl })).item), /In Markdown/);
});

test("a page that is known stays when it leads to one that is not shown to everybody", async () => {
  world.site.set("/a", html("Alpha"));
  await world.visit("/a");
  world.site.set("/a", redirect("/b"));
  world.site.set("/b", { status: 403 });
  assert.deepEqual(await looks("/b", 1440), ["refused /b"]);
  assert.deepEqual(await looks("/a", 1), ["failed /a"]);
  world.site.set("/login", redirect("/a"));
  world.site.set("/a", html("Alpha"));
  assert.deepEqual(await looks("/login", 1), ["unchanged /a"]);
  world.site.set("/login", { status: 403 });
  assert.deepEqual(await looks("/login", 1), ["failed /login"]);
  assert.equal((await world.item("/login"))?.aliasOf, world.id("/a"), "what an address leads to is known, too");
  world.site.set("/a", redirect("/b"));
  const isFresh = (id: string): boolean => id === world.id("/b");
  assert.equal((await world.visit("/a", { isFresh })).outcome, "failed");
});
