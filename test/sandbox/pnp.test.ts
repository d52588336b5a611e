// The PnP client works with the sandbox.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SPDefault } from "@pnp/nodejs";
import { BearerToken } from "@pnp/queryable";
import { spfi } from "@pnp/sp";
import "@pnp/sp/webs/index.js";
import "@pnp/sp/sites/index.js";
import "@pnp/sp/lists/index.js";
import "@pnp/sp/items/index.js";
import "@pnp/sp/fields/index.js";
import "@pnp/sp/attachments/index.js";
import "@pnp/sp/site-users/web.js";
import "@pnp/sp/files/index.js";
import "@pnp/sp/folders/index.js";
import { addAttachment } from "../../src/sandbox/sharepoint/tenant/attachments.ts";
import { addFile, addFolder } from "../../src/sandbox/sharepoint/tenant/file-operations.ts";
import { fillFolder } from "../../src/sandbox/sharepoint/tenant/fill-folder.ts";
import { addList, addListItem } from "../../src/sandbox/sharepoint/tenant/list-operations.ts";
import { addPage, editPage } from "../../src/sandbox/sharepoint/tenant/page-operations.ts";
import { accessToken, type JsonObject, sandboxForTests } from "./sandbox-client.ts";

/** The part of pnp this file uses. Its own types add properties to a module name that Node's resolution does not find. */
interface Invokable<T> {
  (): Promise<T>;
  select(...fields: string[]): this;
}
interface PnpItems extends Invokable<Row[]>, AsyncIterable<Row[]> {
  expand(...links: string[]): this;
  filter(filter: string): this;
  top(count: number): this;
  orderBy(field: string, ascending: boolean): this;
  getById(id: number): PnpItem;
}
interface PnpItem extends Invokable<{ UniqueId: string }> {
  expand(...links: string[]): this;
  readonly versions: Invokable<JsonObject[]>;
  readonly attachmentFiles: Invokable<{ FileName: string }[]> & {
    getByName(name: string): { getText(): Promise<string> };
  };
}
interface PnpList extends Invokable<{ Id: string; Title: string; ItemCount: number }> {
  readonly items: PnpItems;
  readonly fields: Invokable<JsonObject[]> & {
    filter(filter: string): Invokable<JsonObject[]>;
    getByInternalNameOrTitle(name: string): Invokable<JsonObject>;
  };
  renderListDataAsStream(parameters: JsonObject): Promise<{ Row: JsonObject[]; NextHref?: string }>;
}
interface PnpFile extends Invokable<{ Name: string; TimeLastModified: string }> {
  getBuffer(): Promise<ArrayBuffer>;
  getStream(): Promise<{ body: AsyncIterable<Uint8Array>; knownLength: number }>;
}
interface PnpFolder {
  readonly files: Invokable<{ Name: string }[]>;
  readonly folders: Invokable<{ Name: string }[]>;
}
interface Pnp {
  readonly site: Invokable<{ Url: string }>;
  readonly web: Invokable<{ Title: string; Url: string }> & {
    readonly siteUsers: Invokable<{ Title: string; Email: string }[]>;
    readonly lists: { getByTitle(title: string): PnpList; getById(id: string): PnpList };
    getList(path: string): PnpList;
    getFileById(uniqueId: string): PnpFile;
    getFileByServerRelativePath(path: string): PnpFile;
    getFolderByServerRelativePath(path: string): PnpFolder;
  };
}

interface Row {
  Id: number;
  FileSystemObjectType: number;
  FileRef: string;
  File?: { UniqueId: string; Length: string };
}

/** A client that knows nothing of us and works against the real SharePoint every day. */
const sandbox = await sandboxForTests();
const { tenant } = sandbox;
const root = "/sites/demo/Shared Documents";
const token = await accessToken(sandbox);
const sp = pnpWith(token);

const content = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 253));
const odd = addFile(tenant, `${root}/Brands/It's #1 & 100% + 😀.docx`, content, { at: "2024-03-29T17:57:44Z" });
addFolder(tenant, `${root}/Empty`);
tenant.addLibrary("/sites/demo/Bob's Tasks", { title: "Bob's Tasks & More" });
fillFolder(tenant, root, { count: 250, bytes: 30, perFolder: 100 });

function pnpWith(token: string): Pnp {
  return spfi(sandbox.siteUrl).using(SPDefault(), BearerToken(token)) as unknown as Pnp;
}

