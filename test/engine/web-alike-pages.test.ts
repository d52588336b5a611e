// Pages that look alike are told apart or recognised as one, and known ones are not lost.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { SiteWorld } from "../sources/web-site-world.ts";
import { html, linksTo, type PageAnswer } from "../sources/web-visit-world.ts";
import { WebStory } from "./web-story.ts";

let story: WebStory;
beforeEach(async () => {
  story = await WebStory.open({ max_pages: 200 });
});
afterEach(() => story.close());

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const indexed = async (): Promise<string[]> => Object.keys(await story.indexed());
const WITHDRAWN = html("Withdrawn from the range");

async function crawlWhole(): Promise<void> {
  assert.equal((await story.crawl()).source.complete, true);
}

/** Pages `/view?id=N`; those up to `alike` say the same. */
function setGoods(count: number, alike: number): void {
  for (const n of numbers(count)) story.site.set(`/view?id=${n}`, n <= alike ? WITHDRAWN : html(`About okapi${n}`));
}

for (const [count, alike] of [
  [20, 5],
  [60, 59],
] as const) {
  test(`pages of a list are looked at however many before them are alike: ${alike} of ${count}`, async () => {
    setGoods(count, alike);
    story.site.set("/", html("About gnu", linksTo(...numbers(count).map((n) => `/view?id=${n}`))));
    for (let i = 0; i < 2; i++) {
      await crawlWhole();
      assert.equal((await indexed()).length, 2 + count - alike);
    }
  });
}

test("pages that are linked one by one are looked at when samples show that they differ", async () => {
  const [count, alike] = [40, 20];
  setGoods(count, alike);
  story.site.set("/", html("About gnu", linksTo(...numbers(count).map((n) => `/about/${n}`))));
  for (const n of numbers(count)) story.site.set(`/about/${n}`, html(`About tapir${n}`, linksTo(`/view?id=${n}`)));
  await crawlWhole();
  assert.equal((await indexed()).filter((path) => path.startsWith("/view")).length, 1 + count - alike);
});

test("known pages stay when others become alike, which leave after three checks, whichever answers first then", async () => {
  // One after the other: which of them is the page is the order of the links, not chance.
  await story.close();
  story = await WebStory.open({ max_pages: 200 }, { WEB_PAGES_AT_ONCE: "1" });
  const link = (order: readonly number[]): void =>
    story.site.set("/", html("About gnu", linksTo(...order.map((n) => `/view?id=${n}`))));
  setGoods(20, 0);
  link(numbers(20));
  await crawlWhole();
  setGoods(20, 5);
  for (const left of [21, 21, 17, 17, 17]) {
    await crawlWhole();
    assert.equal((await indexed()).length, left);
  }
  link(numbers(20).reverse());
  await crawlWhole();
  assert.equal((await indexed()).length, 17);
  assert.deepEqual(await story.found("okapi6"), ["/view?id=6"]);
});

test("a known page that once shows what another shows stays as it was", async () => {
  story.site.set("/", html("About gnu", linksTo("/p?id=1", "/p?id=2", "/p?id=3")));
  for (const n of numbers(3)) story.site.set(`/p?id=${n}`, html(`About okapi${n}`));
  await crawlWhole();
  story.site.set("/p?id=2", html("About okapi1"));
  await crawlWhole();
  assert.deepEqual(await story.found("okapi2"), ["/p?id=2"]);
  story.site.set("/p?id=2", html("About okapi2"));
  for (let i = 0; i < 3; i++) await crawlWhole();
  assert.deepEqual([await story.found("okapi1"), await story.found("okapi2")], [["/p?id=1"], ["/p?id=2"]]);
});

test("pages that differ only in where their links lead are several", async () => {
  const shows = (p: number): string =>
    [1, 2, 3].map((k) => `<li><a href="/photo?nr=${p * 10 + k}">Show</a></li>`).join("");
  const pages = 8;
  story.site.set("/", html("About gnu", linksTo("/list?page=1")));
  for (const p of numbers(pages)) {
    const next = p < pages ? `<a href="/list?page=${p + 1}">Next</a>` : "";
    story.site.set(`/list?page=${p}`, html("Photos", `<ul>${shows(p)}</ul>${next}`));
    for (const k of [1, 2, 3]) story.site.set(`/photo?nr=${p * 10 + k}`, html(`About photo${p * 10 + k}`));
  }
  await crawlWhole();
  assert.equal((await indexed()).length, 1 + pages + 3 * pages);
});

test("a page that is not there without a parameter is looked at with it", async () => {
  let shown = 0;
  const count = 12;
  story.site.onRequest = (path) => {
    const { searchParams, pathname } = new URL(path, story.site.origin);
    if (pathname !== "/" && pathname !== "/view") return;
    shown += 1;
    const links = linksTo(...numbers(count).map((n) => `/view?id=${n}&visit=${shown}`));
    const id = searchParams.get("id");
    const isThere = pathname === "/" || searchParams.has("visit");
    story.site.set(
      path,
      isThere ? { body: html(`About ${id ? `okapi${id}` : "gnu"}`, links), etag: null } : { status: 404 },
    );
  };
  await crawlWhole();
  for (const n of numbers(count)) assert.equal((await story.found(`okapi${n}`)).length, 1, `okapi${n}`);
  assert.equal((await indexed()).length, 1 + count);
  assert.ok(story.site.asked.length < 120, `${story.site.asked.length} requests`);
});

test("pages of one path are asked for side by side", { timeout: 60_000 }, async () => {
  const world = await SiteWorld.open();
  const together = Promise.withResolvers<void>();
  let open = 0;
  world.site.onRequest = async (path) => {
    if (!path.startsWith("/view")) return;
    open += 1;
    if (open === 4) together.resolve();
    await together.promise;
  };
  world.site.set("/", html("About gnu", linksTo(...numbers(8).map((n) => `/view?id=${n}`))));
  for (const n of numbers(8)) world.site.set(`/view?id=${n}`, html(`About okapi${n % 4}`));
  assert.equal((await world.crawl({}, { pagesAtOnce: 4 })).pages.length, 5);
  await world.close();
});

test("an address that named another as canonical and is a file now is a document of its own", async () => {
  const files: Readonly<Record<string, PageAnswer>> = {
    "/a": { type: "text/plain", body: "An okapi is told of in this sentence." },
    "/b": { type: "text/csv", body: "animal,legs\nokapi,4\n" },
    "/c": { type: "text/markdown", body: "# Animals\n\nHere the okapi has stripes and a long tongue." },
  };
  story.site.set("/", html("About gnu", linksTo("/all", ...Object.keys(files))));
  story.site.set("/all", html("About zebu"));
  for (const path of Object.keys(files))
    story.site.set(path, html("About zebu", "", '<link rel="canonical" href="/all">'));
  for (let i = 0; i < 2; i++) await story.crawl();
  assert.deepEqual(await story.found("zebu"), ["/all"]);
  for (const [path, file] of Object.entries(files)) story.site.set(path, file);
  for (let i = 0; i < 2; i++) {
    await story.crawl();
    assert.deepEqual(await story.found("okapi"), ["/a", "/b", "/c"]);
  }
});
