// The pages of a site are listed and followed through their life.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SourceId } from "../../src/contracts/ids.ts";
import type { Sighting, Source } from "../../src/contracts/source.ts";
import { openSharePointPages } from "../../src/sources/sharepoint/pages/open-sharepoint-pages.ts";
import { ofKind } from "../kinds.ts";
import { convertText } from "./page-fixtures.ts";
import { paths, type SandboxWorld, useSandbox } from "./sandbox-world.ts";
import { fetchText, listAll, sourceConfig } from "./scripted-tenant.ts";

const PAGES = "/sites/demo/SitePages";

interface OpenOptions {
  readonly urlPart?: string;
  readonly filter?: string;
  readonly pageSize?: number;
}

function openPages(world: SandboxWorld, { urlPart = "/SitePages", filter = "", pageSize }: OpenOptions = {}): Source {
  const { limits } = sourceConfig(world.sandbox.siteUrl);
  const sourceId = "pages" as SourceId;
  return openSharePointPages(
    { sourceId, ...ofKind("sitepage_sources"), siteUrl: world.sandbox.siteUrl, urlPart, filter, limits },
    world.connect(),
    pageSize ? { pageSize } : {},
  );
}

function addPage(world: SandboxWorld, path: string, more: Record<string, unknown> = {}): void {
  world.act("add-page", { path: `${PAGES}/${path}`, title: `Title of ${path}`, text: `Text of ${path}.`, ...more });
}

async function theOnly(source: Source): Promise<Sighting> {
  const { sightings, unreadable, completeness } = await listAll(source);
  assert.deepEqual([unreadable, completeness], [[], "complete"]);
  const [sighting, ...more] = sightings;
  assert.ok(sighting && more.length === 0, `one page, not ${sightings.length}`);
  return sighting;
}

/** What would be embedded of the page now. */
async function read(source: Source, sighting: Sighting): Promise<string> {
  return await convertText(await fetchText(source, sighting));
}

describe("the pages of a site are listed", () => {
  const world = useSandbox();

  it("lists pages of all folders, and nothing else", async () => {
    for (const path of ["Home.aspx", "News/One.aspx", "News/2026/Two.aspx", "Templates/Letter.aspx"])
      addPage(world, path);
    addPage(world, "Templates/Mail.aspx");
    world.act("move", { path: `${PAGES}/Templates/Mail.aspx`, to: `${PAGES}/Mail.aspx` });
    world.act("add", { path: `${PAGES}/News/notes.txt`, text: "no page" });
    const listed = await listAll(openPages(world, { pageSize: 2 }));
    assert.equal(listed.completeness, "complete");
    assert.deepEqual(paths(listed.sightings), ["Home.aspx", "News/2026/Two.aspx", "News/One.aspx"]);
    assert.ok(listed.sightings.every(({ form, documentType }) => form === "original" && documentType === "html"));
    const rows = world.sandbox.state.log.entries().filter((entry) => /\/items\?/.test(entry.url));
    assert.ok(
      rows.every((entry) => !/CanvasContent1/.test(entry.url)),
      "contents come page by page, not in the listing",
    );
  });

  it("tells what SharePoint tells", async () => {
    addPage(world, "News/It's #1.aspx", { at: "2024-03-29T17:58:05Z" });
    const page = await theOnly(openPages(world, { urlPart: "" }));
    assert.match(page.itemId, /^[0-9a-f-]{36}$/);
    assert.ok(page.listItemId > 0 && page.fingerprint.size > 0);
    assert.equal(page.name, "It's #1.aspx");
    assert.equal(page.path, "News/It's #1.aspx");
    assert.equal(page.serverPath, `${PAGES}/News/It's #1.aspx`);
    assert.equal(page.url, `${world.sandbox.url}/sites/demo/SitePages/News/It's%20%231.aspx`);
    assert.equal(page.fingerprint.modifiedAt, "2024-03-29T17:58:05.000000Z");
    assert.equal(page.fingerprint.contentVersion, "1.0");
  });

  it("lists one folder, and sends the filter along", async () => {
    for (const path of ["News/a.aspx", "News/b.aspx", "c.aspx"]) addPage(world, path, { promoted: 2 });
    assert.deepEqual(paths((await listAll(openPages(world, { urlPart: "/sitepages/news" }))).sightings), [
      "a.aspx",
      "b.aspx",
    ]);
    addPage(world, "plain.aspx", { promoted: 0 });
    addPage(world, "draft.aspx", { promoted: 2, published: false });
    const news = await listAll(openPages(world, { filter: "PromotedState eq 2" }));
    assert.deepEqual(paths(news.sightings), ["News/a.aspx", "News/b.aspx", "c.aspx"]);
    await assert.rejects(listAll(openPages(world, { filter: "Nope eq 1" })), /Nope.*Check the filter/);
    await assert.rejects(listAll(openPages(world, { urlPart: "/NoPages" })), /there is no library at .*NoPages/);
  });

  it("follows a page through rename, move, deletion and restoring", async () => {
    addPage(world, "a.aspx");
    const source = openPages(world);
    const first = await theOnly(source);
    world.act("rename", { path: `${PAGES}/a.aspx`, name: "b.aspx" });
    const renamed = await theOnly(source);
    assert.deepEqual([renamed.itemId, renamed.path], [first.itemId, "b.aspx"]);
    const { etag, ...content } = first.fingerprint;
    assert.deepEqual({ ...renamed.fingerprint, etag }, { ...content, etag }, "nothing to fetch again");
    world.act("move", { path: `${PAGES}/b.aspx`, to: `${PAGES}/News/b.aspx` });
    assert.equal((await theOnly(source)).path, "News/b.aspx");
    world.act("delete", { path: `${PAGES}/News/b.aspx` });
    assert.deepEqual((await listAll(source)).sightings, []);
    assert.equal(await fetchText(source, first), "gone");
    world.act("restore", { path: `${PAGES}/News/b.aspx` });
    const restored = await theOnly(source);
    assert.equal(restored.itemId, first.itemId);
    assert.match(await read(source, restored), /Text of a\.aspx\./);
  });
});

