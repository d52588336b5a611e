// A web site is mirrored and found, and follows changes, moves, deletions and outages.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, test } from "node:test";
import { readMapText } from "../read-map-text.ts";
import { html, linksTo, redirect } from "../sources/web-visit-world.ts";
import { ServerProcess } from "./server-process.ts";
import { DOMAIN, WebStory } from "./web-story.ts";

let story: WebStory;
beforeEach(async () => {
  story = await WebStory.open();
});
afterEach(() => story.close());

/** Paths of the pages that the crawl under way has noted in the ledger. */
function visitedPages(): string[] {
  const ledger = new DatabaseSync(join(story.storage, "crawler", DOMAIN, "ledger.sqlite"));
  try {
    const rows = ledger.prepare("SELECT url FROM page WHERE url <> ''").all();
    return rows.map(({ url }) => new URL(String(url)).pathname);
  } finally {
    ledger.close();
  }
}

const page = (word: string, ...links: string[]): string => html(`About ${word}`, linksTo(...links));
const noindex = '<meta name="robots" content="noindex">';

/** Three pages: the front page links to both others. */
function zoo(): void {
  story.site.set("/", page("gnu", "/a", "/b"));
  story.site.set("/a", page("okapi"));
  story.site.set("/b", page("quokka"));
}

test("a site is mirrored and found; a second crawl downloads and embeds nothing", async () => {
  zoo();
  const first = await story.crawl();
  assert.deepEqual([first.error, first.source.complete, first.source.embed.added], ["", true, 3]);
  assert.deepEqual(await story.disk(), ["a.md", "b.md", "index.md"]);
  assert.deepEqual(await story.found("okapi"), ["/a"]);
  const before = await story.indexed();
  story.site.forgetRequests();
  const second = await story.crawl();
  assert.deepEqual(story.site.bodies, []);
  assert.deepEqual([second.error, second.source.download.unchanged, second.source.embed.unchanged], ["", 3, 3]);
  assert.deepEqual(await story.indexed(), before);
});

test("a changed page says what it says now, a new one is found, the others are left alone", async () => {
  zoo();
  await story.crawl();
  story.site.set("/a", page("tapir", "/c"));
  story.site.set("/c", page("wombat"));
  story.site.forgetRequests();
  const { source } = await story.crawl();
  assert.deepEqual([source.embed.added, source.embed.changed, source.embed.unchanged], [1, 1, 2]);
  assert.deepEqual([...story.site.bodies].sort(), ["/a", "/c"]);
  assert.deepEqual([await story.found("okapi"), await story.found("tapir")], [[], ["/a"]]);
  assert.deepEqual(await story.found("wombat"), ["/c"]);
});

test("a site that moves is in the index once, however many pages it has", async () => {
  const numbers = Array.from({ length: 27 }, (_, i) => i);
  const front = (place: string): string => page("gnu", ...numbers.map((i) => `/${place}/${i}`));
  story.site.set("/", front("old"));
  for (const i of numbers) story.site.set(`/old/${i}`, page(`okapi ${i}`));
  await story.crawl();
  story.site.set("/", front("old").replace("</ul>", `${linksTo(...numbers.map((i) => `/new/${i}`))}</ul>`));
  for (const i of numbers) {
    story.site.set(`/old/${i}`, redirect(`/new/${i}`));
    story.site.set(`/new/${i}`, page(`okapi ${i}`));
  }
  const { error, source } = await story.crawl();
  assert.deepEqual([error, source.embed.removed], ["", 27]);
  assert.deepEqual(Object.keys(await story.indexed()), ["/", ...numbers.map((i) => `/new/${i}`)].sort());
});

