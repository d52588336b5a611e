import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SPDefault } from "@pnp/nodejs";
import { BearerToken } from "@pnp/queryable";
import { spfi } from "@pnp/sp";
import "@pnp/sp/webs/index.js";
import "@pnp/sp/sites/index.js";
import "@pnp/sp/lists/index.js";
import "@pnp/sp/items/index.js";
import "@pnp/sp/files/index.js";
import "@pnp/sp/folders/index.js";
import { addFile, addFolder } from "../../src/sandbox/tenant/file-operations.ts";
import { fillFolder } from "../../src/sandbox/tenant/fill-folder.ts";
import { accessToken, sandboxForTests } from "./sandbox-client.ts";

/** The part of pnp this file uses. Its own types add properties to a module name that Node's resolution does not find. */
interface Invokable<T> {
  (): Promise<T>;
  select(...fields: string[]): this;
}
interface PnpItems extends Invokable<Row[]>, AsyncIterable<Row[]> {
  expand(...links: string[]): this;
  filter(filter: string): this;
  top(count: number): this;
  getById(id: number): Invokable<{ UniqueId: string }>;
}
interface PnpList extends Invokable<{ Id: string; Title: string; ItemCount: number }> {
  readonly items: PnpItems;
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