describe("readers see what is published", () => {
  const world = useSandbox();

  it("leaves out a page that was never published, until it is", async () => {
    addPage(world, "New.aspx", { published: false });
    addPage(world, "Home.aspx");
    const source = openPages(world);
    assert.equal((await theOnly(source)).path, "Home.aspx");
    world.act("edit-page", { path: `${PAGES}/New.aspx`, text: "Still thinking." });
    assert.equal((await theOnly(source)).path, "Home.aspx");
    world.act("publish-page", { path: `${PAGES}/New.aspx` });
    assert.deepEqual(paths((await listAll(source)).sightings), ["Home.aspx", "New.aspx"]);
  });

  it("changes nothing about a page while somebody works on it", async () => {
    addPage(world, "Home.aspx", { title: "Old title", text: "Old text.", at: "2024-01-01T00:00:00Z" });
    const source = openPages(world);
    const before = await theOnly(source);
    world.act("edit-page", {
      path: `${PAGES}/Home.aspx`,
      title: "New title",
      text: "Secret plan, longer.",
      at: "2024-02-01T00:00:00Z",
    });
    world.act("edit-page", { path: `${PAGES}/Home.aspx`, text: "Another secret.", at: "2024-02-02T00:00:00Z" });
    const during = await theOnly(source);
    const { etag } = before.fingerprint;
    assert.deepEqual({ ...during.fingerprint, etag }, before.fingerprint);
    assert.equal(await read(source, during), "<h1>Old title</h1>\n<p>Old text.</p>\n");

    world.act("publish-page", { path: `${PAGES}/Home.aspx` });
    const after = await theOnly(source);
    assert.equal(after.fingerprint.contentVersion, "2.0");
    assert.equal(after.fingerprint.modifiedAt, "2024-02-02T00:00:00.000000Z");
    assert.equal(await read(source, after), "<h1>New title</h1>\n<p>Another secret.</p>\n");

    world.act("edit-page", { path: `${PAGES}/Home.aspx`, text: "Third." });
    assert.equal(await read(source, await theOnly(source)), "<h1>New title</h1>\n<p>Another secret.</p>\n");
    world.act("discard-draft", { path: `${PAGES}/Home.aspx` });
    assert.equal((await theOnly(source)).fingerprint.contentVersion, "2.0");
  });

  it("notices an edit within the same second", async () => {
    addPage(world, "Home.aspx", { text: "aaaa", at: "2024-01-01T00:00:00Z" });
    const source = openPages(world);
    const before = await theOnly(source);
    world.act("edit-page", { path: `${PAGES}/Home.aspx`, text: "bbbb", at: "2024-01-01T00:00:00Z" });
    world.act("publish-page", { path: `${PAGES}/Home.aspx` });
    const after = await theOnly(source);
    assert.deepEqual(
      [after.fingerprint.size, after.fingerprint.modifiedAt],
      [before.fingerprint.size, before.fingerprint.modifiedAt],
    );
    assert.notEqual(after.fingerprint.contentVersion, before.fingerprint.contentVersion);
  });

  it("sees the same when SharePoint hides drafts from the app, and still notices a loss", async () => {
    addPage(world, "Home.aspx", { text: "Published." });
    addPage(world, "Other.aspx");
    addPage(world, "New.aspx", { published: false });
    world.act("edit-page", { path: `${PAGES}/Home.aspx`, text: "Secret." });
    world.sandbox.state.settings.drafts = "hidden";
    const source = openPages(world);
    const { sightings, unreadable, completeness } = await listAll(source);
    assert.deepEqual([unreadable, completeness], [[], "complete"], "the library counts a page it does not show");
    assert.deepEqual(paths(sightings), ["Home.aspx", "Other.aspx"]);
    for (const sighting of sightings) assert.match(await read(source, sighting), /Published\.|Text of Other/);

    for (const [times, effect] of [
      ["always", { dropRows: 1 }],
      [1, { emptyListing: true }],
    ] as const) {
      world.strike({ url: "/items\\?", times }, effect);
      const short = await listAll(source);
      assert.equal(short.completeness, "partial");
      assert.match(short.unreadable[0]?.reason ?? "", /says it has 3 items, but only/);
      world.sandbox.state.faults.clear();
    }
  });

  it("keeps a page whose history cannot be read, and does not show the draft either", async () => {
    addPage(world, "News/Home.aspx");
    addPage(world, "Other.aspx");
    world.act("edit-page", { path: `${PAGES}/News/Home.aspx`, text: "Secret." });
    world.strike({ url: "GetFileById.*/versions", times: "always" }, { status: 403 });
    const listed = await listAll(openPages(world));
    assert.equal(listed.completeness, "complete");
    assert.deepEqual(paths(listed.sightings), ["Other.aspx"]);
    const [hole] = listed.unreadable;
    assert.equal(listed.unreadable.length, 1);
    assert.equal(hole?.path, "News/Home.aspx");
    assert.match(hole?.itemId ?? "", /^[0-9a-f-]{36}$/);
    assert.match(hole?.reason ?? "", /look up what is published of 'News\/Home\.aspx': .*403/);
  });

  it("reads the published text also when the draft was begun after the listing", async () => {
    addPage(world, "Home.aspx", { text: "Published." });
    const source = openPages(world);
    const listed = await theOnly(source);
    world.act("edit-page", { path: `${PAGES}/Home.aspx`, text: "Secret." });
    assert.match(await read(source, listed), /Published\./);
    world.strike({ url: "versions\\(\\d+\\)\\?" }, { status: 400 });
    assert.match(await read(source, listed), /Published\./, "also where columns of a version cannot be chosen");
  });
});