describe("pnp reads", () => {
  test("the web and the site", async () => {
    const web = await sp.web.select("Title", "Url")();
    assert.equal(web.Url, sandbox.siteUrl);
    assert.equal((await sp.site.select("Url")()).Url, sandbox.siteUrl);
  });

  test("a list by its path and by its title, quotes included", async () => {
    const list = await sp.web.getList(root)();
    assert.equal(list.ItemCount, 256, "251 files in 4 folders, and an empty folder");
    const bob = await sp.web.lists.getByTitle("Bob's Tasks & More")();
    assert.equal((await sp.web.getList("/sites/demo/Bob's Tasks")()).Id, bob.Id);
    assert.equal((await sp.web.lists.getById(bob.Id)()).Title, "Bob's Tasks & More");
  });

  test("all items in pages, with File expanded", async () => {
    const pages: number[] = [];
    const rows: Row[] = [];
    const items = sp.web
      .getList(root)
      .items.select("Id", "FileSystemObjectType", "FileRef", "File/UniqueId", "File/Length");
    for await (const page of items.expand("File").top(100)) {
      pages.push(page.length);
      rows.push(...page);
    }
    assert.deepEqual(pages, [100, 100, 56]);
    assert.deepEqual(
      rows.map((row) => row.FileRef).sort(),
      tenant
        .libraryAt(root)
        .rows.map((row) =>
          row.parent === tenant.libraryAt(root).root
            ? `${root}/${row.name}`
            : `${root}/${row.parent?.name}/${row.name}`,
        )
        .sort(),
    );
    const found = rows.find((row) => row.File?.UniqueId === odd.uniqueId);
    assert.equal(found?.File?.Length, "70000");
  });

  test("a filter and an item by its id", async () => {
    const rows: Row[] = await sp.web
      .getList(root)
      .items.select("Id", "FileRef")
      .filter("FSObjType eq 0 and startswith(FileLeafRef,'It''s #1 & 100% +')")();
    assert.deepEqual(
      rows.map((row) => row.FileRef),
      [`${root}/Brands/It's #1 & 100% + 😀.docx`],
    );
    const item = await sp.web.getList(root).items.getById(odd.listItemId).select("UniqueId")();
    assert.equal(item.UniqueId, odd.uniqueId);
  });

  test("a file as a stream and as a buffer", async () => {
    const stream = await sp.web.getFileById(odd.uniqueId).getStream();
    assert.equal(stream.knownLength, 70_000);
    const chunks: Uint8Array[] = [];
    for await (const chunk of stream.body) chunks.push(chunk);
    assert.deepEqual(Buffer.concat(chunks), content);
    const buffer = await sp.web.getFileByServerRelativePath(`${root}/Brands/It's #1 & 100% + 😀.docx`).getBuffer();
    assert.deepEqual(Buffer.from(buffer), content);
  });

  test("the properties of a file, and the files and folders of a folder", async () => {
    const file = await sp.web.getFileById(odd.uniqueId)();
    assert.equal(file.Name, odd.name);
    assert.equal(file.TimeLastModified, "2024-03-29T17:57:44Z");
    const folder = sp.web.getFolderByServerRelativePath(root);
    const folders = await folder.folders();
    assert.deepEqual(folders.map((each) => each.Name).sort(), [
      "Brands",
      "Empty",
      "Forms",
      "batch-0000",
      "batch-0001",
      "batch-0002",
    ]);
    const files = await sp.web.getFolderByServerRelativePath(`${root}/Brands`).files();
    assert.deepEqual(
      files.map((each) => each.Name),
      [odd.name],
    );
  });
});

