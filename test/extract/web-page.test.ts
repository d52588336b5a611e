// Charset, title, language, canonical link, robots and links of a page are read.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WebPage } from "../../src/contracts/web.ts";
import { readPage } from "../../src/extract/web/read-page.ts";

const URL = "https://site.example/docs/guide?x=1";
function read(html: string | Uint8Array, contentType = "text/html; charset=utf-8"): WebPage {
  return readPage({
    form: "html",
    bytes: typeof html === "string" ? Buffer.from(html) : html,
    contentType,
    url: URL,
  });
}

const latin1 = (text: string): Uint8Array => Buffer.from(text, "latin1");
const charsets: readonly [title: string, bytes: Uint8Array, contentType: string, word: string][] = [
  ["the header", latin1("<p>Gr\u00fc\u00dfe"), "text/html; charset=ISO-8859-1", "Grüße"],
  [
    "the header before the page",
    latin1("<meta charset=shift_jis><p>Gr\u00fc\u00dfe"),
    "text/html;charset=latin1",
    "Grüße",
  ],
  [
    "a byte order mark before all",
    Buffer.from("\ufeff<meta charset=latin1><p>Grüße"),
    "text/html; charset=latin1",
    "Grüße",
  ],
  ["UTF-16 by its mark", Buffer.from("\ufeff<p>Grüße", "utf16le"), "text/html; charset=utf-8", "Grüße"],
  [
    "the page",
    latin1('<meta http-equiv=x content="text/html; charset=windows-1251"><p>\xcf\xf0\xe8'),
    "text/html",
    "При",
  ],
  [
    "the page where the header names nothing known",
    latin1("<meta charset=koi8-r><p>\xf0\xd2\xc9"),
    "text/html; charset=klingon",
    "При",
  ],
  ["UTF-8 that is called Latin-1", Buffer.from("<p>Grüße"), 'text/html; charset="iso-8859-1"', "Grüße"],
  [
    "Latin-1 that is called UTF-8",
    latin1("<p>Gr\u00fc\u00dfe aus M\u00fcnchen"),
    "text/html; charset=utf-8",
    "Grüße aus München",
  ],
  ["nothing, and it is UTF-8", Buffer.from("<p>Grüße"), "text/html", "Grüße"],
  [
    "nothing, and it is Shift_JIS",
    Buffer.from("82b182ea82cd8ee88e8682c582b78142".repeat(40), "hex"),
    "",
    "これは手紙です。".repeat(40),
  ],
];

for (const [title, bytes, contentType, word] of charsets) {
  test(`charset: ${title}`, () => assert.equal(read(bytes, contentType).markdown, word));
}

test("NULs and bytes of any kind are no reason to throw", () => {
  assert.equal(read("<p>A page with a\0 stray byte").markdown, "A page with a stray byte");
  const bytes = Uint8Array.from({ length: 5000 }, (_, at) => (at * 7919 + (at >> 3)) % 256);
  for (const contentType of ["text/html", "text/html; charset=utf-16", "text/html; charset=gb18030", "\0; charset="]) {
    assert.equal(typeof read(bytes, contentType).markdown, "string");
    assert.equal(typeof readPage({ form: "text", bytes, contentType, url: "no address" }).markdown, "string");
  }
  assert.deepEqual(
    readPage({ form: "html", bytes: Buffer.from("<a href=/x>x</a>"), contentType: "", url: "no address" }).links,
    [],
  );
});

const titles: readonly [html: string, title: string, markdown: string][] = [
  ["<title> A &amp;\n B </title><p>text", "A & B", "# A & B\n\ntext"],
  ["<title>Guide – Site</title><h1>Guide</h1><p>text", "Guide – Site", "# Guide\n\ntext"],
  ['<meta property="og:title" content="Open"><h1>Guide</h1>', "Open", "# Guide"],
  ["<h2>Second</h2><p>text<h1>First</h1>", "Second", "# Second\n\n## Second\n\ntext\n\n# First"],
  ["<title></title><p>text", "", "text"],
  ["<title>Only</title>", "Only", "# Only"],
  ["<nav>n</nav><title>T</title><main><p>main</p></main><footer>f</footer>", "T", "# T\n\nmain"],
  [`<title>${"x".repeat(400)}</title>`, "x".repeat(300), `# ${"x".repeat(300)}`],
];

