// Site pages, drafts and approval behave in the sandbox as in SharePoint.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { apiOf, control, type JsonObject, jsonOf, rowsOf, sandboxForTests } from "./sandbox-client.ts";
import { assertConsistent } from "./tenant-consistency.ts";

const sandbox = await sandboxForTests();
const api = await apiOf(sandbox);
const pages = "/sites/demo/SitePages";
const home = `${pages}/Home.aspx`;
const items = `/sites/demo/_api/web/GetListUsingPath(DecodedUrl=@u)/items?@u='${encodeURIComponent(pages)}'`;
const item = (id: number) => items.replace("/items?", `/items(${id})?`);

async function does(operation: string, fields: JsonObject): Promise<JsonObject> {
  const { status, body } = await control(sandbox, "POST", operation, fields);
  assert.equal(status, 200, JSON.stringify(body));
  assertConsistent(sandbox.tenant);
  return body;
}

async function refused(operation: string, fields: JsonObject): Promise<string> {
  const { status, body } = await control(sandbox, "POST", operation, fields);
  assert.equal(status, 400);
  return String(body["error"]);
}

beforeEach(async () => {
  await control(sandbox, "POST", "reset", { seed: "empty" });
  await does("clock", { at: "2026-03-01T09:00:00Z" });
  await does("add-page", { path: home, title: "Home", text: "Welcome & hello.\n\nSecond.", layout: "Home" });
});

test("the library says that it is one of pages, with drafts", async () => {
  const list = await jsonOf(
    await api(
      `/sites/demo/_api/web/GetListUsingPath(DecodedUrl='${encodeURIComponent(pages)}')?$select=BaseTemplate,BaseType,EnableMinorVersions,Title`,
    ),
  );
  assert.deepEqual(list, { BaseTemplate: 119, BaseType: 1, EnableMinorVersions: true, Title: "Site Pages" });
});

test("a page in all its fields", async () => {
  await does("add-page", {
    path: `${pages}/News.aspx`,
    title: "News",
    text: "<h2>Big</h2><p>news</p>",
    description: "What happened",
    bannerImageUrl: "https://tidewheel.example/a.png",
    promoted: 2,
    by: "Mila Petrovic",
    at: "2026-02-02T02:02:02Z",
  });
  const select =
    "Title,Description,PromotedState,PageLayoutType,CanvasContent1,WikiField,FirstPublishedDate,BannerImageUrl,OData__UIVersionString,OData__SPSitePageFlags,ContentTypeId,Modified,LayoutWebpartsContent,File/Length,File/Level,File/UIVersion,File/MajorVersion";
  const page = await jsonOf(await api(`${item(2)}&$select=${select}&$expand=File`));
  const {
    CanvasContent1: canvas,
    LayoutWebpartsContent: layout,
    ContentTypeId: contentType,
    File: file,
    ...rest
  } = page;
  assert.deepEqual(rest, {
    Title: "News",
    Description: "What happened",
    PromotedState: 2,
    PageLayoutType: "Article",
    WikiField: null,
    FirstPublishedDate: "2026-02-02T02:02:02Z",
    BannerImageUrl: { Description: "https://tidewheel.example/a.png", Url: "https://tidewheel.example/a.png" },
    OData__UIVersionString: "1.0",
    OData__SPSitePageFlags: null,
    Modified: "2026-02-02T02:02:02Z",
  });
  assert.match(
    String(canvas),
    /^<div><div data-sp-canvascontrol="" data-sp-canvasdataversion="1\.0" data-sp-controldata="&#123;&quot;controlType&quot;&#58;4,.*&#125;"><div data-sp-rte=""><h2>Big<\/h2><p>news<\/p><\/div><\/div>/,
  );
  assert.match(String(layout), /&quot;title&quot;&#58;&quot;News&quot;/);
  assert.match(String(contentType), /^0x0101009D1CB255DA76424F860D91F20E6C4118/);
  const { Length: length, ...level } = file as JsonObject;
  assert.deepEqual(level, { Level: 1, UIVersion: 512, MajorVersion: 1 });
  const stored = await (
    await api(`/sites/demo/_api/web/GetFileByServerRelativePath(decodedurl='${pages}/News.aspx')/$value`)
  ).text();
  assert.equal(String(Buffer.byteLength(stored)), length);
  assert.match(stored, /<mso:CanvasContent1 msdt:dt="string">&lt;div&gt;/);
});

test("wiki pages, own canvases and templates", async () => {
  await does("add-page", { path: `${pages}/Old.aspx`, title: "Old", wiki: "<p>wiki</p>" });
  await does("add-page", { path: `${pages}/Own.aspx`, title: "Own", canvas: "<div>mine</div>" });
  await does("add-page", { path: `${pages}/Templates/T.aspx`, title: "T", text: "t" });
  const rows = await rowsOf(
    await api(
      `${items}&$select=FileRef,WikiField,CanvasContent1,OData__SPSitePageFlags,FileSystemObjectType&$filter=Id gt 1`,
    ),
  );
  assert.deepEqual(
    rows.map((row) => [row["FileRef"], row["WikiField"], row["OData__SPSitePageFlags"]]),
    [
      [`${pages}/Old.aspx`, "<p>wiki</p>", null],
      [`${pages}/Own.aspx`, null, null],
      [`${pages}/Templates`, null, null],
      [`${pages}/Templates/T.aspx`, null, ["Template"]],
    ],
  );
  assert.equal(rows[0]?.["CanvasContent1"], null);
  assert.equal(rows[1]?.["CanvasContent1"], "<div>mine</div>");
  assert.match(await refused("add-page", { path: "/sites/demo/Shared Documents/a.aspx" }), /pages look like/);
});

test("a page and a row open in a browser, published and without scripts", async () => {
  await does("edit-page", { path: home, text: "Draft." });
  const page = await fetch(`${sandbox.url}${home}`);
  assert.match(await page.text(), /<h1>Home<\/h1>.*<p>Second\.<\/p>/);
  assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/);
  await does("add-list", { path: "/sites/demo/Lists/Tasks", columns: [{ title: "Hours", type: "Number" }] });
  await does("add-item", { list: "/sites/demo/Lists/Tasks", values: { Title: "<b>", Hours: 3 } });
  const row = await (await fetch(`${sandbox.url}/sites/demo/Lists/Tasks/DispForm.aspx?ID=1`)).text();
  assert.match(row, /<h1>&lt;b&gt;<\/h1>.*<dt>Hours<\/dt><dd>3<\/dd>/);
  for (const nothing of ["/Lists/Tasks/DispForm.aspx?ID=2", "/Lists/Nope/DispForm.aspx?ID=1", "/SitePages/Nope.aspx"]) {
    assert.equal((await fetch(`${sandbox.url}/sites/demo${nothing}`)).status, 404, nothing);
  }
});

