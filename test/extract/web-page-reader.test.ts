// Large and hostile pages are read in time proportional to their length, apart from the server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createWebPageReader, type PageReaderOptions } from "../../src/extract/web/create-web-page-reader.ts";

const URL = "https://site.example/docs/guide";
const { signal } = new AbortController();

/** Each takes far less than it may, also on a busy machine, unless something in it is read again and again. */
const BUDGET: PageReaderOptions = { maxBytesHere: 0, timeoutMs: 15_000 };

function upTo(bytes: number, part: string): string {
  return part.repeat(bytes / part.length);
}

function numbered(count: number, part: (number: number) => string): string {
  return Array.from({ length: count }, (_, number) => part(number)).join("");
}

const STYLE = upTo(1900, "display ");
const ROW_OF_SPANS = `<tr>${upTo(20_000, `<td rowspan=1000>${upTo(180, "x")}`)}`;

const pages: Readonly<Record<string, string>> = {
  nesting: upTo(2e5, "<div>"),
  "links that are not closed": upTo(2e5, "<p><a href=x><b>"),
  "a value that is not closed": upTo(2e5, '<a href="/'),
  attributes: `<p ${upTo(2e5, "a=1 ")}>text`,
  cells: upTo(2e5, "<p><table><td>"),
  lists: upTo(2e5, "<ul><li>x"),
  entities: `<p>${upTo(2e5, "&amp;")}`,
  titles: upTo(2e5, "<title>"),
  "canonical links": upTo(2e5, "<link rel=canonical href=/a>"),
  "pictures in pictures": upTo(2e5, "<picture><source srcset='a 1x, b 2x'><img src=c>"),
  "figures in figures": upTo(2e5, "<noscript><figure><img src=a><figcaption>"),
  "images in one picture": `<picture>${upTo(5e5, "<source srcset='a 1w'>")}${numbered(5000, (n) => `<img src=${n}>`)}`,
  "images in one figure": `<figure>${upTo(1e6, "<br>")}${numbered(5000, (n) => `<img src=${n}>`)}`,
  "images in one paragraph": `<p>${upTo(1e6, `<i style="${STYLE};display:none">x</i>`)}${numbered(5000, () => "<img src=a>")}`,
  "images below styles": `${upTo(4e5, `<div style="${STYLE}">`)}${numbered(5000, (n) => `<img src=${n}>`)}`,
  "one long set of images": `<img srcset="${upTo(2e5, "a 1x,")}">`,
  "sets of commas": numbered(50, (n) => `<img srcset="${upTo(19_000, ",")}${n}, ">`),
  "a long base": `<base href="/${upTo(1900, "x")}/">${numbered(40_000, (n) => `<a href=${n}>${n}</a>`)}`,
  "cells that span rows": upTo(2e5, `<table>${ROW_OF_SPANS}${upTo(4000, "<tr>")}</table>`),
};

const texts: Readonly<Record<string, string>> = {
  brackets: upTo(2e5, "["),
  images: upTo(2e5, "![a]("),
  definitions: upTo(2e5, "[a]: "),
  anchors: upTo(2e5, "<a href="),
  parentheses: upTo(2e5, "http://("),
  backticks: upTo(2e5, "`"),
  "addresses that nearly end": upTo(2e6, `http://x/${upTo(2000, "_")}x `),
};

for (const [form, table] of [["page", pages] as const, ["text", texts] as const]) {
  test(`a hostile ${form} takes time in proportion to its length, and makes no book`, async () => {
    const reader = createWebPageReader(BUDGET);
    for (const [title, text] of Object.entries(table)) {
      const bytes = Buffer.from(text);
      const reading = form === "page" ? reader.read : reader.readMarkdown;
      const { markdown } = await reading(bytes, `text/${form === "page" ? "html" : "markdown"}`, URL, signal).catch(
        (error: Error) => assert.fail(`${title}: ${error.message}`),
      );
      assert.ok(markdown.length < 40_000_000, `${title}: ${markdown.length} characters`);
    }
  });
}

test("a page is read alike here and by a reader", async () => {
  const html = Buffer.from(
    `<title>Grüße</title><p>Text<a href=/x>link</a><img src=/a.png alt=Alt>${upTo(1e5, "word ")}`,
  );
  const read = (maxBytesHere: number) =>
    createWebPageReader({ maxBytesHere }).read(html, "text/html; charset=utf-8", URL, signal);
  const page = await read(0);
  assert.deepEqual(page, await read(html.length));
  assert.deepEqual([page.title, page.links], ["Grüße", ["https://site.example/x"]]);
});

test("a page that takes too much is given up with a sentence, and the next one is read", async () => {
  const large = Buffer.from(upTo(3e6, "<p>word<br>"));
  const giveUp = (limits: PageReaderOptions) => createWebPageReader(limits).read(large, "text/html", URL, signal);
  await assert.rejects(giveUp({ timeoutMs: 50 }), {
    name: "ExtractError",
    message: "The page takes too long to read: the limit is 0 s.",
  });
  await assert.rejects(giveUp({ maxMemoryBytes: 20_000_000 }), {
    message: /^The page needs too much memory to be read/,
  });
  const long = await createWebPageReader().read(
    Buffer.from(`<title>Long</title><p>Begin${"<br>".repeat(500_000)}end`),
    "text/html",
    URL,
    signal,
  );
  assert.equal(long.markdown, "# Long\n\nBegin\n\n(The rest of the page is left out: it is too long.)");
});

test("while a large page is read, this process goes on", async () => {
  const large = Buffer.from(upTo(1e6, "<div id=x>a</div>"));
  let isRead = false;
  const reading = createWebPageReader().read(large, "text/html", URL, signal);
  reading.finally(() => {
    isRead = true;
  });
  let turns = 0;
  for (; !isRead; turns += 1) await setImmediate();
  assert.ok(turns > 100, `${turns} turns`);
  assert.match((await reading).markdown, /^a/);
});
