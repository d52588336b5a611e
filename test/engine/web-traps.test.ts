// Parameters, slashes, cookies and redirects do not multiply pages.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { html, linksTo } from "../sources/web-visit-world.ts";
import { WebStory } from "./web-story.ts";

let story: WebStory;
beforeEach(async () => {
  story = await WebStory.open({ max_pages: 200 });
});
afterEach(() => story.close());

const asked = (pattern: RegExp): string[] => story.site.asked.filter((line) => pattern.test(line));

/** Eight pages, each of which links to all of them with new values of these parameters each time it is shown. */
function setShop(...names: string[]): void {
  let shown = 0;
  story.site.onRequest = (path) => {
    const number = /^\/goods(\d)(\?|$)/.exec(path)?.[1];
    if (path !== "/" && number === undefined) return;
    shown += 1;
    const query = names.map((name, at) => `${name}=${(shown * 7919 + at).toString(36)}`).join("&");
    const links = Array.from({ length: 8 }, (_, i) => `/goods${i}?${query}`);
    story.site.set(path, { body: html(number ? `About okapi${number}` : "About gnu", linksTo(...links)), etag: null });
  };
}

for (const names of [["zq"], ["x_visit", "tok"]]) {
  test(`parameters whose values change while content does not make no pages: ${names}`, async () => {
    setShop(...names);
    for (let i = 0; i < 3; i++) {
      story.site.forgetRequests();
      const { error, source } = await story.crawl();
      assert.deepEqual([error, source.complete], ["", true]);
      assert.equal(Object.keys(await story.indexed()).length, 9, `crawl ${i + 1}`);
      assert.ok(asked(/goods/).length < 80, `${asked(/goods/).length} requests`);
    }
    for (let i = 0; i < 8; i++) assert.equal((await story.found(`okapi${i}`)).length, 1);
  });
}

test("parameters that tell pages apart do, whatever they are called, also beside one that does not", async () => {
  const words = ["cats", "dogs", "birds", "fish"];
  let shown = 0;
  story.site.onRequest = (path) => {
    const query = new URLSearchParams(path.split("?")[1] ?? "");
    shown += 1;
    const links = words.flatMap((word) => [`/?s=${word}`, `/view?sid=${word}&ref=${shown}`]);
    const word = query.get("s") ?? query.get("sid");
    if (path.startsWith("/view") && !word) return story.site.set(path, { status: 404 });
    if (/^\/(\?|view|$)/.test(path)) {
      const title = word ? `About the${word} ${path.startsWith("/view") ? "viewed" : "listed"}` : "About gnu";
      story.site.set(path, { body: html(title, linksTo(...links)), etag: null });
    }
  };
  await story.crawl();
  for (const word of words) {
    const found = (await story.found(`the${word}`)).map((path) => path.replace(/ref=\d+&?/, "")).sort();
    assert.deepEqual(
      found.filter((path) => path !== "/"),
      [`/?s=${word}`, `/view?sid=${word}`],
      word,
    );
  }
  assert.ok(asked(/view/).length < 60, `${asked(/view/).length} requests`);
});

test("two addresses of one path that show the same are one, and two as soon as they differ", async () => {
  const index = (word: string): void => story.site.set("/x/index.html", html(`About ${word}`));
  story.site.set("/", html("About gnu", linksTo("/x", "/x/index.html", "/y?print=1", "/y")));
  story.site.set("/x", html("About okapi"));
  index("okapi");
  for (const path of ["/y", "/y?print=1"]) story.site.set(path, html("About quokka"));
  await story.crawl();
  assert.deepEqual(Object.keys(await story.indexed()), ["/", "/x", "/y?print=1"]);
  index("tapir");
  await story.crawl();
  assert.deepEqual([await story.found("okapi"), await story.found("tapir")], [["/x"], ["/x/index.html"]]);
  index("okapi");
  for (let i = 0; i < 2; i++) await story.crawl();
  assert.deepEqual(await story.found("tapir"), ["/x/index.html"], "a document is not given up for one odd answer");
  await story.crawl();
  assert.deepEqual(Object.keys(await story.indexed()), ["/", "/x", "/y?print=1"]);
});

for (const [name, slow, start, more] of [
  ["on one page", "/z", ["/z", "/z/default.htm"], {}],
  ["with a parameter", "/z?print=1", ["/z?print=1", "/z"], {}],
  ["on two pages", "/a", ["/a", "/b"], { "/a": ["/z"], "/b": ["/z/default.htm"] }],
] as const) {
  test(`of two addresses that show the same the first one is the page, whichever answers first: ${name}`, async () => {
    const fillers = Array.from({ length: 12 }, (_, i) => `/filler${i}`);
    const last = Promise.withResolvers<void>();
    story.site.onRequest = async (path) => {
      if (path === fillers.at(-1)) last.resolve();
      if (path === slow) await last.promise;
    };
    story.site.set("/", html("About gnu", linksTo(...start, ...fillers)));
    for (const path of fillers) story.site.set(path, html(`About ${path.slice(1)}`));
    for (const [path, links] of Object.entries(more)) story.site.set(path, html(`About ${path}`, linksTo(...links)));
    for (const path of ["/z", "/z?print=1", "/z/default.htm"]) story.site.set(path, html("About zebras"));
    await story.crawl();
    assert.deepEqual(await story.found("zebras"), [slow === "/a" ? "/z" : slow]);
  });
}

