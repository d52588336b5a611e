// The date of a page comes from the page, its sitemap or its server, in this order.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { html } from "../sources/web-visit-world.ts";
import { DOMAIN, WebStory } from "./web-story.ts";

let story: WebStory;
beforeEach(async () => {
  story = await WebStory.open();
});
afterEach(() => story.close());

const meta = (date: string): string => `<meta property="article:modified_time" content="${date}">`;
const facts = (date: string): string =>
  `<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"Person","name":"A"},{"@type":"WebPage","comment":{"dateModified":"2001-01-01"},"dateModified":"${date}"}]}</script>`;
const header = (date: string): Record<string, string> => ({ "last-modified": new Date(date).toUTCString() });
const day = (modifiedAt: string): string => modifiedAt.slice(0, 10);

/** By path: the day that results show, and who said so. */
async function dates(): Promise<Record<string, string>> {
  const { sources } = await story.app.query({
    text: "said paragraph",
    limit: 50,
    domainId: DOMAIN,
    vectorStoreId: undefined,
  });
  const { items } = await story.app.ingest.items({ offset: 0 });
  const entries = items.flatMap((item) => {
    const hit = sources.find(({ url }) => url === item.normalizedSource);
    return hit ? [[new URL(hit.url).pathname, `${day(hit.modifiedAt)} ${item.content.modifiedFrom}`.trim()]] : [];
  });
  return Object.fromEntries(entries);
}

test("a page is as old as it says, then as its sitemap says, then as its server says", async () => {
  const { site } = story;
  const pages: [path: string, head: string, headers: Record<string, string>][] = [
    ["/meta", meta("2021-03-04T10:00:00+02:00") + facts("2022-01-01"), header("2024-01-01")],
    ["/facts", facts("2022-05-06T07:08:09Z"), header("2024-01-01")],
    ["/listed", "", header("2024-01-01")],
    ["/header", "", header("2024-02-03")],
    ["/future", meta("2999-01-01") + facts("2998-01-01T00:00:00Z"), header("2020-09-09")],
    ["/planned", facts("2998-01-01") + facts("2018-07-07"), header("2020-09-09")],
    ["/broken", meta("yesterday") + facts("1970-01-01"), header("2019-08-08")],
  ];
  for (const [path, head, headers] of pages) site.set(path, { body: html(`Page ${path}`, "", head), headers });
  site.set("/", html("Front"));
  const entry = (path: string, date: string): string =>
    `<url>${date && `<lastmod>${date}</lastmod>`}<loc>${site.origin}${path}</loc></url>`;
  const listed = pages.map(([path]) => entry(path, { "/header": "", "/future": "2999-09-09" }[path] ?? "2023-07-08"));
  const sitemap = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${listed.join("")}</urlset>`;
  site.set("/sitemap.xml", { type: "application/xml", body: sitemap });
  await story.crawl();
  const today = day(new Date().toISOString());
  const expected = {
    "/": today,
    "/meta": "2021-03-04 article:modified_time",
    "/facts": "2022-05-06 dateModified",
    "/listed": "2023-07-08 sitemap",
    "/header": "2024-02-03 Last-Modified",
    "/future": "2020-09-09 Last-Modified",
    "/planned": "2018-07-07 dateModified",
    "/broken": "2023-07-08 sitemap",
  };
  assert.deepEqual(await dates(), expected);

  // A date alone is no change; with other words it is taken.
  site.set("/meta", { body: html("Page /meta", "", meta("2025-01-01")) });
  site.set("/facts", { body: html("Page /facts", "<p>More.</p>", facts("2025-02-02")) });
  const { source } = await story.crawl();
  assert.deepEqual([source.download.changed, source.embed.changed, source.embed.added], [1, 1, 0]);
  assert.deepEqual(await dates(), { ...expected, "/facts": "2025-02-02 dateModified" });
});

test("a page without a date gets one when it says so, and nothing is embedded", async () => {
  story.site.set("/", html("Front"));
  await story.crawl();
  story.site.set("/", html("Front", "", meta("2021-03-04")));
  const { source } = await story.crawl();
  assert.deepEqual([source.download.changed, source.embed.changed, source.embed.added], [0, 0, 0]);
  assert.deepEqual(await dates(), { "/": "2021-03-04 article:modified_time" });
});
