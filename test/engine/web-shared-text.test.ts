// Pages that suddenly all show the same text keep their earlier texts until that is confirmed.
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { linksTo, type PageAnswer, redirect } from "../sources/web-visit-world.ts";
import { WebStory } from "./web-story.ts";

const ANIMALS = "okapi tapir lemur quokka ocelot jackal walrus bonobo dingo ibis llama narwhal".split(" ");
const PAGES = ANIMALS.length;
const paths = ANIMALS.map((_, at) => `/page${at}`);
const wordOf = (path: string): string => ANIMALS[Number(path.slice("/page".length))] ?? "gnu";

function page(title: string, text: string): PageAnswer {
  return { body: `<!doctype html><html lang="en"><title>${title}</title><main><h1>${title}</h1>${text}</main></html>` };
}

const asBefore = (path: string): PageAnswer =>
  page(
    `About ${wordOf(path)}`,
    `<p>Where the ${wordOf(path)} lives, what it eats in spring, and who looks after it.</p>`,
  );

function setPages(story: WebStory, answer: (path: string, at: number) => PageAnswer, front?: PageAnswer): void {
  const links = `<p>The gnu of the front page greets all visitors of the zoo.</p>${linksTo(...paths)}`;
  story.site.set("/", front ?? page("Zoo", links));
  for (const [at, path] of paths.entries()) story.site.set(path, answer(path, at));
}

async function foundPages(story: WebStory): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => story.found(wordOf(path))));
  return found.flat();
}

const NOTICE = "We are down for maintenance and will be back as soon as the work in our data centre is done.";
let request = 0;
/** No two of them are equal. */
const varied = (path: string): PageAnswer => {
  request += 1;
  const id = `7f3a${String(request).padStart(6, "0")}be`;
  return page(
    "Maintenance",
    `<p>${NOTICE}</p><p>Asked for ${path} at 01:${10 + (request % 50)}:07 on 18 Nov 2026, ray ${id}.</p><p><a href="/status?for=${request}">Status</a></p>`,
  );
};

const NOTICES: readonly (readonly [title: string, answer: (path: string, at: number) => PageAnswer])[] = [
  ["one text", () => page("Maintenance", `<p>${NOTICE}</p>`)],
  ["one text with a time, a request's id and the address", varied],
  [
    "a consent page that keeps each page's title, and counts down",
    (path, at) =>
      page(
        `About ${wordOf(path)}`,
        `<p>Before you continue we ask for your consent to cookies.</p><p>${at} partners</p>`,
      ),
  ],
  ["a redirect for good to one page", () => redirect("/parked")],
];

for (const [title, answer] of NOTICES) {
  test(`known pages that suddenly show ${title} keep their texts, until three checks say the same`, async (t) => {
    const story = await WebStory.openSpaced();
    t.after(() => story.close());
    setPages(story, asBefore);
    assert.equal((await story.crawl()).error, "");
    story.site.set("/parked", page("Parked", "<p>This domain is for sale, ask our brokers for an offer today.</p>"));
    for (const minutes of [60, 5, 60]) {
      story.later(minutes);
      setPages(story, answer, answer("/", PAGES));
      const { error, log } = await story.crawl();
      assert.deepEqual(await foundPages(story), paths, "all are found as they were");
      assert.deepEqual(await story.found("gnu"), ["/"], "the front page, too");
      assert.match(error, /page\d.*\d of 3/, "the run says so");
      for (const path of paths) assert.match(log, new RegExp(`${path}\\.md.* \\([12] of 3\\)`), `${path} is named`);
    }
    story.later(60);
    setPages(story, answer, answer("/", PAGES));
    await story.crawl();
    assert.deepEqual(await foundPages(story), [], "believed in the end");
    assert.deepEqual(await story.found("gnu"), []);
    story.later(60);
    setPages(story, asBefore);
    await story.crawl();
    await story.crawl();
    assert.deepEqual(await foundPages(story), paths, "what comes back is found again");
  });
}