describe("a page is fetched", () => {
  const world = useSandbox();

  it("as one file with everything its document is made of", async () => {
    addPage(world, "Home.aspx", { title: "Hello & <welcome>", text: "Line one.", description: "What it's about" });
    const source = openPages(world);
    const page = await theOnly(source);
    const original = await fetchText(source, page);
    assert.match(original, /<title>Hello &amp; &lt;welcome&gt;<\/title>/);
    assert.match(original, /data-sp-canvascontrol/, "the canvas as SharePoint keeps it");
    assert.ok(original.includes(`<base href="${page.url}">`));
    assert.equal(await fetchText(openPages(world), page), original, "also by a source that listed nothing before");
    assert.equal(
      await convertText(original),
      "<h1>Hello &amp; &lt;welcome&gt;</h1>\n<p>What it's about</p>\n<p>Line one.</p>\n",
    );
  });

  it("of each kind: canvas, wiki, and web parts only", async () => {
    const canvas = `<div data-sp-canvascontrol="" data-sp-controldata="{"><div data-sp-rte=""><p>By <a href="/sites/demo/x">hand</a>`;
    addPage(world, "1-canvas.aspx", { title: "Canvas", canvas });
    addPage(world, "2-wiki.aspx", { title: "Wiki", wiki: "<div class='ExternalClass'><p>Old text</div>" });
    addPage(world, "3-empty.aspx", { title: "Empty", canvas: "" });
    const source = openPages(world);
    const { sightings } = await listAll(source);
    const bodies = await Promise.all(sightings.map((sighting) => read(source, sighting)));
    assert.deepEqual(bodies, [
      `<h1>Canvas</h1>\n<p>By <a href="${world.sandbox.url}/sites/demo/x">hand</a></p>\n`,
      "<h1>Wiki</h1>\n<p>Old text</p>\n",
      "<h1>Empty</h1>\n",
    ]);
  });

  it("from a library that has none of the columns", async () => {
    world.add("Pages/Classic.aspx", "<%@ Page %>", { columns: { Title: "Classic" } });
    world.add("Pages/notes.txt");
    const source = openPages(world, { urlPart: "/Shared Documents/Pages" });
    const page = await theOnly(source);
    assert.equal(page.path, "Classic.aspx");
    assert.equal(await read(source, page), "<h1>Classic</h1>\n");
  });

  it("or is gone when another page has its number, it moved away, or nothing of it is published any more", async () => {
    addPage(world, "a.aspx");
    addPage(world, "b.aspx");
    const source = openPages(world);
    const [a, b] = (await listAll(source)).sightings;
    assert.ok(a && b);
    assert.equal(await fetchText(source, { ...a, listItemId: b.listItemId }), "gone");
    world.act("move", { path: `${PAGES}/a.aspx`, to: "/sites/demo/Shared Documents/a.aspx" });
    assert.equal(await fetchText(source, a), "gone");
    addPage(world, "c.aspx", { published: false });
    const files = await listAll(world.open({ urlPart: "/SitePages" }));
    const draft = files.sightings.find(({ name }) => name === "c.aspx");
    assert.ok(draft);
    assert.equal(await fetchText(source, draft), "gone");
    await assert.rejects(fetchText(source, { ...b, listItemId: 0 }), /download 'b\.aspx': 0 is no number of a page/);
  });

  it("or says why not", async () => {
    addPage(world, "a.aspx");
    const source = openPages(world);
    const page = await theOnly(source);
    world.strike({ url: "items\\(\\d+\\)" }, { status: 403, body: "" });
    assert.equal((await source.fetch(page, new AbortController().signal)).status, "refused");
    world.strike({ url: "items\\(\\d+\\)", times: "always" }, { status: 404, body: "404 FILE NOT FOUND" });
    await assert.rejects(
      fetchText(source, page),
      /download 'a\.aspx': SharePoint answered 404/,
      "a gateway says nothing about a page",
    );
  });

  it("with hostile names and content", async () => {
    const names = ["It's #1 & 100% + 😀.aspx", "a%20b.aspx", "{x};~^=,.aspx", "<!-- é.aspx".replace("<", "[")];
    const canvas = `</body></html><!-- WikiField: 9 characters -->\n<script>alert(1)</script><p>kept 😀 ${"x".repeat(100_000)}`;
    for (const name of names) addPage(world, `Odd 'n #%+/${name}`, { canvas, title: `</title><script>${name}` });
    const source = openPages(world);
    const { sightings, completeness } = await listAll(source);
    assert.equal(completeness, "complete");
    assert.deepEqual(sightings.map(({ name }) => name).toSorted(), names.toSorted());
    for (const sighting of sightings) {
      const body = await read(source, sighting);
      assert.match(body, /^<h1>&lt;\/title&gt;&lt;script&gt;.*<\/h1>\n<p>kept 😀 x+<\/p>\n$/);
    }
  });
});

describe("what a crawl of pages needs is examined", () => {
  const world = useSandbox();

  async function examine(options?: OpenOptions): Promise<string[]> {
    const findings: string[] = [];
    for await (const { subject, outcome, detail } of openPages(world, options).diagnose(new AbortController().signal)) {
      findings.push(`${subject}: ${outcome}: ${detail}`);
    }
    return findings;
  }

  it("up to the library and the filter", async () => {
    addPage(world, "Home.aspx");
    const findings = await examine({ filter: "PromotedState eq 0" });
    assert.deepEqual(
      findings.filter((finding) => !/: ok: /.test(finding)),
      [],
    );
    assert.match(findings.join("\n"), /Pages '\/SitePages': ok: .*1 item/);
  });

  it("and a library without pages is told from one with", async () => {
    assert.match((await examine({ urlPart: "/Shared Documents" })).at(-1) ?? "", /problem: 'Documents' holds no pages/);
    assert.match((await examine({ urlPart: "/Nowhere" })).at(-1) ?? "", /problem: There is no library at .*Nowhere/);
  });
});
