// The sandbox speaks the OData dialects of SharePoint.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addFile } from "../../src/sandbox/sharepoint/tenant/file-operations.ts";
import { apiOf, jsonOf, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const api = await apiOf(sandbox);
const library = sandbox.tenant.libraryAt("/sites/demo/Shared Documents");
const file = addFile(sandbox.tenant, "/sites/demo/Shared Documents/Reports/Q1.docx", "quarter one");
const oddFile = addFile(sandbox.tenant, "/sites/demo/Shared Documents/It's #1 & 100% + 😀.docx", "odd");
const web = "/sites/demo/_api/web";

describe("dialects", () => {
  const path = `${web}/GetFileById('${file.uniqueId}')?$select=Name,Length`;

  test("minimal metadata is what plain application/json means", async () => {
    const response = await api(path, { Accept: "application/json" });
    assert.match(response.headers.get("content-type") ?? "", /odata=minimalmetadata/);
    const body = await jsonOf(response);
    assert.equal(body["odata.type"], "SP.File");
    assert.equal(body["odata.etag"], `"{${file.uniqueId.toUpperCase()}},1"`);
    assert.equal(body["Length"], "11");
    assert.match(String(body["odata.metadata"]), /\/sites\/demo\/_api\/\$metadata#/);
  });

  test("verbose wraps and names what was left out", async () => {
    const { d } = (await jsonOf(await api(path, { Accept: "application/json;odata=verbose" }))) as {
      d: Record<string, unknown> & { __metadata: Record<string, string> };
    };
    assert.equal(d.__metadata["type"], "SP.File");
    assert.equal(d["Name"], "Q1.docx");
    assert.match(JSON.stringify(d["ListItemAllFields"]), /__deferred/);
  });

  test("verbose errors have another wrapper", async () => {
    const response = await api(`${web}/frobnicate`, { Accept: "application/json;odata=verbose" });
    const { error } = (await response.json()) as { error: { code: string; message: { lang: string } } };
    assert.equal(error.code, "-1, Microsoft.SharePoint.Client.ResourceNotFoundException");
    assert.equal(error.message.lang, "en-US");
  });

  test("the links in metadata lead back to the same thing", async () => {
    const body = await jsonOf(await api(`${web}/GetFileById('${oddFile.uniqueId}')`, { Accept: "application/json" }));
    const again = await jsonOf(await api(String(body["odata.id"])));
    assert.equal(again["UniqueId"], oddFile.uniqueId);
  });

  for (const accept of ["*/*", "application/atom+xml", "text/html"]) {
    test(`Accept: ${accept} gives Atom`, async () => {
      const response = await api(path, { Accept: accept });
      assert.match(response.headers.get("content-type") ?? "", /^application\/atom\+xml/);
      const text = await response.text();
      assert.match(text, /<d:Name>Q1\.docx<\/d:Name>/);
      assert.throws(() => JSON.parse(text));
    });
  }

  test("errors are XML there", async () => {
    const response = await api(`${web}/lists/getbytitle('<x>')`, { Accept: "*/*" });
    assert.equal(response.status, 404);
    assert.match(
      await response.text(),
      /^<\?xml .*<m:code>-1, System\.ArgumentException<\/m:code><m:message xml:lang="en-US">List '&lt;x&gt;' does/,
    );
  });

  test("collections are feeds there, with a link to the next page", async () => {
    const text = await (await api(`${web}/lists(guid'${library.id}')/items?$top=1`, { Accept: "*/*" })).text();
    assert.match(
      text,
      /<feed .*<entry .*<link rel="next" href="[^"]+%24skiptoken=Paged%3dTRUE%26p_ID%3d1&amp;%24top=1"/,
    );
  });
});