test("a site that is back after an hour has lost nothing, and embeds nothing", async (t) => {
  const story = await WebStory.openSpaced();
  t.after(() => story.close());
  setPages(story, asBefore);
  await story.crawl();
  story.site.trouble = { ...page("Maintenance", `<p>${NOTICE}</p>`), etag: null };
  await story.crawl();
  story.site.trouble = undefined;
  const { error, source } = await story.crawl();
  assert.equal(error, "");
  assert.equal(source.embed.unchanged, PAGES + 1);
});

test("what a site says for good is what its pages say, however alike they are", async (t) => {
  const story = await WebStory.open();
  t.after(() => story.close());
  setPages(story, (path) =>
    page(path, `<p>A word about ${wordOf(path)} and ${"its long and well told life. ".repeat(5)}</p>`),
  );
  await story.crawl();
  const card = (path: string, at: number): PageAnswer =>
    page(`Card ${wordOf(path)}`, `<table><tr><td>Price</td><td>${at * 7 + 3} euros</td></tr></table>`);
  setPages(story, card);
  await story.crawl();
  await story.crawl();
  const { error } = await story.crawl();
  assert.equal(error, "");
  assert.deepEqual(Object.keys(await story.indexed()).length, PAGES + 1, "nothing has left");
  assert.deepEqual(await story.found("euros"), [...paths].sort());
  assert.equal((await story.crawl()).source.embed.unchanged, PAGES + 1);
});

test("where the earlier texts are not kept any more, an edit of all pages leaves none out", async (t) => {
  const story = await WebStory.open();
  t.after(() => story.close());
  const asset = (state: string) => (path: string, at: number) =>
    page("Asset", `<p>Asset HX-2024-${10017 + at} is ${state} and ${path.length} metres long.</p>`);
  setPages(story, asset("in stock"));
  await story.crawl();
  await rm(join(story.storage, "web/documents"), { recursive: true, force: true });
  setPages(story, asset("available"));
  for (let i = 0; i < 3; i++) await story.crawl();
  assert.deepEqual(await story.found("available"), [...paths].sort());
});

test("a page that a redirect leads to stays, however often its text is another one", async (t) => {
  const story = await WebStory.open();
  t.after(() => story.close());
  story.site.set("/", redirect("/home"));
  for (const word of ["okapi", "tapir", "lemur", "quokka", "ocelot", "jackal"]) {
    story.site.set(
      "/home",
      page(`News of the ${word}`, `<p>All about the ${word}, ${word} food and ${word} toys.</p>`),
    );
    const { error, source } = await story.crawl();
    assert.deepEqual([error, source.embed.removed], ["", 0], word);
    assert.deepEqual(await story.found(word), ["/home"]);
  }
});

test("a few pages that become equal, and a new template around what pages say, are taken at once", async (t) => {
  const story = await WebStory.openSpaced();
  t.after(() => story.close());
  setPages(story, asBefore);
  await story.crawl();
  const sold = page("Sold", "<p>This animal has found a new home, and is not shown to visitors any more.</p>");
  setPages(story, (path, at) => (at < 3 ? sold : asBefore(path)));
  assert.equal((await story.crawl()).error, "");
  assert.deepEqual(await foundPages(story), paths.slice(3));
  const template = `<p>${"Tickets, opening hours and the way to the zoo are on the board beside the gate. ".repeat(4)}</p>`;
  setPages(story, (path) =>
    page(wordOf(path), `${template}<p>${wordOf(path)}</p><p>Fed at ${path.length} o'clock</p>`),
  );
  const { error, source } = await story.crawl();
  assert.equal(error, "");
  assert.equal(source.embed.changed, PAGES);
});

test("pages that only ever told their numbers apart go on doing so in a new template", async (t) => {
  const story = await WebStory.openSpaced();
  t.after(() => story.close());
  const rows = (at: number): string => `<p>${at} visitors and ${at * 7} tickets.</p>`;
  setPages(story, (path, at) => page(`Day ${path}`, `<p>Counted at the gate in the morning.</p>${rows(at)}`));
  await story.crawl();
  setPages(story, (path, at) =>
    page(`Day ${path}`, `<p>What our new turnstile has to say about today.</p>${rows(at)}`),
  );
  const { error, source } = await story.crawl();
  assert.equal(error, "");
  assert.equal(source.embed.changed, PAGES);
});
