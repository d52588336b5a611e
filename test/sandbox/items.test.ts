// Rows of libraries come from the sandbox as from SharePoint.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addFile } from "../../src/sandbox/sharepoint/tenant/file-operations.ts";
import { fillFolder } from "../../src/sandbox/sharepoint/tenant/fill-folder.ts";
import { recycleItem } from "../../src/sandbox/sharepoint/tenant/relocate-item.ts";
import { reportLibrary } from "./report-library.ts";
import { errorOf, type JsonObject, jsonOf, rowsOf, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const { api, tenant, root, library, items, namesOf } = await reportLibrary(sandbox);

describe("rows", () => {
  test("flat, in order of id, folders included", async () => {
    const rows = await rowsOf(await api(`${items}?$select=Id,FileLeafRef,FileSystemObjectType,FileRef,FileDirRef`));
    assert.deepEqual(
      rows.map((row) => [row["Id"], row["FileSystemObjectType"], row["FileRef"]]),
      [
        [1, 1, `${root}/Reports`],
        [2, 0, `${root}/Reports/Q1.docx`],
        [3, 0, `${root}/Reports/Q2.docx`],
        [4, 0, `${root}/O'Brien & Co.txt`],
        [5, 0, `${root}/notes.md`],
      ],
    );
    assert.equal(rows[1]?.["FileDirRef"], `${root}/Reports`);
  });

  test("$select=Id brings both Id and ID", async () => {
    assert.deepEqual((await rowsOf(await api(`${items}?$select=Id&$top=1`)))[0], { Id: 1, ID: 1 });
  });

  test("without $select there is neither path nor UniqueId, but the misleading GUID", async () => {
    const [row] = await rowsOf(await api(`${items}?$top=1`));
    assert.ok(row);
    for (const name of ["FileRef", "UniqueId", "File"]) assert.equal(name in row, false, name);
    const item = library.find(1);
    assert.notEqual(row["GUID"], item?.uniqueId);
    assert.ok("Department" in row, "own columns are part of the default");
  });

  test("File is expanded on file rows and absent on folder rows", async () => {
    const rows = await rowsOf(
      await api(`${items}?$select=Id,UniqueId,File/UniqueId,File/Length,File/ETag&$expand=File&$top=2`),
    );
    const [folder, file] = rows;
    assert.equal(folder && "File" in folder, false);
    const expanded = file?.["File"] as JsonObject;
    assert.equal(expanded["UniqueId"], file?.["UniqueId"]);
    assert.equal(expanded["Length"], "3");
    assert.deepEqual(Object.keys(expanded).sort(), ["ETag", "Length", "UniqueId"]);
  });

  test("Folder is expanded on folder rows", async () => {
    const [folder, file] = await rowsOf(await api(`${items}?$select=Id,Folder/Name&$expand=Folder&$top=2`));
    assert.deepEqual(folder?.["Folder"], { Name: "Reports" });
    assert.equal(file && "Folder" in file, false);
  });

  test("a * with extra columns", async () => {
    const [row] = await rowsOf(await api(`${items}?$select=*,FileRef&$top=1`));
    assert.equal(row?.["FileRef"], `${root}/Reports`);
    assert.ok("Modified" in (row ?? {}));
  });

  test("one item by its id, with its file", async () => {
    const body = await jsonOf(await api(`${items}(2)?$select=Id,File/Name&$expand=File`));
    assert.deepEqual(body["File"], { Name: "Q1.docx" });
  });

  test("a deleted item is gone from the rows and from its id", async () => {
    addFile(tenant, `${root}/short-lived.txt`, "x");
    const id = tenant.itemAt(`${root}/short-lived.txt`)?.listItemId;
    recycleItem(tenant, `${root}/short-lived.txt`);
    assert.equal((await namesOf("$select=FileLeafRef")).includes("short-lived.txt"), false);
    assert.equal((await api(`${items}(${id})`)).status, 404);
  });
});

describe("wrong queries", () => {
  const cases: [string, number, RegExp][] = [
    ["$select=Nothing", 400, /The field or property 'Nothing' does not exist/],
    [
      "$select=File/Length",
      400,
      /The query to field 'File\/Length' is not valid\. .* \$expand query string must contains File\./,
    ],
    ["$select=File/Nothing&$expand=File", 400, /'Nothing' does not exist/],
    ["$expand=Nothing", 400, /'Nothing' does not exist/],
    ["$top=5001", 500, /exceeds the list view threshold/],
    ["$top=many", 400, /not valid/],
    ["$orderby=Nothing", 400, /'Nothing' does not exist/],
  ];
  for (const [query, status, message] of cases) {
    test(query, async () => {
      const error = await errorOf(await api(`${items}?${query}`));
      assert.equal(error.status, status);
      assert.match(error.message, message);
    });
  }
});

describe("paging", () => {
  tenant.addLibrary("/sites/demo/Many", { title: "Many" });
  fillFolder(tenant, "/sites/demo/Many", { count: 345, bytes: 20, perFolder: 100 });
  const many = "/sites/demo/_api/web/lists/GetByTitle('Many')/items";

  async function readAll(first: string, between: (page: number) => void = () => undefined): Promise<JsonObject[]> {
    const rows: JsonObject[] = [];
    let next: unknown = first;
    for (let page = 1; typeof next === "string"; page++) {
      const body = await jsonOf(await api(next));
      rows.push(...(body["value"] as JsonObject[]));
      next = body["odata.nextLink"];
      between(page);
    }
    return rows;
  }

  test("100 rows by default, then a link of SharePoint's form", async () => {
    const body = await jsonOf(await api(many));
    assert.equal((body["value"] as unknown[]).length, 100);
    assert.equal(body["odata.nextLink"], `${sandbox.url}${many}?%24skiptoken=Paged%3dTRUE%26p_ID%3d100`);
  });

  test("the link keeps path, aliases and options as they were sent", async () => {
    const path = "/sites/demo/_api/Web/GetListUsingPath(DecodedUrl=@u)/items";
    const body = await jsonOf(
      await api(`${path}?@u='%2Fsites%2Fdemo%2FMany'&$select=Id,File/Name&$expand=File&$top=7`),
    );
    assert.equal(
      body["odata.nextLink"],
      `${sandbox.url}${path}?%24skiptoken=Paged%3dTRUE%26p_ID%3d7&@u=%27%2Fsites%2Fdemo%2FMany%27&%24select=Id,File/Name&%24expand=File&%24top=7`,
    );
    const second = await jsonOf(await api(String(body["odata.nextLink"])));
    assert.equal((second["value"] as JsonObject[])[0]?.["Id"], 8);
  });

  for (const size of [7, 49, 100, 349, 350, 5000]) {
    test(`pages of ${size} bring every row once, and the last one has no link`, async () => {
      const rows = await readAll(`${many}?$select=Id&$top=${size}`);
      assert.deepEqual(
        rows.map((row) => row["Id"]),
        Array.from({ length: 349 }, (_, at) => at + 1),
      );
    });
  }

  test("a filter goes on over pages", async () => {
    const rows = await readAll(`${many}?$select=Id,FileLeafRef&$filter=FSObjType eq 1&$top=1`);
    assert.deepEqual(
      rows.map((row) => row["FileLeafRef"]),
      ["batch-0000", "batch-0001", "batch-0002", "batch-0003"],
    );
  });

  test("deleting and adding between two pages neither repeats nor skips the others", async () => {
    const rows = await readAll(`${many}?$select=Id&$top=100`, (page) => {
      if (page !== 1) return;
      recycleItem(tenant, "/sites/demo/Many/batch-0000/fill-000003.txt");
      addFile(tenant, "/sites/demo/Many/new.txt", "new");
    });
    const ids = rows.map((row) => Number(row["Id"]));
    assert.equal(new Set(ids).size, ids.length);
    assert.equal(ids.length, 350, "349 and the new one at the end; the deleted one was on the first page");
    assert.equal(ids.at(-1), 350);
  });

  test("verbose pages are linked by __next", async () => {
    const response = await api(`${many}?$top=2`, { Accept: "application/json;odata=verbose" });
    const { d } = (await jsonOf(response)) as { d: { results: JsonObject[]; __next: string } };
    assert.equal(d.results.length, 2);
    assert.match(d.__next, /%24skiptoken=Paged%3dTRUE%26p_ID%3d2&%24top=2$/);
  });
});
