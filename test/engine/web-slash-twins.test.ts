// The same address with and without a slash at its end is one page, and two as soon as they show different texts.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { html, linksTo } from "../sources/web-visit-world.ts";
import { WebStory } from "./web-story.ts";

let story: WebStory;
beforeEach(async () => {
  story = await WebStory.open();
});
afterEach(() => story.close());

const start = (...links: string[]): void => story.site.set("/", html("About gnu", linksTo(...links)));
const show = (path: string, word: string, links: string[] = []): void =>
  story.site.set(path, html(`About ${word}`, linksTo(...links)));
const move = (from: string, location: string, status = 301): void =>
  story.site.set(from, { status, headers: { location }, etag: null });
const asked = (pattern: RegExp): string[] => story.site.asked.filter((line) => pattern.test(line)).sort();

async function crawl(): Promise<void> {
  story.site.forgetRequests();
  const { error, source } = await story.crawl();
  assert.deepEqual([error, source.complete], ["", true]);
}

async function foundAt(...words: string[]): Promise<string[][]> {
  return await Promise.all(words.map((word) => story.found(word)));
}

for (const [name, links, more] of [
  ["on one page, without first", ["/plans", "/plans/"], {}],
  ["on one page, with it first", ["/plans/", "/plans"], {}],
  ["on another page, without first", ["/plans", "/deep"], { "/deep": ["/deeper"], "/deeper": ["/plans/"] }],
  ["on another page, with it first", ["/plans/", "/deep"], { "/deep": ["/deeper"], "/deeper": ["/plans"] }],
] as [string, string[], Record<string, string[]>][]) {
  test(`two spellings with different texts are two pages: ${name}`, async () => {
    start(...links);
    for (const [path, next] of Object.entries(more)) show(path, path.slice(1), next);
    show("/plans", "okapi", ["/by-okapi"]);
    show("/plans/", "tapir", ["/by-tapir"]);
    show("/by-okapi", "ibis");
    show("/by-tapir", "egret");
    for (let i = 0; i < 4; i++) {
      await crawl();
      assert.deepEqual(await foundAt("okapi", "tapir"), [["/plans"], ["/plans/"]], `crawl ${i + 1}`);
      assert.deepEqual(await foundAt("ibis", "egret"), [["/by-okapi"], ["/by-tapir"]]);
    }
    const before = await story.indexed();
    show("/plans/", "heron");
    await crawl();
    assert.deepEqual(await foundAt("okapi", "tapir", "heron"), [["/plans"], [], ["/plans/"]]);
    const { "/by-tapir": _, ...kept } = before;
    assert.deepEqual(Object.keys(await story.indexed()).sort(), Object.keys({ ...kept, "/by-tapir": "" }).sort());
  });
}

test("a site that links the other spelling now, and left the old page where it was, has its new page", async () => {
  start("/plans/", "/moved");
  show("/plans/", "okapi");
  move("/moved", "/moved/");
  show("/moved/", "tapir");
  await crawl();
  start("/plans", "/moved");
  show("/plans", "heron");
  for (let i = 0; i < 2; i++) {
    await crawl();
    assert.deepEqual(await foundAt("heron", "tapir"), [["/plans"], ["/moved/"]]);
  }
  assert.deepEqual(asked(/moved/), ["GET /moved/"], "what leads to the other is asked again when it is due");
});

test("with a query, and where each names itself as canonical", async () => {
  start("/list?a=1", "/list/?a=1", "/named", "/named/");
  show("/list?a=1", "okapi");
  show("/list/?a=1", "tapir");
  const named = (path: string, word: string): void =>
    story.site.set(
      path,
      `<html><head><link rel="canonical" href="${path}"></head><body><main><h1>${word}</h1><p>About ${word}.</p></main></body></html>`,
    );
  named("/named", "quokka");
  named("/named/", "zebra");
  for (let i = 0; i < 2; i++) {
    await crawl();
    assert.deepEqual(await foundAt("okapi", "tapir"), [["/list?a=1"], ["/list/?a=1"]]);
    assert.deepEqual(await foundAt("quokka", "zebra"), [["/named"], ["/named/"]]);
  }
});