describe("pnp reads lists and pages", () => {
  const path = "/sites/demo/Lists/Parts";
  addList(tenant, "/sites/demo/Lists/Shelves", { title: "Shelves" });
  addListItem(tenant, "/sites/demo/Lists/Shelves", { Title: "Q 3" });
  addList(tenant, path, {
    title: "Parts",
    columns: [
      { title: "Shelf", type: "Lookup", lookupList: "Shelves" },
      { title: "Owner", type: "User" },
      { title: "Part kind", type: "TaxonomyFieldType" },
    ],
  });
  const values = { Title: "Bushing", Shelf: "Q 3", Owner: "Anneke de Vries", "Part kind": "Steering" };
  const row = addListItem(tenant, path, values);
  addAttachment(tenant, row, { name: "It's #1.txt", content: "attached" });
  addListItem(tenant, path, { Title: "Axle" });
  const parts = sp.web.lists.getByTitle("Parts");

  test("items with everything expanded", async () => {
    const [item] = (await parts.items
      .select("*", "Shelf/Title", "Owner/Title", "Owner/EMail", "TaxCatchAll/Term", "TaxCatchAll/ID", "AttachmentFiles")
      .expand("Shelf", "Owner", "TaxCatchAll", "AttachmentFiles")()) as unknown as JsonObject[];
    const { Shelf, Owner, TaxCatchAll, Part_x0020_kind, AttachmentFiles } = item as unknown as {
      Shelf: JsonObject;
      Owner: JsonObject;
      TaxCatchAll: JsonObject[];
      Part_x0020_kind: JsonObject;
      AttachmentFiles: JsonObject[];
    };
    assert.equal(Shelf["Title"], "Q 3");
    assert.deepEqual([Owner["Title"], Owner["EMail"]], ["Anneke de Vries", "anneke.de.vries@tidewheel.example"]);
    assert.equal(TaxCatchAll.find((term) => term["ID"] === Part_x0020_kind["WssId"])?.["Term"], "Steering");
    assert.equal(AttachmentFiles[0]?.["FileName"], "It's #1.txt");
  });

  test("in another order", async () => {
    const rows = (await parts.items.select("Title").orderBy("Title", true)()) as unknown as JsonObject[];
    assert.deepEqual(
      rows.map((each) => each["Title"]),
      ["Axle", "Bushing"],
    );
  });

  test("fields", async () => {
    const fields = await parts.fields.filter("Hidden eq false and ReadOnlyField eq false")();
    const names = fields.map((field) => field["InternalName"]);
    assert.deepEqual(names, ["Title", "Shelf", "Owner", "Part_x0020_kind", "ContentType", "Attachments"]);
    assert.equal((await parts.fields.getByInternalNameOrTitle("Part kind")())["TypeAsString"], "TaxonomyFieldType");
  });

  test("attachments, versions and users", async () => {
    const item = parts.items.getById(1);
    assert.deepEqual(
      (await item.attachmentFiles()).map((file) => file.FileName),
      ["It's #1.txt"],
    );
    assert.equal(await item.attachmentFiles.getByName("It's #1.txt").getText(), "attached");
    const versions = await item.versions();
    assert.deepEqual(
      versions.map((version) => [version["VersionLabel"], version["IsCurrentVersion"]]),
      [
        ["2.0", true],
        ["1.0", false],
      ],
    );
    assert.ok((await sp.web.siteUsers()).some((user) => user.Title === "Anneke de Vries"));
  });

  test("rows as the page gets them", async () => {
    const viewXml = "<View Scope='RecursiveAll'><RowLimit Paged='TRUE'>1</RowLimit></View>";
    const { Row, NextHref } = await parts.renderListDataAsStream({ ViewXml: viewXml });
    assert.equal(Row[0]?.["Title"], "Bushing");
    assert.match(NextHref ?? "", /^\?Paged=TRUE&p_ID=1&/);
  });

  test("a page's fields and versions", async () => {
    const home = "/sites/demo/SitePages/Home.aspx";
    addPage(tenant, home, { title: "Home", text: "first" });
    editPage(tenant, home, { text: "second" });
    const pages = sp.web.getList("/sites/demo/SitePages").items;
    const [page] = (await pages
      .select("Id", "Title", "CanvasContent1", "File/Level", "File/UIVersionLabel")
      .expand("File")()) as unknown as JsonObject[];
    const file = page?.["File"] as JsonObject | undefined;
    assert.deepEqual([file?.["Level"], file?.["UIVersionLabel"]], [2, "1.1"]);
    assert.match(String(page?.["CanvasContent1"]), /<p>second<\/p>/);
    const versions = await pages.getById(Number(page?.["Id"])).versions();
    assert.deepEqual(
      versions.map((version) => [
        version["VersionLabel"],
        /<p>(\w+)<\/p>/.exec(String(version["CanvasContent1"]))?.[1],
      ]),
      [
        ["1.1", "second"],
        ["1.0", "first"],
      ],
    );
  });
});

describe("pnp meets trouble", () => {
  test("a list that does not exist: 404 with the text", async () => {
    await assert.rejects(
      sp.web.lists.getByTitle("Nope")(),
      (error: Error & { status?: number; isHttpRequestError?: boolean }) => {
        assert.equal(error.isHttpRequestError, true);
        assert.equal(error.status, 404);
        assert.match(error.message, /List 'Nope' does not exist at site with URL/);
        return true;
      },
    );
  });

  test("a file that does not exist", async () => {
    await assert.rejects(sp.web.getFileById("11111111-2222-4333-8444-555555555555").getBuffer(), { status: 404 });
  });

  test("a wrong token", async () => {
    const stranger = pnpWith("abc");
    await assert.rejects(stranger.web(), { status: 401 });
  });

  test("throttling is waited out as Retry-After says", async () => {
    sandbox.state.faults.add({ url: "_api/web$" }, { status: 429, headers: { "Retry-After": "0" } });
    assert.equal((await sp.web()).Title, "Demo");
    assert.equal(sandbox.state.faults.list()[0]?.struck, 1);
  });
});
