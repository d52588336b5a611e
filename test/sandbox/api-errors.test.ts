// The sandbox answers errors as SharePoint does.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addFile, addFolder } from "../../src/sandbox/sharepoint/tenant/file-operations.ts";
import { apiOf, errorOf, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const api = await apiOf(sandbox);
const library = sandbox.tenant.libraryAt("/sites/demo/Shared Documents");
addFolder(sandbox.tenant, "/sites/demo/Shared Documents/Reports");
addFile(sandbox.tenant, "/sites/hr/Shared Documents/Secret.txt", "hr only");

const web = "/sites/demo/_api/web";
const literal = (text: string): string => encodeURIComponent(text.replaceAll("'", "''"));

describe("errors", () => {
  const missing = "11111111-2222-4333-8444-555555555555";
  const cases: [string, string, number, string, RegExp][] = [
    [
      "library path",
      `${web}/GetListUsingPath(DecodedUrl='${literal("/sites/demo/None")}')`,
      404,
      "-2147024894, System.IO.FileNotFoundException",
      /^File Not Found\.$/,
    ],
    [
      "folder instead of library",
      `${web}/GetListUsingPath(DecodedUrl='${literal("/sites/demo/Shared Documents/Reports")}')`,
      404,
      "-2147024894, System.IO.FileNotFoundException",
      /^File Not Found\.$/,
    ],
    [
      "list title",
      `${web}/lists/getbytitle('No''pe')`,
      404,
      "-1, System.ArgumentException",
      /^List 'No'pe' does not exist at site with URL 'http:\/\/127\.0\.0\.1:\d+\/sites\/demo'\.$/,
    ],
    ["list id", `${web}/lists(guid'${missing}')`, 404, "-1, System.ArgumentException", /does not exist/],
    [
      "file path",
      `${web}/GetFileByServerRelativePath(decodedUrl='${literal("/sites/demo/Shared Documents/y.docx")}')`,
      404,
      "-2130575338, Microsoft.SharePoint.SPException",
      /^The file \/sites\/demo\/Shared Documents\/y\.docx does not exist\.$/,
    ],
    [
      "file id",
      `${web}/GetFileById('${missing}')`,
      404,
      "-2147024894, System.IO.FileNotFoundException",
      /^File Not Found\.$/,
    ],
    ["no id at all", `${web}/GetFileById('abc')`, 400, "-2147024809, System.ArgumentException", /expected range/],
    [
      "folder path",
      `${web}/GetFolderByServerRelativePath(decodedUrl='${literal("/sites/demo/Shared Documents/None")}')/Files`,
      404,
      "-2147024894, System.IO.FileNotFoundException",
      /^File Not Found\.$/,
    ],
    [
      "path of another site",
      `${web}/GetFileByServerRelativePath(decodedUrl='${literal("/sites/hr/Shared Documents/Secret.txt")}')`,
      400,
      "-2147024809, System.ArgumentException",
      /^Server relative urls must start with SPWeb\.ServerRelativeUrl$/,
    ],
    [
      "item id",
      `${web}/lists(guid'${library.id}')/items(999)`,
      404,
      "-2130575338, Microsoft.SharePoint.SPException",
      /^Item does not exist\. It may have been deleted by another user\.$/,
    ],
    [
      "function",
      `${web}/frobnicate`,
      404,
      "-1, Microsoft.SharePoint.Client.ResourceNotFoundException",
      /^Cannot find resource for the request frobnicate\.$/,
    ],
    [
      "service",
      "/sites/demo/_api/nothing",
      404,
      "-1, Microsoft.SharePoint.Client.ResourceNotFoundException",
      /nothing/,
    ],
    [
      "single quote",
      `${web}/getFolderByServerRelativeUrl('/sites/demo/O'Reilly')`,
      400,
      "-1, Microsoft.SharePoint.Client.InvalidClientQueryException",
      /^The expression "web\/getFolderByServerRelativeUrl\('\/sites\/demo\/O'Reilly'\)" is not valid\.$/,
    ],
    [
      "alias without value",
      `${web}/GetList(@u)`,
      400,
      "-1, Microsoft.SharePoint.Client.InvalidClientQueryException",
      /not valid/,
    ],
    [
      "unknown property",
      `${web}?$select=Nonsense`,
      400,
      "-1, Microsoft.SharePoint.SPException",
      /^The field or property 'Nonsense' does not exist\.$/,
    ],
  ];
  for (const [title, path, status, code, message] of cases) {
    test(title, async () => {
      const error = await errorOf(await api(path));
      assert.equal(error.status, status);
      assert.equal(error.code, code);
      assert.match(error.message, message);
    });
  }

  test("a file of another site is not found by its id", async () => {
    const secret = sandbox.tenant.itemAt("/sites/hr/Shared Documents/Secret.txt");
    assert.equal((await api(`${web}/GetFileById('${secret?.uniqueId}')`)).status, 404);
  });

  test("a broken escape is refused by the web server", async () => {
    const response = await api(`${web}/GetFileById('%E0%A4%A')`);
    assert.equal(response.status, 400);
    assert.match(await response.text(), /Bad Request/);
  });
});
