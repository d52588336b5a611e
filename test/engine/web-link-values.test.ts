import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { test } from "node:test";
import { html } from "../sources/web-visit-world.ts";
import { WebStory } from "./web-story.ts";

const token = (): string => randomBytes(12).toString("hex");
const links = (...targets: string[]): string => targets.map((each) => `<p><a href="${each}">here</a></p>`).join("");

/** Links of which some are other ones at every answer. */
const PASSING: readonly (readonly [title: string, body: () => string])[] = [
  [
    "a session in all links",
    () => {
      const session = token();
      return links(`/x?s=${session}&id=1`, `/y?id=2&s=${session}`);
    },
  ],
  ["a session in the only link", () => links(`/x?visit=${token()}`)],
  ["another token in each link", () => links(`/x?csrf=${token()}`, `/x?csrf=${token()}&a=b`, `/y?csrf=${token()}`)],
  ["a time in all links", () => links(`/x?t=${process.hrtime.bigint()}`, `/y?t=${process.hrtime.bigint()}`)],
  ["a session behind a semicolon", () => links(`/x;jsessionid=${token()}?a=1`, "/y")],
  ["an id in the path", () => links(`/s/${randomUUID()}/x`, "/y")],
];

test("a page whose links carry values that are other ones every time is embedded once", async (t) => {
  const story = await WebStory.open({ max_depth: 1, exclude: ["**/x*", "**/y*", "**/s/**"] });
  t.after(() => story.close());
  const paths = PASSING.map((_, at) => `/p${at}`);
  story.site.set("/", html("Front", paths.map((path) => `<a href="${path}">${path}</a>`).join(" ")));
  for (const [at, [title, body]] of PASSING.entries()) {
    story.site.set(`/p${at}`, () => ({ body: html(title, body()), etag: null }));
  }
  await story.crawl();
  for (let i = 0; i < 2; i++) {
    const { error, source } = await story.crawl();
    assert.equal(error, "");
    assert.equal(source.embed.changed, 0);
    assert.equal(source.embed.unchanged, PASSING.length + 1);
  }
  const { source } = await story.crawl({ mode: "full" });
  assert.equal(source.download.failed, 0, "the document that is known can be fetched");
  assert.deepEqual(await story.found("session"), ["/p0", "/p1", "/p4"]);
});

test("a link that leads elsewhere is a change", async (t) => {
  const story = await WebStory.open({ max_depth: 1, exclude: ["**/x*", "**/y*"] });
  t.after(() => story.close());
  const targets = ["/x?page=1", `/x?doc=report-2026-1&s=${token()}`, "/y?doc=report-2026-7", "/x?id=a1b2c3"];
  story.site.set("/", html("Front", links(...targets)));
  await story.crawl();
  for (const [at, target] of [
    [0, "/x?page=2"],
    [1, "/x?doc=report-2026-2"],
    [3, "/x?id=a1b2c4"],
  ] as const) {
    targets[at] = target;
    story.site.set("/", html("Front", links(...targets)));
    const { source } = await story.crawl();
    assert.equal(source.embed.changed, 1, target);
  }
});