test("title and text", () => {
  for (const [html, title, markdown] of titles) {
    const page = read(html);
    assert.deepEqual([page.title, page.markdown], [title, markdown], html.slice(0, 80));
  }
});

const GERMAN = "<p>Das ist ein Text, der auf Deutsch geschrieben ist und von nichts anderem als sich selbst handelt.";
const languages: readonly [html: string, language: string][] = [
  ["<html lang=de-AT><p>Hello", "de"],
  ['<html lang=""><meta property="og:locale" content="pt_BR"><p>Hello', "pt"],
  ['<meta http-equiv="Content-Language" content="fr">', "fr"],
  ['<html lang="x-default"><meta http-equiv="Content-Language" content="en, de">', ""],
  [`<html lang="deutsch">${GERMAN}`, "de"],
  [GERMAN, "de"],
];

test("language: as the page says, else as it reads", () => {
  for (const [html, language] of languages) assert.equal(read(html).language, language, html);
});

const canonicals: readonly [html: string, canonical: string][] = [
  ["<link rel=canonical href=https://site.example/guide#top>", "https://site.example/guide"],
  ['<link rel="Canonical nofollow" href="../guide">', "https://site.example/guide"],
  ["<base href=https://cdn.example/b/><link rel=canonical href=guide>", "https://cdn.example/b/guide"],
  ["<link rel=canonical href=guide><base href=/b/><base href=/c/>", "https://site.example/b/guide"],
  ["<link rel=canonical href=/a><link rel=canonical href=https://site.example/a>", "https://site.example/a"],
  ["<link rel=canonical href=/a><link rel=canonical href=/b>", ""],
  ["<link rel=canonical href=javascript:x><link rel=canonical href=/b>", "https://site.example/b"],
  ["<link rel=canonical href><link rel=alternate href=/a>", ""],
  ["<template><link rel=canonical href=/a></template>", ""],
];

test("canonical link", () => {
  for (const [html, canonical] of canonicals) assert.equal(read(html).canonical, canonical, html);
});

const robots: readonly [meta: string, noindex: boolean, nofollow: boolean][] = [
  ["<meta name=robots content=noindex>", true, false],
  ['<META NAME="Robots" CONTENT="index, NoFollow">', false, true],
  ["<meta name=robots content=none>", true, true],
  ['<meta name=lockstep content="noindex,nofollow">', true, true],
  ["<meta name=robots content=all><meta name=lockstep content=noindex>", true, false],
  ["<meta name=otherbot content=noindex>", false, false],
  ["<meta name=robots content=max-snippet:-1>", false, false],
];

test("robots of the page", () => {
  for (const [meta, noindex, nofollow] of robots) {
    const page = read(`${meta}<a href=/a>a</a>`);
    assert.deepEqual([page.noindex, page.nofollow], [noindex, nofollow], meta);
    assert.deepEqual(page.links, nofollow ? [] : ["https://site.example/a"], meta);
  }
});

test("links: absolute, without fragment, each once, in order", () => {
  const { links } = read(`<nav><a href="/b">b</a></nav>
    <a href="c#one">c</a><a href="c#two">c</a><a href=" ../a?y=2&amp;x=1 ">a</a><a href="?page=2">next</a>
    <a href="#top">up</a><a href="">self</a><a>none</a>
    <a href="mailto:x@site.example">m</a><a href="javascript:void(0)">j</a><a href="ftp://f.example/">f</a>
    <a href="data:text/html,x">d</a><a href="//other.example">o</a><a href="https://">broken</a>
    <a rel="noopener NoFollow" href="/paid">p</a>
    <map><area href="/area"></map><template><a href="/template">t</a></template>
    <noscript><a href="/without-scripts">n</a></noscript><div hidden><a href="/menu">m</a></div>
    <meta http-equiv="refresh" content="5; URL='/moved'"><frameset><frame src="frame.html"></frameset>
    <script>document.write('<a href="/script">s</a>')</script><a href="/${"x".repeat(3000)}">long</a>`);
  assert.deepEqual(links, [
    "https://site.example/b",
    "https://site.example/docs/c",
    "https://site.example/a?y=2&x=1",
    "https://site.example/docs/guide?page=2",
    "https://other.example/",
    "https://site.example/area",
    "https://site.example/without-scripts",
    "https://site.example/menu",
    "https://site.example/moved",
    "https://site.example/docs/frame.html",
  ]);
});