test("404 leaves the third time, and comes back under the same id", async () => {
  zoo();
  await story.crawl();
  const { "/a": id } = await story.indexed();
  story.site.pages.delete("/a");
  for (const times of [1, 2]) {
    const { error, source, log } = await story.crawl();
    assert.deepEqual([error, await story.found("okapi")], ["", ["/a"]], `after ${times}`);
    assert.deepEqual([source.download.unchanged, source.download.skipped], [2, 1], "it is counted");
    const why = `The server answered 404: there is no such page (${times} of 3)`;
    assert.ok(log.includes(`/a.md': ${why}`), "named");
    assert.ok((await readMapText(story.app, DOMAIN, "site", "files_map.csv")).includes(why), "and its row says why");
  }
  assert.equal((await story.crawl()).source.embed.removed, 1);
  assert.deepEqual([await story.found("okapi"), await story.disk()], [[], ["b.md", "index.md"]]);
  zoo();
  await story.crawl();
  assert.deepEqual(await story.found("okapi"), ["/a"]);
  assert.equal((await story.indexed())["/a"], id);
});

test("a page that is back after a 404 is as it was, and no row tells of it", async () => {
  zoo();
  await story.crawl();
  story.site.pages.delete("/a");
  await story.crawl();
  zoo();
  const { error, source } = await story.crawl();
  assert.deepEqual([error, source.embed.unchanged, source.download.skipped], ["", 3, 0]);
  for (const map of ["files_map.csv", "vectorstore_map.csv"])
    assert.doesNotMatch(await readMapText(story.app, DOMAIN, "site", map), /answered 404/);
});

test("a host or a page that answers 5xx loses nothing", async () => {
  zoo();
  await story.crawl();
  const before = await story.indexed();
  story.site.set("/a", { status: 500 });
  for (let i = 0; i < 4; i++) assert.match((await story.crawl()).error, /500/);
  story.site.trouble = { status: 503 };
  for (let i = 0; i < 4; i++) assert.match((await story.crawl()).error, /no start address could be visited/);
  assert.deepEqual(await story.indexed(), before);
  assert.deepEqual(await story.found("okapi"), ["/a"]);
  story.site.trouble = undefined;
  zoo();
  const { error, source } = await story.crawl();
  assert.deepEqual([error, source.embed.unchanged], ["", 3]);
});

test("noindex and robots.txt take pages out, and let them in again", async () => {
  const robots = async (body: string): Promise<void> => {
    story.site.set("/robots.txt", { type: "text/plain", body });
    await story.reopen();
  };
  zoo();
  await story.crawl();
  story.site.set("/a", html("About okapi", "", noindex));
  await robots("User-agent: lockstep\nDisallow: /b");
  assert.equal((await story.crawl()).error, "");
  assert.deepEqual(
    [await story.found("gnu"), await story.found("okapi"), await story.found("quokka")],
    [["/"], [], []],
  );
  assert.deepEqual(await story.disk(), ["index.md"]);
  zoo();
  await robots("");
  await story.crawl();
  assert.deepEqual([await story.found("okapi"), await story.found("quokka")], [["/a"], ["/b"]]);
});

test("a page that moved, or names a canonical one, is one document under the address it means", async () => {
  zoo();
  story.site.set("/", page("gnu", "/a", "/b", "/b?print"));
  story.site.set("/b?print", html("About quokka", "", '<link rel="canonical" href="/b">'));
  await story.crawl();
  assert.deepEqual(Object.keys(await story.indexed()), ["/", "/a", "/b"]);
  story.site.set("/a", redirect("/animals/okapi"));
  story.site.set("/animals/okapi", page("okapi"));
  const { error } = await story.crawl();
  assert.deepEqual([error, await story.found("okapi")], ["", ["/animals/okapi"]]);
  assert.deepEqual(await story.disk(), ["animals/okapi.md", "b.md", "index.md"]);
  story.site.forgetRequests();
  await story.crawl();
  assert.deepEqual(story.site.bodies, [], "each address has validators of its own");
});

test("a page that nobody links to leaves after three complete crawls", async () => {
  zoo();
  await story.crawl();
  story.site.set("/", page("gnu", "/b"));
  for (const expected of [["/a"], ["/a"], []]) {
    assert.equal((await story.crawl()).error, "");
    assert.deepEqual(await story.found("okapi"), expected);
  }
});