describe("drafts", () => {
  const look = async () => {
    const rows = await rowsOf(
      await api(`${items}&$select=FileLeafRef,CanvasContent1,OData__UIVersionString,Modified,File/Level&$expand=File`),
    );
    return rows.map((row) => [
      row["FileLeafRef"],
      /<p>.*<\/p>/.exec(String(row["CanvasContent1"]))?.[0],
      row["OData__UIVersionString"],
      (row["File"] as JsonObject | undefined)?.["Level"],
    ]);
  };
  const first = "<p>Welcome &amp; hello.</p><p>Second.</p>";

  test("an edit makes a draft; publishing keeps time and ETag", async () => {
    const draft = await does("edit-page", { path: home, text: "Draft.", at: "2026-03-02T00:00:00Z" });
    assert.deepEqual(await look(), [["Home.aspx", "<p>Draft.</p>", "1.1", 2]]);
    const published = await does("publish-page", { path: home });
    assert.deepEqual(await look(), [["Home.aspx", "<p>Draft.</p>", "2.0", 1]]);
    assert.deepEqual([published["etag"], published["modifiedAt"]], [draft["etag"], draft["modifiedAt"]]);
    assert.match(await refused("publish-page", { path: home }), /version 2\.0 is no draft/);
  });

  test("an app that may not see drafts sees what was published, or nothing", async () => {
    await does("edit-page", { path: home, text: "Draft.", at: "2026-03-02T00:00:00Z" });
    await does("add-page", { path: `${pages}/Never.aspx`, title: "Never", text: "x", published: false });
    assert.deepEqual((await look())[1], ["Never.aspx", "<p>x</p>", "0.1", 2]);
    await does("settings", { drafts: "hidden" });
    assert.deepEqual(await look(), [["Home.aspx", first, "1.0", 1]]);
    assert.equal((await api(item(2))).status, 404);
    const never = "/sites/demo/_api/web/GetFileByServerRelativePath(decodedurl='/sites/demo/SitePages/Never.aspx')";
    assert.equal((await api(never)).status, 404);
    const versions = await rowsOf(await api(`${item(1).replace("?", "/versions?")}&$select=VersionLabel`));
    assert.deepEqual(versions, [{ VersionLabel: "1.0" }]);
  });

  test("discarding goes back to what was published", async () => {
    await does("edit-page", { path: home, title: "Other", text: "Draft 1.", at: "2026-03-02T00:00:00Z" });
    await does("edit-page", { path: home, text: "Draft 2.", at: "2026-03-03T00:00:00Z" });
    const discarded = await does("discard-draft", { path: home });
    assert.equal(discarded["modifiedAt"], "2026-03-01T09:00:00Z");
    assert.deepEqual(await look(), [["Home.aspx", first, "1.0", 1]]);
    assert.match(await refused("discard-draft", { path: home }), /there is no draft/);
  });

  test("every version keeps its content", async () => {
    await does("edit-page", { path: home, title: "Start", text: "Draft.", at: "2026-03-02T00:00:00Z" });
    const versions = await rowsOf(
      await api(
        `${item(1).replace("?", "/versions?")}&$select=VersionLabel,IsCurrentVersion,Created,Title,CanvasContent1`,
      ),
    );
    assert.deepEqual(
      versions.map(({ CanvasContent1: canvas, ...version }) => [version, String(canvas).includes("Draft.")]),
      [
        [{ VersionLabel: "1.1", IsCurrentVersion: true, Created: "2026-03-02T00:00:00Z", Title: "Start" }, true],
        [{ VersionLabel: "1.0", IsCurrentVersion: false, Created: "2026-03-01T09:00:00Z", Title: "Home" }, false],
      ],
    );
  });
});