test("a base changes what relative links mean, unless it is none of the web", () => {
  assert.deepEqual(read("<a href=x>x</a><base href=/other/>").links, ["https://site.example/other/x"]);
  assert.deepEqual(read("<base href=data:,><a href=x>x</a>").links, ["https://site.example/docs/x"]);
});

test("links in the text lead where they led on the page", () => {
  const { markdown } = read(
    '<p>See <a href="../b#part">b</a>, <a href="https://site.example/c">c</a> and <a href="#x">x</a>.',
  );
  assert.equal(markdown, "See [b](https://site.example/b#part), [c](https://site.example/c) and x.");
});

test("feeds and the Markdown variant", () => {
  const page =
    read(`<link rel=alternate type=application/rss+xml href=/rss><link rel=alternate type="application/atom+xml; x" href=/atom>
    <link rel=alternate type=application/feed+json href=/json><link rel=alternate type=application/json href=/wp-json/1>
    <link rel="alternate" hreflang=de href=/de><link rel=stylesheet type=application/rss+xml href=/no>
    <link rel=alternate type=text/markdown href="guide.md"><link rel=alternate type=text/markdown href=second.md>`);
  assert.deepEqual(page.feeds, ["https://site.example/rss", "https://site.example/atom", "https://site.example/json"]);
  assert.equal(page.markdownVariant, "https://site.example/docs/guide.md");
});

test("no password, token or signature of an address gets into the document", () => {
  const targets = [
    "https://user:hunter2@site.example/a?x=1&sig=hunter2&X-Amz-Signature=hunter2",
    "/b?token=hunter2#part",
    "//user:hunter2@site.example/c?jwt=hunter2",
    "ht\ntps://hunter2@site.example/d",
    "/e#access_token=hunter2&x=1",
    "postgres://user:hunter2@db.example/f",
    `/g?sig=hunter2&x=${"y".repeat(3000)}`,
    "https://user:hunter2@[site/h",
  ];
  const links = targets.map((target, i) => `<a href="${target}">link ${i}</a>`);
  const page = read(
    `<link rel=alternate type=application/rss+xml href="/rss?token=hunter2"><main><p>${links.join(" ")} <a href="${targets[0]}">${targets[0]}</a> <a href="ssh://git@site.example/x">ssh</a> <a href="/y?code=1&key=2#token">kept</a><img src="/p.png?sig=hunter2" alt=Picture></main>`,
  );
  assert.doesNotMatch(page.markdown, /hunter2/);
  assert.match(page.markdown, /\[link 0\]\(https:\/\/site\.example\/a\?x=1\)/);
  assert.match(page.markdown, /\[link 1\]\(https:\/\/site\.example\/b#part\)/);
  assert.match(page.markdown, /ssh:\/\/git@site\.example\/x.*\/y\?code=1&key=2#token/s);
  assert.deepEqual(page.feeds, ["https://site.example/rss"]);
  assert.equal(page.images[0]?.url, "https://site.example/p.png?sig=hunter2", "it is asked for with its signature");
});

const scripted: readonly [title: string, html: string, needsScripts: boolean][] = [
  ["an empty root", '<div id="root"></div><script src=app.js></script>', true],
  ["a root that says it is loading", '<div id="__next"><div>Loading…</div></div><script>x</script>', true],
  ["an Angular root", "<app-root></app-root><script type=module src=a.js></script>", true],
  ["a page that asks for it", "<noscript>Please enable JavaScript.</noscript><p>Hi<script>x</script>", true],
  ["nothing at all but scripts", "<title>App</title><script>x</script>", true],
  ["a rendered root", `<div id=root><p>${"All of its text is here. ".repeat(20)}</div><script>x</script>`, false],
  [
    "a long page that asks for it",
    `<noscript>Enable JavaScript</noscript><p>${"word ".repeat(100)}<script>x</script>`,
    false,
  ],
  ["a short page", "<p>Nothing here yet, come back later.</p><script>analytics</script>", false],
  ["a page of links", "<a href=/a>a</a><script>x</script>", false],
  ["no scripts", '<div id="root"></div><noscript>JavaScript</noscript>', false],
  ["scripts that do not run", '<div id="root"></div><script type="application/ld+json">{}</script>', false],
];

for (const [title, html, expected] of scripted) {
  test(`needs scripts: ${title}`, () => assert.equal(read(html).needsScripts, expected));
}
