// Webs, sites, lists, folders and files are addressed as in SharePoint.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addFile, addFolder } from "../../src/sandbox/sharepoint/tenant/file-operations.ts";
import { fillFolder } from "../../src/sandbox/sharepoint/tenant/fill-folder.ts";
import { apiOf, errorOf, jsonOf, rowsOf, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const api = await apiOf(sandbox);
const odd = "It's #1 & 100% + 😀.docx";
const library = sandbox.tenant.libraryAt("/sites/demo/Shared Documents");
const file = addFile(sandbox.tenant, "/sites/demo/Shared Documents/Reports/Q1.docx", "quarter one", {
  at: "2024-03-29T17:57:44Z",
});
const oddFile = addFile(sandbox.tenant, `/sites/demo/Shared Documents/${odd}`, "odd");
addFolder(sandbox.tenant, "/sites/demo/Shared Documents/Reports/Old");
addFile(sandbox.tenant, "/sites/hr/Shared Documents/Secret.txt", "hr only");

const web = "/sites/demo/_api/web";
const literal = (text: string): string => encodeURIComponent(text.replaceAll("'", "''"));

describe("webs", () => {
  test("the web, with $select", async () => {
    const body = await jsonOf(await api(`${web}?$select=Id,Title,Url,ServerRelativeUrl`));
    assert.deepEqual(Object.keys(body).sort(), ["Id", "ServerRelativeUrl", "Title", "Url"]);
    assert.equal(body["Url"], sandbox.siteUrl);
    assert.equal(body["ServerRelativeUrl"], "/sites/demo");
  });

  test("the root web and the second site", async () => {
    assert.equal((await jsonOf(await api("/_api/web")))["ServerRelativeUrl"], "/");
    assert.equal((await jsonOf(await api("/sites/hr/_api/web")))["Title"], "People");
  });

  test("the site collection has another id than its web", async () => {
    const site = await jsonOf(await api("/sites/demo/_api/site?$select=Id,Url"));
    assert.equal(site["Url"], sandbox.siteUrl);
    assert.notEqual(site["Id"], (await jsonOf(await api(web)))["Id"]);
  });

  test("a site that does not exist: plain text, not OData", async () => {
    const response = await api("/sites/none/_api/web");
    assert.equal(response.status, 404);
    assert.equal(await response.text(), "404 FILE NOT FOUND");
    assert.match(response.headers.get("content-type") ?? "", /^text\/plain/);
  });

  test("every answer carries SharePoint's headers", async () => {
    const { headers } = await api(web);
    assert.match(headers.get("SPRequestGuid") ?? "", /^[0-9a-f-]{36}$/);
    for (const name of [
      "X-SharePointHealthScore",
      "SPClientServiceRequestDuration",
      "X-SP-SERVERSTATE",
      "request-id",
    ]) {
      assert.ok(headers.get(name), name);
    }
  });
});

describe("one library, many ways", () => {
  const path = "/sites/demo/Shared Documents";
  const ways = [
    `${web}/GetListUsingPath(DecodedUrl=@u)?@u='${literal(path)}'`,
    `${web}/getlistusingpath(decodedurl='${literal(path)}')?`,
    `${web}/GetList(@u)?@u='${literal(path)}'`,
    `${web}/getList('${literal(path)}')?`,
    `${web}/getList('${literal("/SITES/demo/shared documents")}')?`,
    `${web}/lists(guid'${library.id}')?`,
    `/sites/demo/_API/Web/Lists(guid'${library.id.toUpperCase()}')?`,
    `${web}/lists/getbytitle('Documents')?`,
    `${web}/Lists/GetByTitle('dOCUMENTS')?`,
  ];
  for (const way of ways) {
    test(decodeURIComponent(way), async () => {
      const body = await jsonOf(await api(`${way}&$select=Id,Title`));
      assert.deepEqual(body, { Id: library.id, Title: "Documents" });
    });
  }

  test("its properties", async () => {
    const body = await jsonOf(
      await api(
        `${ways[0]}&$select=BaseTemplate,BaseType,ItemCount,CurrentChangeToken,LastItemModifiedDate,EntityTypeName,ListItemEntityTypeFullName,RootFolder/ServerRelativeUrl,RootFolder/UniqueId&$expand=RootFolder`,
      ),
    );
    assert.equal(body["BaseTemplate"], 101);
    assert.equal(body["BaseType"], 1);
    assert.equal(body["ItemCount"], 4, "folders count, the Forms folder does not");
    assert.equal(body["EntityTypeName"], "Shared_x0020_Documents");
    assert.equal(body["ListItemEntityTypeFullName"], "SP.Data.Shared_x0020_DocumentsItem");
    const token = (body["CurrentChangeToken"] as { StringValue: string }).StringValue;
    assert.match(token, new RegExp(`^1;3;${library.id};\\d{18};\\d+$`));
    assert.deepEqual(body["RootFolder"], { ServerRelativeUrl: path, UniqueId: library.root.uniqueId });
  });

  test("the change token moves with a change", async () => {
    const read = async (): Promise<unknown> => (await jsonOf(await api(`${ways[0]}`)))["CurrentChangeToken"];
    const before = await read();
    assert.deepEqual(await read(), before);
    addFile(sandbox.tenant, "/sites/demo/Shared Documents/Reports/Old/later.txt", "x");
    assert.notDeepEqual(await read(), before);
  });

  test("all lists of a web", async () => {
    const rows = await rowsOf(await api(`${web}/lists?$select=Title`));
    assert.deepEqual(rows, [{ Title: "Documents" }, { Title: "Contracts" }, { Title: "Site Pages" }]);
  });
});

describe("one file, many ways", () => {
  const path = `/sites/demo/Shared Documents/${odd}`;
  const ways = [
    `${web}/GetFileById('${oddFile.uniqueId}')?`,
    `${web}/getFileById(guid'${oddFile.uniqueId.toUpperCase()}')?`,
    `${web}/GetFileByServerRelativePath(decodedUrl=@p)?@p='${literal(path)}'`,
    `${web}/getFileByServerRelativePath(decodedurl='${literal(path)}')?`,
    `${web}/GetFileByServerRelativePath(DecodedUrl=@p)?%40p=%27${literal(path).replaceAll("'", "%27")}%27`,
    `${web}/lists(guid'${library.id}')/items(${oddFile.listItemId})/File?`,
  ];
  for (const way of ways) {
    test(way, async () => {
      const body = await jsonOf(await api(`${way}&$select=UniqueId,Name,ServerRelativeUrl`));
      assert.deepEqual(body, { UniqueId: oddFile.uniqueId, Name: odd, ServerRelativeUrl: path });
    });
  }

  test("by the older function, which takes % and # for escapes and misses the odd name", async () => {
    const plain = `${web}/GetFileByServerRelativeUrl('${literal("/sites/demo/Shared Documents/Reports/Q1.docx")}')`;
    assert.equal((await jsonOf(await api(plain)))["UniqueId"], file.uniqueId);
    assert.equal((await api(`${web}/GetFileByServerRelativeUrl('${literal(path)}')`)).status, 404);
  });

  test("the properties of a file", async () => {
    const body = await jsonOf(await api(`${web}/GetFileById('${file.uniqueId}')`));
    const id = file.uniqueId.toUpperCase();
    assert.equal(body["ETag"], `"{${id}},1"`);
    assert.equal(body["ContentTag"], `{${id}},1,1`);
    assert.equal(body["Length"], "11", "Int64 is a text");
    assert.equal(body["TimeLastModified"], "2024-03-29T17:57:44Z");
    assert.equal(body["UIVersion"], 512);
    assert.equal(body["UIVersionLabel"], "1.0");
    assert.equal(body["Level"], 1);
    assert.equal(body["CheckOutType"], 2);
    assert.equal(body["ServerRelativeUrl"], "/sites/demo/Shared Documents/Reports/Q1.docx");
    assert.equal(new URL(String(body["LinkingUri"])).pathname, "/sites/demo/Shared%20Documents/Reports/Q1.docx");
  });

  test("the linking address of the odd name is encoded", async () => {
    const body = await jsonOf(await api(`${web}/GetFileById('${oddFile.uniqueId}')?$select=LinkingUri`));
    assert.match(
      String(body["LinkingUri"]),
      /\/It%27s%20%231%20%26%20100%25%20%2B%20%F0%9F%98%80\.docx\?d=w[0-9a-f]{32}$/,
    );
  });

  test("a single property", async () => {
    assert.deepEqual(await jsonOf(await api(`${web}/GetFileById('${file.uniqueId}')/Length`)), { value: "11" });
  });
});

describe("folders", () => {
  const folder = (path: string): string => `${web}/GetFolderByServerRelativePath(decodedUrl='${literal(path)}')`;

  test("files and folders of one level, the system folder included", async () => {
    const root = folder("/sites/demo/Shared Documents");
    assert.deepEqual(
      (await rowsOf(await api(`${root}/Files?$select=Name`))).map((row) => row["Name"]),
      [odd],
    );
    assert.deepEqual(
      (await rowsOf(await api(`${root}/Folders?$select=Name`))).map((row) => row["Name"]),
      ["Forms", "Reports"],
    );
  });

  test("its own properties and its list item", async () => {
    const body = await jsonOf(
      await api(
        `${folder("/sites/demo/Shared Documents/Reports")}?$expand=ListItemAllFields&$select=Name,ItemCount,ListItemAllFields/Id`,
      ),
    );
    assert.equal(body["Name"], "Reports");
    assert.equal(body["ItemCount"], 2);
    assert.deepEqual(body["ListItemAllFields"], { Id: file.parent?.listItemId, ID: file.parent?.listItemId });
  });

  test("more than 5000 files in one folder: threshold, whatever $top says", async () => {
    sandbox.tenant.addLibrary("/sites/demo/Wide");
    fillFolder(sandbox.tenant, "/sites/demo/Wide", { count: 5001, bytes: 10, perFolder: 5001 });
    assert.deepEqual(await errorOf(await api(`${folder("/sites/demo/Wide/batch-0000")}/Files?$top=10`)), {
      status: 500,
      code: "-2147024860, Microsoft.SharePoint.SPQueryThrottledException",
      message: "The attempted operation is prohibited because it exceeds the list view threshold.",
    });
  });
});