test("what leaves is held back when it is too much, and leaves when that is confirmed", async () => {
  await story.close();
  story = await WebStory.open({ max_removals: 0, max_removals_percent: 0 });
  zoo();
  await story.crawl();
  story.site.set("/", page("gnu", "/b"));
  for (let i = 0; i < 2; i++) await story.crawl();
  for (let i = 0; i < 2; i++) {
    assert.match((await story.crawl()).error, /1 removal is held/);
    assert.deepEqual(await story.found("okapi"), ["/a"]);
  }
  assert.equal((await story.crawl({ confirmDeletes: true })).error, "");
  assert.deepEqual([await story.found("okapi"), await story.disk()], [[], ["b.md", "index.md"]]);
  const { items } = await story.app.ingest.items({ domainId: DOMAIN, offset: 0, limit: 10 });
  assert.deepEqual(items.map(({ normalizedSource }) => normalizedSource.slice(story.site.origin.length)).sort(), [
    "/",
    "/b",
  ]);
});

test("readers have the old site until the new one is there, and never a part of each", async () => {
  zoo();
  await story.crawl();
  const { kept: before } = await story.app.generations(DOMAIN);
  story.site.set("/", page("gnat", "/a", "/c"));
  story.site.set("/a", page("oriole"));
  story.site.set("/c", page("quail"));
  story.site.pages.delete("/b");
  const old = async (): Promise<unknown> => [
    await story.found("gnu"),
    await story.found("okapi"),
    await story.found("oriole"),
    await story.found("quail"),
  ];
  const whole = await old();
  const meanwhile: unknown[] = [];
  story.site.onRequest = async (path) => {
    if (path === "/c") meanwhile.push(await old());
  };
  await story.crawl();
  assert.deepEqual(meanwhile, [whole]);
  assert.deepEqual(await old(), [[], [], ["/a"], ["/c"]]);
  assert.equal((await story.app.generations(DOMAIN)).kept.length, before.length + 1, "one more generation");
});

test("a dry run tells and leaves nothing", async () => {
  zoo();
  const { source } = await story.crawl({ dryRun: true });
  assert.deepEqual(source.planned?.map(({ step, name, change }) => `${step} ${change} ${name}`).sort(), [
    "download added a.md",
    "download added b.md",
    "download added index.md",
    "embed added a.md",
    "embed added b.md",
    "embed added index.md",
  ]);
  assert.deepEqual(await readdir(story.folder()).catch(() => []), []);
  assert.deepEqual((await story.app.ingest.items({ offset: 0, limit: 10 })).items, []);
});

test("killed in the middle, the crawl goes on with what is left", async () => {
  const paths = Array.from({ length: 60 }, (_, i) => `/p${i}`);
  story.site.set("/", page("gnu", ...paths));
  for (const path of paths) story.site.set(path, page(`animal${path.slice(2)}`));
  const server = await ServerProcess.start(story.settings);
  const killed = new Promise<unknown>((resolve) => {
    // From the fortieth page on nobody answers, until the process that asks is gone.
    story.site.onRequest = async () => {
      if (story.site.asked.length === 40) resolve(server.end("SIGKILL"));
      if (story.site.asked.length >= 40) await killed;
    };
  });
  await server.crawlUntil(DOMAIN, /never/).catch(() => undefined);
  assert.equal(await killed, "SIGKILL");
  story.site.onRequest = () => undefined;
  story.site.forgetRequests();
  const remembered = visitedPages();
  assert.ok(remembered.length > 0, "what was visited is noted while the crawl goes on");
  const { error, source } = await story.crawl();
  assert.deepEqual([error, source.complete, source.embed.added], ["", true, 61]);
  const again = story.site.asked.flatMap((line) => /^GET (\/p\d+)$/.exec(line)?.[1] ?? []);
  const left = paths.filter((path) => !remembered.includes(path));
  assert.deepEqual(again.sort(), left.sort(), "what is noted is not asked for again");
  assert.deepEqual(await story.found("animal7"), ["/p7"]);
});