test("both spellings of a slash are one page: when one is not there the other is asked", async () => {
  story.site.set("/", html("About gnu", linksTo("/so2", "/so3/", "/so4", "/none")));
  story.site.set("/so2/", html("About okapi"));
  story.site.set("/so3", html("About quokka"));
  story.site.set("/so4", html("About tapir"));
  story.site.set("/robots.txt", { type: "text/plain", body: "User-agent: *\nDisallow: /so4/" });
  assert.equal((await story.crawl()).error, "");
  assert.deepEqual([await story.found("okapi"), await story.found("quokka")], [["/so2/"], ["/so3"]]);
  story.site.forgetRequests();
  await story.crawl();
  assert.deepEqual(asked(/so[23]/).sort(), ["GET /so2/", "GET /so3"], "the one that answered is asked from then on");
  story.site.pages.delete("/so4");
  await story.crawl();
  assert.deepEqual(await story.found("tapir"), ["/so4"], "one that may not be asked says nothing of the other");
  story.site.set("/so2", html("About okapi"));
  story.site.pages.delete("/so2/");
  for (let i = 0; i < 3; i++) await story.crawl();
  assert.deepEqual(await story.found("okapi"), ["/so2"]);
});

test("a page behind a cookie is shown to whoever brings it back, and to nobody else", async () => {
  let set = 0;
  story.site.onRequest = (path, { cookie = "" }) => {
    if (!/^\/(wall|self|never)/.test(path) || path.startsWith("/wall-ok")) return;
    const isIn = cookie.includes("seen=yes");
    const word = path.startsWith("/wall") ? "okapi" : "quokka";
    if (isIn && !path.startsWith("/never")) return story.site.set(path, { body: html(`About ${word}`), etag: null });
    set += 1;
    const headers = path.startsWith("/wall")
      ? { location: `/gate?back=${path}` }
      : { location: path, "set-cookie": path.startsWith("/never") ? `n${set % 2}=${set}` : "seen=yes; Path=/" };
    story.site.set(path, { status: 302, headers, etag: null });
  };
  story.site.set("/", html("About gnu", linksTo("/wall", "/self", "/never")));
  story.site.set("/gate?back=/wall", {
    status: 302,
    headers: { location: "/wall", "set-cookie": "seen=yes" },
    etag: null,
  });
  for (let i = 0; i < 2; i++) {
    assert.equal((await story.crawl()).error, "");
    assert.deepEqual([await story.found("okapi"), await story.found("quokka")], [["/wall"], ["/self"]]);
    assert.deepEqual(Object.keys(await story.indexed()), ["/", "/self", "/wall"]);
  }
  assert.ok(asked(/never/).length < 12);
});

test("a redirect that brings another cookie each time has an end", async () => {
  let shown = 0;
  story.site.onRequest = (path) => {
    if (path !== "/loop") return;
    shown += 1;
    const headers = { location: "/loop", "set-cookie": `n${shown}=1` };
    story.site.set(path, shown > 300 ? html("About okapi") : { status: 302, headers, etag: null });
  };
  story.site.set("/", html("About gnu", linksTo("/loop")));
  await story.crawl();
  assert.deepEqual(await story.found("okapi"), []);
  assert.ok(shown < 30, `${shown} requests`);
});

test("text sitemaps, other languages of a page, and what a download is called", async () => {
  const { origin } = story.site;
  const text = (body: string, headers: Record<string, string> = {}) => ({ type: "text/plain", body, headers });
  story.site.set("/robots.txt", text(`User-agent: *\nSitemap: ${origin}/map.txt\nSitemap: ${origin}/languages.xml`));
  story.site.set("/map.txt", text(`\ufeff${origin}/a\r\n\r\n${origin}/b\r\n`));
  story.site.set("/languages.xml", {
    type: "application/xml",
    body: `<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>${origin}/c</loc>
<xhtml:link rel="alternate" hreflang="de" href="${origin}/de/c?a=1&amp;b=2"/></url></urlset>`,
  });
  story.site.set("/", {
    body: html("About gnu", linksTo("/get?file=1", "/get?file=2"), '<link rel="alternate" hreflang="fr" href="/fr/">'),
    headers: { link: '</it/>; rel="alternate"; hreflang="it"' },
  });
  const pages = { "/a": "asp", "/b": "boa", "/c": "cod", "/de/c?a=1&b=2": "dab", "/fr/": "fox", "/it/": "ibis" };
  for (const [path, word] of Object.entries(pages)) story.site.set(path, html(`About ${word}`));
  const file = (name: string, body: string) => ({
    type: "application/octet-stream",
    body,
    headers: { "content-disposition": `attachment; ${name}` },
  });
  story.site.set("/get?file=1", file('filename="the list.csv"', "name,word\nx,okapi\n"));
  story.site.set("/get?file=2", file("filename=x.bin; filename*=UTF-8''%C3%BCbung.txt", "quokka"));
  assert.equal((await story.crawl()).error, "");
  for (const [path, word] of Object.entries(pages)) {
    assert.deepEqual(await story.found(word), [path], word);
  }
  assert.deepEqual([await story.found("okapi"), await story.found("quokka")], [["/get?file=1"], ["/get?file=2"]]);
  assert.ok((await story.disk()).includes("get_file=1.csv"));
});

