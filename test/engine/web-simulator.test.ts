// Crawls of a simulated web site end, have every page once, and follow its changes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { UMLAUTS } from "../../src/sandbox/site/sections/charsets.ts";
import { SiteWorld } from "./site-world.ts";

/** A sample of what `npm run soak -- web` does with 10,000 pages. */
const PAGES = 120;
/** Lists of addresses, which are read each time, and what is answered for pages that are not there. */
const NO_PAGES =
  /^\/(robots|llms)\.txt$|^\/sitemap(\.xml|s\/.*)$|^\/news\/(feed|atom)\.xml$|^\/(lockstep|no-such-page)-\w+$/;

let world: SiteWorld;
before(async () => {
  world = await SiteWorld.open({ pages: PAGES, seed: 11, source: { exclude: ["/calendar/**"] } });
});
after(() => world.close());

test("the first crawls end and have every page that can be reached, once, under the address it means", async () => {
  await world.crawl();
  // Pages whose first answer went wrong are there when they are asked again.
  const late = world.expected().filter((page) => !page.startsWith("/unsteady/"));
  assert.deepEqual(
    (await world.held()).filter((page) => !page.startsWith("/unsteady/")),
    late,
  );
  const { error, source } = await world.crawl();
  assert.deepEqual([source.complete, error], [true, ""], "what nobody can read is no failure of the crawl");
  assert.deepEqual(await world.held(), world.expected());
});

test("each of them is found by its word, and nothing else is", async () => {
  const pages = [...world.site.reachable()].filter(({ path }) => !path.startsWith("/calendar/"));
  const some = pages.filter(({ path }, i) => !path.startsWith("/docs/") || i % 20 === 0);
  for (const word of new Set(some.map((page) => page.word).filter(Boolean))) {
    const copies = pages.filter((page) => page.word === word).map(({ path }) => decodeURI(path));
    const found = await world.found(word);
    assert.ok(found.length > 0 && found.every((path) => copies.includes(path)), `${word}: ${found} of ${copies}`);
  }
  for (const word of [
    "badgernoindex",
    "badgernoindexheader",
    "badgerunseen",
    "badgerledger",
    "notfoundpage",
    "ibexscript",
  ])
    assert.deepEqual(await world.found(word), [], word);
  assert.equal((await world.found(UMLAUTS)).length, 5, "in every charset");
});

test("what must not be asked is not asked: robots.txt, other sites", () => {
  assert.equal(world.countOf("/private/ledger"), undefined);
  assert.deepEqual(
    [...world.site.counts().keys()].filter((path) => path.startsWith("//")),
    [],
  );
});

/** What lies about its version, or says nothing of it. */
function resent(): string[] {
  const pages = [...world.site.reachable()].filter(({ resends }) => resends === "always");
  return pages.map(({ path }) => path).sort();
}

test("a crawl of what did not change downloads nothing, unless validators lie", async () => {
  await world.crawl();
  world.site.clearCounts();
  const { source } = await world.crawl();
  assert.deepEqual(
    world.downloads().filter((path) => !NO_PAGES.test(path)),
    resent(),
  );
  assert.deepEqual([source.download.added, source.download.changed, source.download.removed], [0, 0, 0]);
  assert.deepEqual(await world.held(), world.expected());
});

test("edits are fetched, and nothing else; readers have the new text and not the old", async () => {
  const { site } = world;
  const edited = [site.pathOf(17), site.pathOf(100), "/redirects/to-6"];
  for (const path of edited) site.edit(path);
  site.clearCounts();
  const { source } = await world.crawl();
  const downloads = world.downloads().filter((path) => !NO_PAGES.test(path) && !resent().includes(path));
  assert.deepEqual(downloads, edited.sort());
  assert.equal(source.download.changed, edited.length);
  assert.deepEqual(await world.held(), world.expected());
  assert.deepEqual([await world.found("yak17"), (await world.found("yak17edition1")).length], [[], 1]);
});

test("an ETag that never changes is believed, until everything is asked for anew", async () => {
  world.site.edit("/validators/stuck");
  await world.crawl();
  assert.deepEqual(await world.found("heiferstuckedition1"), []);
  await world.crawl({ mode: "full" });
  assert.deepEqual(await world.found("heiferstuckedition1"), ["/validators/stuck"]);
  assert.deepEqual(await world.held(), world.expected());
});

test("a host that answers 5xx, or not at all, loses nothing", async () => {
  const before = await world.held();
  for (const trouble of [{ how: "status", status: 503 }, { how: "reset" }] as const) {
    world.site.fail({ path: "/", trouble });
    await world.crawl();
    await world.crawl();
    world.site.clearFailures();
    assert.deepEqual(await world.held(), before);
  }
  assert.equal((await world.crawl()).source.complete, true);
  assert.deepEqual(await world.held(), before);
});

test("a page that is gone leaves search after the third time, and comes back under its id", async () => {
  const { site } = world;
  const path = site.pathOf(90);
  const id = (await world.known()).find((each) => each.path === path)?.id;
  site.delete(path, 410);
  const there = async (): Promise<number> => (await world.found("yak90")).length;
  await world.crawl();
  await world.crawl();
  assert.equal(await there(), 1, "twice is not enough");
  await world.crawl();
  assert.equal(await there(), 0);
  assert.deepEqual(await world.held(), world.expected());
  site.restore(path);
  await world.crawl();
  assert.equal(await there(), 1);
  assert.equal((await world.known()).find((each) => each.path === path)?.id, id);
});

test("a calendar without end: the crawl ends, has what is near enough, and removes nothing", async () => {
  const endless = await SiteWorld.open({ pages: 30, sections: ["calendar"], source: { max_depth: 5 } });
  try {
    const { error } = await endless.crawl();
    const months = [...endless.site.reachable({ maxDepth: 5 })].map(({ path }) => path).sort();
    assert.deepEqual((await endless.known()).map(({ path }) => path).sort(), months);
    endless.site.unlink("/calendar/2026/01");
    for (let i = 0; i < 4; i++) await endless.crawl();
    assert.equal((await endless.known()).length, months.length, error);
  } finally {
    await endless.close();
  }
});
