// The sandbox serves files with ranges and ETags as SharePoint does.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { addFile, updateFile } from "../../src/sandbox/sharepoint/tenant/file-operations.ts";
import type { FileItem } from "../../src/sandbox/sharepoint/tenant/tenant-item.ts";
import { apiOf, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const api = await apiOf(sandbox);
const content = Buffer.from(Array.from({ length: 1000 }, (_, at) => at % 251));
const path = "/sites/demo/Shared Documents/It's #1 & 100% + 😀.docx";
let file: FileItem;
let value: string;

beforeEach(() => {
  sandbox.state.reset();
  file = addFile(sandbox.tenant, path, content, { at: "2024-03-29T17:57:44Z" });
  value = `/sites/demo/_api/web/GetFileById('${file.uniqueId}')/$value`;
});

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

describe("$value", () => {
  test("whole, with length and ETag", async () => {
    const response = await api(value);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-length"), "1000");
    assert.equal(response.headers.get("etag"), `"{${file.uniqueId.toUpperCase()}},1"`);
    assert.equal(response.headers.get("content-type"), "application/octet-stream");
    assert.match(response.headers.get("content-disposition") ?? "", /^attachment;/);
    assert.deepEqual(await bytesOf(response), content);
  });

  test("by path, too", async () => {
    const literal = encodeURIComponent(path.replaceAll("'", "''"));
    const response = await api(
      `/sites/demo/_api/web/GetFileByServerRelativePath(decodedUrl=@p)/$value?@p='${literal}'`,
    );
    assert.deepEqual(await bytesOf(response), content);
  });

  test("an update shows at once", async () => {
    updateFile(sandbox.tenant, path, "newer");
    const response = await api(value);
    assert.equal(response.headers.get("etag"), `"{${file.uniqueId.toUpperCase()}},2"`);
    assert.equal(await response.text(), "newer");
  });

  test("an empty file", async () => {
    const empty = addFile(sandbox.tenant, "/sites/demo/Shared Documents/empty.txt", "");
    const response = await api(`/sites/demo/_api/web/GetFileById('${empty.uniqueId}')/$value`);
    assert.equal(response.headers.get("content-length"), "0");
    assert.equal(await response.text(), "");
  });

  test("a listed size that differs from the bytes", async () => {
    const office = addFile(sandbox.tenant, "/sites/demo/Shared Documents/a.docx", "12345", { listedSize: 2345 });
    const response = await api(`/sites/demo/_api/web/GetFileById('${office.uniqueId}')?$select=Length`);
    assert.deepEqual(await response.json(), { Length: "2345" });
    const download = await api(`/sites/demo/_api/web/GetFileById('${office.uniqueId}')/$value`);
    assert.equal(download.headers.get("content-length"), "5");
  });
});

describe("Range", () => {
  const etag = (): string => `"{${file.uniqueId.toUpperCase()}},1"`;
  const cases: [string, () => Record<string, string>, number, [number, number], string | null][] = [
    ["from a byte on", () => ({ Range: "bytes=400-" }), 206, [400, 1000], "bytes 400-999/1000"],
    ["a window", () => ({ Range: "bytes=10-19" }), 206, [10, 20], "bytes 10-19/1000"],
    ["beyond the end", () => ({ Range: "bytes=990-5000" }), 206, [990, 1000], "bytes 990-999/1000"],
    [
      "for the same version",
      () => ({ Range: "bytes=400-", "If-Range": etag() }),
      206,
      [400, 1000],
      "bytes 400-999/1000",
    ],
    ["for another version", () => ({ Range: "bytes=400-", "If-Range": '"{OTHER},7"' }), 200, [0, 1000], null],
    ["a suffix is ignored", () => ({ Range: "bytes=-100" }), 200, [0, 1000], null],
    ["nonsense is ignored", () => ({ Range: "bytes=20-10" }), 200, [0, 1000], null],
  ];
  for (const [title, headers, status, [from, to], contentRange] of cases) {
    test(title, async () => {
      const response = await api(value, headers());
      assert.equal(response.status, status);
      assert.equal(response.headers.get("content-range"), contentRange);
      assert.deepEqual(await bytesOf(response), content.subarray(from, to));
    });
  }

  test("starting after the end", async () => {
    const response = await api(value, { Range: "bytes=1000-" });
    assert.equal(response.status, 416);
    assert.equal(response.headers.get("content-range"), "bytes */1000");
  });

  test("switched off: the whole body", async () => {
    sandbox.state.settings.rangeRequests = "ignored";
    const response = await api(value, { Range: "bytes=400-" });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("accept-ranges"), null);
    assert.deepEqual(await bytesOf(response), content);
  });
});

describe("a document at its own address, without a token", () => {
  const cases: [string, string][] = [
    ["a.txt", "text/plain; charset=utf-8"],
    ["a.html", "text/html; charset=utf-8"],
    ["a.pdf", "application/pdf"],
    ["a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
    ["a.unknown", "application/octet-stream"],
    ["Übersicht 資料.md", "text/markdown; charset=utf-8"],
  ];
  for (const [name, type] of cases) {
    test(name, async () => {
      const address = `/sites/demo/Shared Documents/Links/${name}`;
      addFile(sandbox.tenant, address, `this is ${name}`);
      const response = await fetch(sandbox.url + address.split("/").map(encodeURIComponent).join("/"));
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("content-type"), type);
      assert.match(response.headers.get("content-disposition") ?? "", /^inline;/);
      assert.equal(await response.text(), `this is ${name}`);
    });
  }

  test("nothing there, a folder, a broken escape", async () => {
    for (const address of ["/sites/demo/Shared%20Documents/none.txt", "/sites/demo/Shared%20Documents", "/"]) {
      const response = await fetch(sandbox.url + address);
      assert.equal(response.status, 404);
      assert.equal(await response.text(), "404 FILE NOT FOUND");
    }
    assert.equal((await fetch(`${sandbox.url}/sites/demo/%E0%A4%A`)).status, 400);
  });

  test("HEAD tells the length without the bytes", async () => {
    const response = await fetch(sandbox.url + path.split("/").map(encodeURIComponent).join("/"), { method: "HEAD" });
    assert.equal(response.headers.get("content-length"), "1000");
    assert.equal((await bytesOf(response)).length, 0);
  });
});