test("two spellings that show the same, or lead to one another, are one page", async () => {
  start("/same", "/same/", "/moved", "/moved/", "/other/", "/other", "/none", "/none/");
  for (const path of ["/same", "/same/"]) show(path, "okapi");
  move("/moved", "/moved/");
  show("/moved/", "tapir");
  move("/other/", "/other", 302);
  show("/other", "quokka");
  for (let i = 0; i < 3; i++) {
    await crawl();
    assert.deepEqual(Object.keys(await story.indexed()), ["/", "/moved/", "/other", "/same"], `crawl ${i + 1}`);
  }
  assert.ok(story.site.asked.length <= 14, story.site.asked.join(", "));
  show("/same/", "heron");
  show("/moved", "egret");
  await crawl();
  assert.deepEqual(await foundAt("okapi", "heron", "tapir", "egret"), [["/same"], ["/same/"], ["/moved/"], ["/moved"]]);
  show("/same/", "okapi");
  for (let i = 0; i < 2; i++) await story.crawl();
  assert.deepEqual(await story.found("heron"), ["/same/"], "a document is not given up for one odd answer");
  await crawl();
  assert.deepEqual(await foundAt("okapi", "heron"), [["/same"], []]);
});

test("a site that did not change sends none of its pages again", async () => {
  start("/same", "/same/", "/own", "/own/");
  for (const path of ["/same", "/same/"]) show(path, "okapi");
  show("/own", "tapir");
  show("/own/", "heron");
  await crawl();
  await crawl();
  assert.deepEqual(story.site.bodies, []);
  assert.deepEqual(Object.keys(await story.indexed()), ["/", "/own", "/own/", "/same"]);
  show("/same", "egret");
  await crawl();
  assert.deepEqual(
    await foundAt("egret", "okapi"),
    [["/same"], ["/same/"]],
    "the one that was asked in vain has its text",
  );
});

test("one that is gone leaves alone, after three checks, and does not take the text of the other", async () => {
  for (const [gone, word, left] of [
    ["/a", "okapi", "tapir"],
    ["/a/", "tapir", "okapi"],
  ] as const) {
    start("/a", "/a/");
    show("/a", "okapi");
    show("/a/", "tapir");
    await crawl();
    story.site.pages.delete(gone);
    for (let i = 0; i < 2; i++) await crawl();
    assert.deepEqual(await story.found(word), [gone]);
    await crawl();
    assert.deepEqual(await story.found(word), []);
    assert.equal((await story.found(left)).length, 1);
  }
});

test("one that no page links to any more leaves as other pages do, the other stays", async () => {
  start("/a", "/a/");
  show("/a", "okapi");
  show("/a/", "tapir");
  await crawl();
  start("/a/");
  for (let i = 0; i < 5; i++) await crawl();
  assert.deepEqual(await story.found("tapir"), ["/a/"]);
  start("/a");
  for (let i = 0; i < 3; i++) await crawl();
  assert.deepEqual(await foundAt("okapi", "tapir"), [["/a"], []]);
});

test("a site whose pages are Markdown, too, has each once", async () => {
  start("/guide", "/guide/");
  for (const path of ["/guide", "/guide/"]) show(path, "okapi");
  story.site.set("/guide.md", { type: "text/markdown", body: "# Guide\n\nAbout okapi in Markdown.\n" });
  for (let i = 0; i < 3; i++) {
    await crawl();
    assert.deepEqual(Object.keys(await story.indexed()), ["/", "/guide"], `crawl ${i + 1}`);
  }
  assert.ok(asked(/guide/).length <= 5, asked(/guide/).join(", "));
});
