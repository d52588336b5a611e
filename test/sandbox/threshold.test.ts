// Queries above the list view threshold are refused as in SharePoint.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addColumn, addList, addListItem } from "../../src/sandbox/sharepoint/tenant/list-operations.ts";
import { accessToken, apiOf, errorOf, type JsonObject, jsonOf, rowsOf, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const api = await apiOf(sandbox);
const { tenant } = sandbox;
sandbox.state.settings.listViewThreshold = 20;

const path = "/sites/demo/Lists/Long";
const list = addList(tenant, path, {
  columns: [
    { title: "Group", type: "Text", indexed: true },
    { title: "Half", type: "Number", indexed: true },
    { title: "Rare", type: "Boolean", indexed: true },
    { title: "Plain", type: "Number" },
  ],
});
addColumn(list, { title: "Note", type: "Note", richText: true });
for (let number = 1; number <= 50; number++) {
  const at = new Date(Date.UTC(2026, 0, 1, 0, 0, 100 - number)).toISOString();
  const values = {
    Title: `Row ${number}`,
    Group: `G${number % 5}`,
    Half: number % 2,
    Rare: number === 50,
    Plain: number % 7,
    Note: "<p>n</p>",
  };
  addListItem(tenant, path, values, { at });
}
const items = "/sites/demo/_api/web/lists/getbytitle('Long')/items";

async function idsOf(query: string): Promise<number[]> {
  const ids: number[] = [];
  let next: unknown = `${items}?$select=Id&${query}`;
  while (typeof next === "string") {
    const body = await jsonOf(await api(next));
    ids.push(...(body["value"] as JsonObject[]).map((row) => Number(row["Id"])));
    next = body["odata.nextLink"];
  }
  return ids;
}

function numbers(test: (number: number) => boolean): number[] {
  return Array.from({ length: 50 }, (_, at) => at + 1).filter(test);
}

describe("above the list view threshold", () => {
  const passing: [string, number[]][] = [
    ["$top=7", numbers(() => true)],
    ["$filter=Group eq 'G3'&$top=4", numbers((number) => number % 5 === 3)],
    ["$filter=Id gt 10 and Id le 30 and (Plain eq 3)", numbers((n) => n % 7 === 3 && n > 10 && n <= 30)],
    ["$filter=ID gt 40 and (Plain eq 3 or Plain eq 4)", numbers((n) => (n % 7 === 3 || n % 7 === 4) && n > 40)],
    ["$filter=Rare eq true", [50]],
    ["$filter=startswith(Group,'G3')", numbers((number) => number % 5 === 3)],
    ["$filter=Id le 5 or Group eq 'G0'", numbers((n) => n <= 5 || n % 5 === 0)],
    ["$orderby=Group desc&$top=6", numbers(() => true).sort((a, b) => (b % 5) - (a % 5) || a - b)],
  ];
  for (const [query, ids] of passing) {
    test(`passes: ${query}`, async () => {
      assert.deepEqual(await idsOf(query), ids);
    });
  }

  const throttled = [
    "$filter=Plain eq 3",
    "$filter=Plain eq 3&$top=1",
    "$filter=Half eq 1",
    "$filter=Plain eq 3 or Id le 5",
    "$filter=Rare ne false",
    "$filter=not (Group eq 'G3')",
    "$filter=Plain eq 3 and Half eq 1",
    "$filter=Plain eq 3 and Id gt 10 and Id le 30",
    "$filter=(Plain eq 3) and Group eq 'G3'",
    "$filter=Id gt 10 and Plain eq 3 and Id le 30",
    "$orderby=Plain",
    "$orderby=Modified",
    "$top=5001",
  ];
  for (const query of throttled) {
    test(`refused: ${query}`, async () => {
      const error = await errorOf(await api(`${items}?${query}`));
      assert.equal(error.status, 500);
      assert.equal(error.code, "-2147024860, Microsoft.SharePoint.SPQueryThrottledException");
    });
  }
});

describe("below it", () => {
  test("any column filters and sorts, and pages carry its value", async () => {
    sandbox.state.settings.listViewThreshold = 50;
    assert.deepEqual(
      await idsOf("$filter=Plain eq 3"),
      numbers((number) => number % 7 === 3),
    );
    const byTime = numbers(() => true).reverse();
    assert.deepEqual(await idsOf("$orderby=Modified&$top=7"), byTime);
    assert.deepEqual(
      await idsOf("$orderby=Plain desc,Title&$top=9"),
      numbers(() => true).sort((a, b) => (b % 7) - (a % 7) || (`Row ${a}` < `Row ${b}` ? -1 : 1)),
    );
    const page = await jsonOf(await api(`${items}?$orderby=Modified&$top=1`));
    assert.match(
      String(page["odata.nextLink"]),
      /\?%24skiptoken=Paged%3dTRUE%26p_Modified%3d20260101%252000%253a00%253a50%26p_ID%3d50&%24orderby=Modified&%24top=1$/,
    );
    sandbox.state.settings.listViewThreshold = 20;
  });
});

const token = await accessToken(sandbox);

describe("RenderListDataAsStream", () => {
  const post = async (parameters: JsonObject): Promise<Response> =>
    fetch(`${sandbox.url}/sites/demo/_api/web/lists/getbytitle('Long')/RenderListDataAsStream`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ parameters }),
    });

  test("pages through everything, threshold or not, all values as text", async () => {
    const rows: JsonObject[] = [];
    let paging = "";
    do {
      const body = await jsonOf(
        await post({
          RenderOptions: 2,
          DatesInUtc: true,
          ViewXml:
            "<View Scope='RecursiveAll'><ViewFields><FieldRef Name='Note'/></ViewFields><RowLimit Paged='TRUE'>21</RowLimit></View>",
          ...(paging === "" ? {} : { Paging: paging }),
        }),
      );
      rows.push(...(body["Row"] as JsonObject[]));
      paging = String(body["NextHref"] ?? "").slice(1);
    } while (paging !== "");
    assert.deepEqual(
      rows.map((row) => row["ID"]),
      numbers(() => true).map(String),
    );
    assert.deepEqual(
      [rows[0]?.["FSObjType"], rows[0]?.["Modified"], rows[0]?.["Note"], rows[0]?.["Group"]],
      ["0", "2026-01-01T00:01:39Z", '<div dir="" class="ms-rtestate-field"><p>n</p></div>', undefined],
    );
    assert.match(String(rows[0]?.["UniqueId"]), /^\{[0-9A-F-]{36}\}$/);
  });

  test("a query it does not understand is refused, never ignored", async () => {
    const error = await post({ ViewXml: "<View><Query><Where><Eq/></Where></Query></View>" });
    assert.equal(error.status, 400);
    assert.equal((await post({ ViewXml: "<View><RowLimit>5001</RowLimit></View>" })).status, 500);
  });
});

test("a library's rows show sizes there", async () => {
  const { addFile, updateFile } = await import("../../src/sandbox/sharepoint/tenant/file-operations.ts");
  addFile(tenant, "/sites/demo/Shared Documents/F/a.txt", "12345");
  updateFile(tenant, "/sites/demo/Shared Documents/F/a.txt", "123");
  const response = await fetch(
    `${sandbox.url}/sites/demo/_api/web/lists/getbytitle('Documents')/RenderListDataAsStream`,
    {
      method: "POST",
      headers: { Authorization: `Bearer ${await accessToken(sandbox)}` },
      body: JSON.stringify({ parameters: { ViewXml: "<View Scope='Recursive'/>" } }),
    },
  );
  const [row, ...others] = (await jsonOf(response))["Row"] as JsonObject[];
  assert.deepEqual([row?.["FileLeafRef"], row?.["File_x0020_Size"], row?.["SMTotalSize"]], ["a.txt", "3", "8"]);
  assert.deepEqual(others, [], "no folders in this scope");
  assert.equal((await rowsOf(await api("/sites/demo/_api/web/lists/getbytitle('Documents')/items"))).length, 2);
});