test("a text sitemap with a comment, a path or a line of junk names its pages; a sitemap that is none is told", async () => {
  const { origin } = story.site;
  const named = ["map.txt", "prose.txt", "lost.xml"];
  const sitemaps = named.map((name) => `Sitemap: ${origin}/${name}`).join("\n");
  story.site.set("/robots.txt", { type: "text/plain", body: `User-agent: *\n${sitemaps}` });
  const lines = ["# the pages", `${origin}/a`, "", "to be done", `${origin}/b`, "/c", `  ${origin}/d  `];
  story.site.set("/map.txt", { type: "text/plain", body: lines.join("\n") });
  story.site.set("/prose.txt", { type: "text/plain", body: `About us\nSee our pages\n${origin}/e\nfor more.` });
  story.site.set("/", html("About gnu"));
  const pages = { "/a": "asp", "/b": "boa", "/c": "cod", "/d": "dab", "/e": "eft" };
  for (const [path, word] of Object.entries(pages)) story.site.set(path, html(`About ${word}`));
  const { error, log } = await story.crawl();
  assert.equal(error, "");
  assert.deepEqual(Object.keys(await story.indexed()), ["/", "/a", "/b", "/c", "/d"]);
  const told = log.split("\n").filter((line) => /WARNING.*sitemap/.test(line));
  assert.equal(told.length, 2, told.join("\n"));
  assert.match(told[0] ?? "", /prose\.txt.*neither a sitemap nor a feed/);
  assert.match(told[1] ?? "", /lost\.xml.*404/);
});

test("a sitemap in UTF-16 names its pages", async () => {
  const { origin } = story.site;
  const map = Buffer.from(`\ufeff<?xml version="1.0"?><urlset><url><loc>${origin}/a</loc></url></urlset>`, "utf16le");
  const swapped = Buffer.from(`\ufeff<urlset><url><loc>${origin}/b</loc></url></urlset>`, "utf16le").swap16();
  story.site.set("/robots.txt", { type: "text/plain", body: `Sitemap: ${origin}/le.xml\nSitemap: ${origin}/be.xml` });
  story.site.set("/le.xml", { type: "text/xml", body: map });
  story.site.set("/be.xml", { type: "text/xml", body: swapped });
  for (const [path, word] of Object.entries({ "/": "gnu", "/a": "asp", "/b": "boa" }))
    story.site.set(path, html(`About ${word}`));
  await story.crawl();
  assert.deepEqual(Object.keys(await story.indexed()), ["/", "/a", "/b"]);
});

test("a page that says that it is not there is not, on a site that answers 404 for others", async () => {
  const bare = (title: string, body: string): string =>
    `<title>${title}</title><main><h1>${title}</h1><p>${body}</p></main>`;
  const long = "It is a story that goes on for a while, and tells of much besides. ".repeat(10);
  const lost = `The entry you asked for is not in our shop. ${long}`;
  story.site.onRequest = (path) => {
    if (path.startsWith("/shop/")) story.site.set(path, bare("Entry not found", lost));
  };
  const pages = {
    "/gone": bare("Page not found | Zoo", "We could not find okapi. Go back home."),
    "/error": bare("404", "okapi"),
    "/shop/x": "",
    "/brackets": bare("Page not found", "[".repeat(400_000)),
    "/targets": bare("Page not found", "[](".repeat(130_000)),
    "/article": bare("How to find what is not found", `quokka ${long}`),
  };
  story.site.set("/", html("About gnu", linksTo(...Object.keys(pages))));
  for (const [path, body] of Object.entries(pages)) story.site.set(path, body);
  assert.equal((await story.crawl()).error, "");
  assert.deepEqual(Object.keys(await story.indexed()), ["/", "/article", "/brackets", "/targets"]);
});

test("headers are asked for first only where a body would be large", async () => {
  const large = { type: "text/plain", body: `okapi ${"\n".repeat(1_200_000)}` };
  story.site.set("/", html("About gnu", linksTo("/large.txt", "/deaf", "/page")));
  story.site.set("/large.txt", large);
  story.site.set("/deaf", { body: html("About quokka"), ignoresConditions: true });
  story.site.set("/page", html("About tapir"));
  for (let i = 0; i < 3; i++) await story.crawl();
  assert.deepEqual([...new Set(asked(/^HEAD/))], ["HEAD /large.txt"]);
  assert.equal(story.site.bodies.filter((path) => path === "/large.txt").length, 1);
});
