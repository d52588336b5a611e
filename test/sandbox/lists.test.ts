// Lists, their columns and attachments come from the sandbox as from SharePoint.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { apiOf, control, errorOf, type JsonObject, jsonOf, rowsOf, sandboxForTests } from "./sandbox-client.ts";
import { assertConsistent } from "./tenant-consistency.ts";

const sandbox = await sandboxForTests();
const api = await apiOf(sandbox);
const tasks = "/sites/demo/Lists/Tasks";
const list = "/sites/demo/_api/web/lists/getbytitle('tasks')";
const items = `${list}/items`;

async function does(operation: string, fields: JsonObject): Promise<JsonObject> {
  const { status, body } = await control(sandbox, "POST", operation, fields);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function refused(operation: string, fields: JsonObject): Promise<string> {
  const { status, body } = await control(sandbox, "POST", operation, fields);
  assert.ok(status === 400 || status === 404, String(status));
  assertConsistent(sandbox.tenant);
  return String(body["error"]);
}

await does("add-list", { path: "/sites/demo/Lists/Areas", title: "Areas" });
await does("add-item", { list: "/sites/demo/Lists/Areas", values: { Title: "North" } });
await does("add-item", { list: "/sites/demo/Lists/Areas", values: { Title: "South" } });
await does("add-list", {
  path: tasks,
  title: "Tasks",
  columns: [
    { title: "Due date", type: "DateTime" },
    { title: "Body", type: "Note", richText: true },
    { title: "Status", type: "Choice", choices: ["Open", "Done"], indexed: true },
    { title: "Kinds", type: "MultiChoice", choices: ["A", "B"] },
    { title: "Area", type: "Lookup", lookupList: "Areas" },
    { title: "Areas", type: "Lookup", lookupList: "Areas", multiple: true },
    { title: "Urgent", type: "Boolean" },
    { title: "Hours", type: "Number" },
    { title: "Cost", type: "Currency", currencyLocaleId: 1031 },
    { title: "Link", type: "URL" },
    { title: "Owner", type: "User" },
    { title: "Team", type: "User", multiple: true },
    { title: "Language", type: "TaxonomyFieldType" },
    { title: "Languages", type: "TaxonomyFieldType", multiple: true },
    { title: "Sum", type: "Calculated" },
    { name: "_Odd", type: "Text" },
  ],
});
await does("add-item", {
  list: tasks,
  at: "2026-01-02T03:04:05Z",
  by: "Joris van den Berg",
  values: {
    Title: "One",
    "Due date": "2026-05-05T10:00:00Z",
    Body: "<p>Call <b>them</b></p>",
    Status: "Open",
    Kinds: ["A", "B"],
    Area: "North",
    Areas: ["South", 1],
    Urgent: true,
    Hours: 1234.5,
    Cost: 99,
    Link: { Url: "https://tidewheel.example/a", Description: "A" },
    Owner: "Yusuf Brandt",
    Team: ["Yusuf Brandt", "anneke@tidewheel.example"],
    Language: "Dutch",
    Languages: ["Dutch", "English"],
    Sum: "abc",
    _Odd: "odd",
  },
});
await does("add-item", { list: tasks, at: "2026-01-03T00:00:00Z", values: { Title: "Two" } });

describe("a list", () => {
  test("is found by title, by path and by id, and says what it is", async () => {
    const select = "$select=Id,Title,BaseTemplate,BaseType,ItemCount,EnableAttachments,ListItemEntityTypeFullName";
    const byTitle = await jsonOf(await api(`${list}?${select}`));
    const byPath = await jsonOf(
      await api(`/sites/demo/_api/web/GetListUsingPath(DecodedUrl=@u)?@u='${encodeURIComponent(tasks)}'&${select}`),
    );
    const byId = await jsonOf(await api(`/sites/demo/_api/web/lists(guid'${String(byTitle["Id"])}')?${select}`));
    assert.deepEqual([byPath, byId], [byTitle, byTitle]);
    assert.deepEqual([byTitle["BaseTemplate"], byTitle["BaseType"], byTitle["ItemCount"]], [100, 0, 2]);
    assert.equal(byTitle["ListItemEntityTypeFullName"], "SP.Data.TasksListItem");
  });

  test("is told from libraries by its template", async () => {
    const rows = await rowsOf(await api("/sites/demo/_api/web/lists?$select=Title&$filter=BaseTemplate eq 100"));
    assert.deepEqual(rows.slice(0, 2), [{ Title: "Areas" }, { Title: "Tasks" }]);
  });

  test("is filled with as many rows as it takes", async () => {
    await does("add-list", { path: "/sites/demo/Lists/Filled", columns: [{ title: "Text", type: "Note" }] });
    await does("fill", { path: "/sites/demo/Lists/Filled", count: 120, bytes: 30 });
    const rows = await rowsOf(await api("/sites/demo/_api/web/lists/getbytitle('Filled')/items?$top=5000"));
    assert.equal(rows.length, 120);
    assert.match(String(rows[7]?.["Text"]), /^Record fill\/7\. /);
    await does("delete-list", { list: "/sites/demo/Lists/Filled" });
  });

  test("keeps its address when its title changes", async () => {
    await does("add-list", { path: "/sites/demo/Lists/Old", title: "Old" });
    await does("rename-list", { list: "/sites/demo/Lists/Old", title: "New" });
    const error = await errorOf(await api("/sites/demo/_api/web/lists/getbytitle('Old')"));
    assert.equal(error.status, 404);
    assert.match(error.message, /^List 'Old' does not exist at site with URL/);
    const renamed = await jsonOf(await api("/sites/demo/_api/web/lists/getbytitle('New')?$expand=RootFolder"));
    assert.equal((renamed["RootFolder"] as JsonObject)["ServerRelativeUrl"], "/sites/demo/Lists/Old");
    await does("delete-list", { list: "/sites/demo/Lists/Old" });
    assert.equal((await api("/sites/demo/_api/web/lists/getbytitle('New')")).status, 404);
  });
});

describe("fields", () => {
  test("of the list's own, each with what belongs to its type", async () => {
    const rows = await rowsOf(
      await api(
        `${list}/fields?$select=InternalName,EntityPropertyName,Title,TypeAsString,FieldTypeKind,Indexed,Choices,LookupField,AllowMultipleValues,CurrencyLocaleId&$filter=CanBeDeleted eq true`,
      ),
    );
    const byName = new Map(rows.map((row) => [row["InternalName"], row]));
    assert.deepEqual(byName.get("Due_x0020_date"), {
      InternalName: "Due_x0020_date",
      EntityPropertyName: "Due_x0020_date",
      Title: "Due date",
      TypeAsString: "DateTime",
      FieldTypeKind: 4,
      Indexed: false,
    });
    assert.equal(byName.get("_Odd")?.["EntityPropertyName"], "OData__Odd");
    assert.deepEqual(byName.get("Status")?.["Choices"], ["Open", "Done"]);
    assert.equal(byName.get("Status")?.["Indexed"], true);
    assert.deepEqual(
      [byName.get("Areas")?.["TypeAsString"], byName.get("Areas")?.["LookupField"]],
      ["LookupMulti", "Title"],
    );
    assert.equal(byName.get("Team")?.["AllowMultipleValues"], true);
    assert.equal(byName.get("Cost")?.["CurrencyLocaleId"], 1031);
  });

  test("of every list, so that a reader has something to leave out", async () => {
    const rows = await rowsOf(await api(`${list}/fields?$select=InternalName&$filter=Hidden eq false`));
    const names = rows.map((row) => row["InternalName"]);
    for (const name of ["ID", "Author", "Editor", "Created", "Modified", "Attachments", "ContentType", "LinkTitle"]) {
      assert.ok(names.includes(name), name);
    }
    assert.ok(!names.includes("TaxCatchAll"));
  });

  test("one by name or title", async () => {
    const field = await jsonOf(await api(`${list}/fields/getbyinternalnameortitle('Due%20date')?$select=InternalName`));
    assert.equal(field["InternalName"], "Due_x0020_date");
  });
});

describe("values", () => {
  test("as items carry them", async () => {
    const [row] = await rowsOf(await api(`${items}?$select=*,UniqueId,owshiddenversion`));
    const { Language, Languages, GUID, UniqueId, ...rest } = row ?? {};
    assert.match(String(UniqueId), /^[0-9a-f-]{36}$/);
    assert.notEqual(GUID, UniqueId);
    assert.deepEqual({ ...(Language as JsonObject), TermGuid: "" }, { Label: "1", TermGuid: "", WssId: 1 });
    assert.deepEqual(
      (Languages as JsonObject[]).map((term) => term["Label"]),
      ["Dutch", "English"],
    );
    for (const [name, value] of Object.entries({
      Id: 1,
      ID: 1,
      Title: "One",
      Due_x0020_date: "2026-05-05T10:00:00Z",
      Body: "<p>Call <b>them</b></p>",
      Kinds: ["A", "B"],
      AreaId: 1,
      AreasId: [2, 1],
      Urgent: true,
      Hours: 1234.5,
      Cost: 99,
      Link: { Description: "A", Url: "https://tidewheel.example/a" },
      OwnerId: 12,
      OwnerStringId: "12",
      TeamId: [12, 13],
      Sum: "string;#abc",
      OData__Odd: "odd",
      OData__UIVersionString: "1.0",
      owshiddenversion: 1,
      AuthorId: 14,
      Attachments: false,
      FileSystemObjectType: 0,
    })) {
      assert.deepEqual(rest[name], value, name);
    }
  });

  test("people, lookups and terms with their text, when expanded", async () => {
    const select = "Id,Author/Title,Author/EMail,Area/Title,Areas/Title,Team/Title,TaxCatchAll/Term,TaxCatchAll/ID";
    const [one, two] = await rowsOf(await api(`${items}?$select=${select}&$expand=Author,Area,Areas,Team,TaxCatchAll`));
    assert.deepEqual(one, {
      Id: 1,
      ID: 1,
      Author: { Title: "Joris van den Berg", EMail: "joris.van.den.berg@tidewheel.example" },
      Area: { Title: "North" },
      Areas: [{ Title: "South" }, { Title: "North" }],
      Team: [{ Title: "Yusuf Brandt" }, { Title: "anneke" }],
      TaxCatchAll: [
        { Term: "Dutch", ID: 1, Id: 1 },
        { Term: "English", ID: 2, Id: 2 },
      ],
    });
    assert.equal(two && "Area" in two, false, "an empty lookup is absent");
    assert.deepEqual(two?.["Areas"], []);
  });

  test("as text", async () => {
    const item = await jsonOf(await api(`${items}(1)?$select=Id,FieldValuesAsText&$expand=FieldValuesAsText`));
    const text = item["FieldValuesAsText"] as JsonObject;
    assert.equal(text["Language"], "Dutch");
    assert.equal(text["Due_x005f_x0020_x005f_date"], "5/5/2026 10:00 AM");
    assert.equal(text["OData__x005f_UIVersionString"], "1.0");
    assert.equal(text["Urgent"], "Yes");
    assert.equal(text["Cost"], "99,00 €");
  });

  test("verbose lists are wrapped", async () => {
    const response = await api(`${items}(1)?$select=Kinds`, { Accept: "application/json;odata=verbose" });
    const { d } = (await jsonOf(response)) as { d: { Kinds: unknown } };
    assert.deepEqual(d.Kinds, { results: ["A", "B"] });
  });

  const wrong: [string, RegExp][] = [
    ["$select=Area", /^The query to field 'Area' is not valid\. The \$select query string must specify/],
    ["$select=Area/Title", /must contains Area\.$/],
    ["$select=Id&$expand=Area", /^The query to field 'Area' is not valid/],
    ["$select=Nothing", /^The field or property 'Nothing' does not exist\.$/],
    ["$filter=Team/Title eq 'x'", /cannot be used in the query filter expression/],
  ];
  for (const [query, message] of wrong) {
    test(`refused: ${query}`, async () => {
      const error = await errorOf(await api(`${items}?${query}`));
      assert.equal(error.status, 400);
      assert.match(error.message, message);
    });
  }

  test("more than twelve lookups in one query", async () => {
    await does("add-list", {
      path: "/sites/demo/Lists/Wide",
      columns: Array.from({ length: 13 }, (_, at) => ({ title: `L${at}`, type: "Lookup", lookupList: "Areas" })),
    });
    const names = Array.from({ length: 13 }, (_, at) => `L${at}`);
    const query = (some: string[]) =>
      `$select=${some.map((name) => `${name}/Title`).join(",")}&$expand=${some.join(",")}`;
    const wide = "/sites/demo/_api/web/lists/getbytitle('Wide')/items";
    assert.equal((await api(`${wide}?${query(names.slice(1))}`)).status, 200);
    const error = await errorOf(await api(`${wide}?${query(names)}`));
    assert.equal(error.status, 500);
    assert.match(error.code, /SPQueryThrottledException/);
  });

  test("a lookup of several rows fails when an expanded field is empty in one of them", async () => {
    await does("add-list", { path: "/sites/demo/Lists/Blank", columns: [{ title: "Code", type: "Text" }] });
    await does("add-item", { list: "/sites/demo/Lists/Blank", values: { Title: "x" } });
    await does("add-list", {
      path: "/sites/demo/Lists/Uses",
      columns: [
        { title: "Many", type: "LookupMulti", lookupList: "Blank" },
        { title: "One", type: "Lookup", lookupList: "Blank" },
      ],
    });
    await does("add-item", { list: "/sites/demo/Lists/Uses", values: { Many: ["x"], One: "x" } });
    const uses = "/sites/demo/_api/web/lists/getbytitle('Uses')/items";
    assert.equal((await api(`${uses}?$select=Many/Title,One/Code&$expand=Many,One`)).status, 200);
    const error = await errorOf(await api(`${uses}?$select=Many/Code&$expand=Many`));
    assert.equal(error.status, 500);
    assert.match(error.message, /^Cannot get value for projected field Many_x005f_Code/);
  });

  test("filters by lookup, person, choice and date", async () => {
    for (const filter of [
      "AreaId eq 1",
      "Area/Title eq 'north'",
      "Owner/EMail eq 'yusuf.brandt@tidewheel.example'",
      "Status eq 'Open'",
      "Due_x0020_date gt datetime'2026-05-05T09:59:00Z'",
      "Urgent eq true",
    ]) {
      const rows = await rowsOf(await api(`${items}?$select=Title&$filter=${encodeURIComponent(filter)}`));
      assert.deepEqual(rows, [{ Title: "One" }], filter);
    }
  });

  test("refused when they do not fit, and nothing changes", async () => {
    const of = (values: JsonObject) => refused("add-item", { list: tasks, values });
    assert.match(await of({ Nope: 1 }), /^Column 'Nope': the list has Title, Due date,/);
    assert.match(await of({ Hours: "many" }), /'Hours' of type Number: give a number; got "many"/);
    assert.match(await of({ Area: "West" }), /the id or Title of a row in the list it looks up/);
    assert.match(await of({ "Due date": "soon" }), /ISO 8601/);
    assert.match(await refused("update-item", { list: tasks, id: 77, values: {} }), /^Find row 77/);
    assert.match(await refused("add-list", { path: "/sites/demo/Tasks" }), /looks like '\/sites\/demo\/Lists\/Tasks'/);
    assert.match(await refused("add", { path: `${tasks}/a.txt`, text: "x" }), /a list holds rows/);
    assert.equal((await jsonOf(await api(`${list}?$select=ItemCount`)))["ItemCount"], 2);
  });
});

describe("rows over time", () => {
  const stories = "/sites/demo/Lists/Stories";
  const rows = "/sites/demo/_api/web/lists/getbytitle('Stories')/items";

  test("an edit makes a version; a system update only moves the ETag", async () => {
    await does("add-list", { path: stories, columns: [{ title: "Size", type: "Number" }] });
    const added = await does("add-item", {
      list: stories,
      at: "2026-01-01T00:00:00Z",
      values: { Title: "A", Size: 1 },
    });
    const edited = await does("update-item", {
      list: stories,
      id: 1,
      at: "2026-01-02T00:00:00Z",
      by: "Deniz Aydin",
      values: { Size: 2 },
    });
    assert.deepEqual([edited["uniqueId"], edited["etag"], edited["version"]], [added["uniqueId"], '"2"', "2.0"]);
    const silent = await does("update-item", { list: stories, id: 1, via: "system-update", values: { Size: 3 } });
    assert.deepEqual([silent["etag"], silent["version"], silent["modifiedAt"]], ['"3"', "2.0", "2026-01-02T00:00:00Z"]);
    const versions = await rowsOf(
      await api(`${rows}(1)/versions?$select=VersionLabel,IsCurrentVersion,Created,Size,Editor`),
    );
    assert.deepEqual(
      versions.map((each) => [each["VersionLabel"], each["IsCurrentVersion"], each["Created"], each["Size"]]),
      [
        ["2.0", true, "2026-01-02T00:00:00Z", 3],
        ["1.0", false, "2026-01-01T00:00:00Z", 1],
      ],
    );
    const editor = versions[0]?.["Editor"] as JsonObject | undefined;
    assert.equal(editor?.["LookupValue"], "Deniz Aydin");
    const back = await does("restore-version", { path: `${stories}/1_.000`, version: "1.0" });
    assert.equal(back["version"], "3.0");
    assert.equal((await jsonOf(await api(`${rows}(1)?$select=Size`)))["Size"], 1);
  });

  test("deleted and restored, a row has its identity and its attachments again", async () => {
    await does("add-item", { list: stories, values: { Title: "B" } });
    await does("add-attachment", { list: stories, id: 2, name: "b.txt", text: "bytes" });
    const before = await jsonOf(await api(`${rows}(2)?$select=UniqueId,Modified,owshiddenversion`));
    await does("delete-item", { list: stories, id: 2 });
    assert.equal((await api(`${rows}(2)`)).status, 404);
    assert.equal((await api(attachment(stories, 2, "b.txt"))).status, 404);
    await does("restore-item", { list: stories, id: 2 });
    const after = await jsonOf(await api(`${rows}(2)?$select=UniqueId,Modified,owshiddenversion`));
    assert.deepEqual(after, { ...before, owshiddenversion: Number(before["owshiddenversion"]) + 1 });
    assert.equal(await (await api(attachment(stories, 2, "b.txt"))).text(), "bytes");
    await does("delete-item", { list: stories, id: 2 });
    await does("restore", { path: `${stories}/2_.000` });
    assertConsistent(sandbox.tenant);
  });

  test("folders are rows of another kind, and rows may lie in them", async () => {
    await does("add-list-folder", { list: stories, folder: "2026" });
    await does("add-item", { list: stories, folder: "2026", values: { Title: "C" } });
    const all = await rowsOf(
      await api(`${rows}?$select=Id,FileSystemObjectType,FileRef,ContentTypeId&$filter=Id gt 2`),
    );
    assert.deepEqual(
      all.map((row) => [row["FileSystemObjectType"], row["FileRef"]]),
      [
        [1, `${stories}/2026`],
        [0, `${stories}/2026/4_.000`],
      ],
    );
    assert.match(String(all[0]?.["ContentTypeId"]), /^0x0120/);
  });

  test("columns come, are renamed and go", async () => {
    await does("add-column", { list: stories, title: "Note to self", type: "Text" });
    await does("update-item", { list: stories, id: 1, values: { "Note to self": "x" } });
    await does("rename-column", { list: stories, column: "Note to self", title: "Memo" });
    const field = await jsonOf(
      await api("/sites/demo/_api/web/lists/getbytitle('Stories')/fields/getbytitle('Memo')?$select=InternalName"),
    );
    assert.equal(field["InternalName"], "Note_x0020_to_x0020_self");
    assert.equal((await jsonOf(await api(`${rows}(1)`)))["Note_x0020_to_x0020_self"], "x");
    await does("remove-column", { list: stories, column: "Memo" });
    assert.equal("Note_x0020_to_x0020_self" in (await jsonOf(await api(`${rows}(1)`))), false);
  });
});

function attachment(listPath: string, id: number, name: string): string {
  const path = `${listPath}/Attachments/${id}/${name}`.replaceAll("'", "''");
  return `/sites/demo/_api/web/GetFileByServerRelativePath(decodedurl=@p)/$value?@p='${encodeURIComponent(path)}'`;
}

describe("attachments", () => {
  const name = "I'm special & 100% #1.txt";

  test("are listed, expanded and read; adding and removing one edits the row", async () => {
    const added = await does("add-item", { list: tasks, at: "2026-01-01T00:00:00Z", values: { Title: "With file" } });
    const id = Number(added["listItemId"]);
    await does("add-attachment", {
      list: tasks,
      id,
      name,
      base64: Buffer.from("hello").toString("base64"),
      at: "2026-02-02T00:00:00Z",
    });
    const path = `${tasks}/Attachments/${id}/${name}`;
    const expected = {
      FileName: name,
      FileNameAsPath: { DecodedUrl: name },
      ServerRelativePath: { DecodedUrl: path },
      ServerRelativeUrl: path,
    };
    assert.deepEqual(await rowsOf(await api(`${items}(${id})/AttachmentFiles`)), [expected]);
    const row = await jsonOf(
      await api(
        `${items}(${id})?$select=Attachments,Modified,owshiddenversion,AttachmentFiles&$expand=AttachmentFiles`,
      ),
    );
    assert.deepEqual(row, {
      AttachmentFiles: [expected],
      Attachments: true,
      Modified: "2026-02-02T00:00:00Z",
      owshiddenversion: 2,
    });
    assert.equal(await (await api(attachment(tasks, id, name))).text(), "hello");
    const literal = encodeURIComponent(name.replaceAll("'", "''"));
    assert.equal(await (await api(`${items}(${id})/AttachmentFiles('${literal}')/$value`)).text(), "hello");
    assert.match(await refused("add-attachment", { list: tasks, id, name, text: "x" }), /an attachment of this name/);
    const removed = await does("remove-attachment", { list: tasks, id, name });
    assert.equal(removed["version"], "3.0");
    assert.equal((await api(attachment(tasks, id, name))).status, 404);
  });

  test("a library has none: 404", async () => {
    await does("add", { path: "/sites/demo/Shared Documents/a.txt", text: "x" });
    const response = await api("/sites/demo/_api/web/lists/getbytitle('Documents')/items(1)/AttachmentFiles");
    assert.equal(response.status, 404);
  });
});

test("the users of the site", async () => {
  const users = await rowsOf(await api("/sites/demo/_api/web/siteusers?$select=Id,Title,Email,LoginName"));
  assert.deepEqual(users[0], {
    Id: 11,
    Title: "Mila Petrovic",
    Email: "mila.petrovic@tidewheel.example",
    LoginName: "i:0#.f|membership|mila.petrovic@tidewheel.example",
  });
  assert.equal((await jsonOf(await api("/sites/demo/_api/web/getuserbyid(12)")))["Title"], "Yusuf Brandt");
  const error = await errorOf(await api("/sites/demo/_api/web/siteusers/getbyid(99)"));
  assert.deepEqual([error.status, error.message], [500, "User cannot be found."]);
});
