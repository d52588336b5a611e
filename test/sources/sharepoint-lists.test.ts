// A list is listed with its rows, columns and attachments.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exportRows, listRows, TASKS, useLists } from "./list-world.ts";
import { paths } from "./sandbox-world.ts";
import { fetchText, listAll } from "./scripted-tenant.ts";

describe("a list of SharePoint is listed", () => {
  const { world, addTasks, addTask, openTasks } = useLists();

  it("tells what SharePoint tells", async () => {
    addTasks();
    addTask({ Title: "Paint the fence" }, { at: "2024-03-29T17:58:05Z", by: "ada@contoso.com" });
    const source = openTasks();
    const { sightings, unreadable, completeness, rows } = await listRows(source);
    assert.deepEqual([sightings.length, unreadable.length, completeness], [1, 0, "complete"]);
    const [sighting] = sightings;
    assert.ok(sighting);
    const { itemId, fingerprint, ...told } = sighting;
    assert.match(itemId, /^[0-9a-f-]{36}$/);
    assert.deepEqual(told, {
      kind: "sighting",
      listItemId: 1,
      name: "1.md",
      path: "1.md",
      serverPath: `${TASKS}/1_.000`,
      url: `${world.sandbox.url}${TASKS}/DispForm.aspx?ID=1`,
      rawUrl: `${world.sandbox.url}${TASKS}/DispForm.aspx?ID=1`,
      documentType: "md",
      form: "row",
    });
    const { contentVersion, ...touch } = fingerprint;
    assert.deepEqual(touch, { size: 0, modifiedAt: "2024-03-29T17:58:05.000000Z", etag: '"1"' });
    assert.match(contentVersion, /^[0-9a-f]{32}$/);
    assert.equal(rows.length, 1);
    const { "Created By": author, "Modified By": editor, ...cells } = rows[0] ?? {};
    assert.deepEqual(cells, {
      ID: "1",
      Title: "Paint the fence",
      Created: "2024-03-29 17:58:05",
      Modified: "2024-03-29 17:58:05",
    });
    assert.match(author ?? "", /<ada@contoso.com>$/);
    assert.equal(editor, author);
  });

  it("shows every type of column as a person reads it", async () => {
    world.act("add-list", { path: "/sites/demo/Lists/Cities", title: "Cities" });
    for (const Title of ["Oslo", "Bergen"])
      world.act("add-item", { list: "/sites/demo/Lists/Cities", values: { Title } });
    addTasks([
      { title: "Text" },
      { title: "Plain note", type: "Note" },
      { title: "Rich note", type: "Note", richText: true },
      { title: "Due date", type: "DateTime" },
      { title: "Day", type: "DateTime", dateOnly: true },
      { title: "Choice", type: "Choice", choices: ["A", "B"] },
      { title: "Choices", type: "MultiChoice", choices: ["A", "B"] },
      { title: "City", type: "Lookup", lookupList: "Cities" },
      { title: "Cities", type: "Lookup", multiple: true, lookupList: "Cities" },
      { title: "Done", type: "Boolean" },
      { title: "Number", type: "Number" },
      { title: "Budget", type: "Currency", currencyLocaleId: 1031 },
      { title: "Link", type: "URL" },
      { title: "Owner", type: "User" },
      { title: "Team", type: "User", multiple: true },
      { title: "Language", type: "TaxonomyFieldType" },
      { title: "Languages", type: "TaxonomyFieldType", multiple: true },
      { title: "Sum", type: "Calculated" },
    ]);
    addTask({
      Title: "All of it",
      Text: "text",
      "Plain note": "a < b\nand <c>",
      "Rich note": "<div><p>One &amp; two</p><p>three</p></div>",
      "Due date": "2024-05-01T10:20:30Z",
      Day: "2024-04-30T22:00:00Z",
      Choice: "B",
      Choices: ["A", "B"],
      City: "Oslo",
      Cities: ["Bergen", "Oslo"],
      Done: true,
      Number: 12.5,
      Budget: 1200,
      Link: { Url: "https://example.org/x", Description: "An example" },
      Owner: "ada@contoso.com",
      Team: ["ada@contoso.com", "bo@contoso.com"],
      Language: "Dutch",
      Languages: ["Dutch", "English"],
      Sum: "result",
    });
    addTask({ Title: "None of it" });
    const { rows, completeness, unreadable } = await listRows(openTasks());
    assert.deepEqual([completeness, unreadable], ["complete", []]);
    const [all = {}, none = {}] = rows;
    const ada = all["Owner"] ?? "";
    assert.match(ada, /^.+ <ada@contoso.com>$/);
    assert.match(all["Team"] ?? "", /^.+ <ada@contoso.com>; .+ <bo@contoso.com>$/);
    const { Created, Modified, "Created By": by, "Modified By": editor, Owner, Team, ...values } = all;
    assert.deepEqual(values, {
      ID: "1",
      Title: "All of it",
      "Budget [€]": "1200",
      Choice: "B",
      Choices: "A|B",
      Cities: "Bergen|Oslo",
      City: "Oslo",
      Day: "2024-05-01 00:00:00",
      Done: "True",
      "Due date [UTC]": "2024-05-01 10:20:30",
      Language: "Dutch",
      Languages: "Dutch|English",
      Link: "https://example.org/x",
      Number: "12.5",
      "Plain note": "a < b\nand <c>",
      "Rich note": "One & two\nthree",
      Sum: "result",
      Text: "text",
    });
    assert.deepEqual(
      Object.entries(none).filter(([title, value]) => value !== "" && !/^(ID|Title|Created|Modified)/.test(title)),
      [],
    );
  });

  it("reads lists of many lookups and people in several requests", async () => {
    world.act("add-list", { path: "/sites/demo/Lists/Cities", title: "Cities" });
    for (let i = 0; i < 30; i += 1) {
      world.act("add-item", { list: "/sites/demo/Lists/Cities", values: { Title: `City ${i}` } });
    }
    const names = Array.from({ length: 25 }, (_, i) => `Lookup ${i}`);
    addTasks(names.map((title) => ({ title, type: "Lookup", lookupList: "Cities" })));
    for (let row = 0; row < 5; row += 1) {
      const cities = names.map((name, i) => [name, ((i + row) % 30) + 1]);
      addTask({ Title: `Task ${row}`, ...Object.fromEntries(cities) });
    }
    const { rows, completeness } = await listRows(openTasks({ pageSize: 2 }));
    assert.equal(completeness, "complete");
    assert.equal(rows.length, 5);
    for (const [row, cells] of rows.entries()) {
      assert.deepEqual(
        names.map((name) => cells[name]),
        names.map((_, i) => `City ${(i + row) % 30}`),
      );
    }
    for (const { url } of world.sandbox.state.log.entries()) {
      const expands = new URL(url, "http://x").searchParams.get("$expand")?.split(",") ?? [];
      assert.ok(expands.length <= 12, `${expands.length} expansions in one request`);
    }
  });

  it("lists several pages, rows in folders too, and folders not", async () => {
    addTasks();
    world.act("add-list-folder", { list: TASKS, folder: "Later" });
    for (let i = 0; i < 6; i += 1) addTask({ Title: `Task ${i}` }, i % 2 ? { folder: "Later" } : {});
    const source = openTasks({ pageSize: 2 });
    const { sightings, completeness } = await listAll(source);
    assert.equal(completeness, "complete");
    assert.deepEqual(paths(sightings), ["2.md", "3.md", "4.md", "5.md", "6.md", "7.md"]);
    const filed = sightings.find((sighting) => sighting.path === "3.md");
    assert.equal(filed?.serverPath, `${TASKS}/Later/3_.000`);
    assert.equal(filed?.rawUrl, `${world.sandbox.url}${TASKS}/DispForm.aspx?ID=3`);
    assert.deepEqual(
      (await exportRows(source)).map((row) => row["ID"]),
      ["2", "3", "4", "5", "6", "7"],
    );
  });

  it("sends the filter along", async () => {
    addTasks([{ title: "Status", type: "Choice", choices: ["Open", "Done"] }]);
    for (const Status of ["Open", "Done", "Open"]) addTask({ Title: "x", Status });
    const { sightings, completeness, rows } = await listRows(openTasks({ filter: "Status eq 'Open'" }));
    assert.equal(completeness, "complete");
    assert.deepEqual(paths(sightings), ["1.md", "3.md"]);
    assert.equal(rows.length, 2);
    await assert.rejects(listAll(openTasks({ filter: "Nonsense eq 1" })), /Nonsense.*Check the filter/);
  });

  it("finds a list whatever the case of its title, and suggests one where there is none", async () => {
    addTasks();
    addTask({ Title: "x" });
    assert.equal((await listAll(openTasks({ name: " tASKS " }))).sightings.length, 1);
    await assert.rejects(listAll(openTasks({ name: "Taks" })), /no list with the title 'Taks'; did you mean 'Tasks'\?/);
    await assert.rejects(listAll(openTasks({ name: "Nothing like it" })), /title 'Nothing like it'.*check 'list_name'/);
    world.act("rename-list", { list: TASKS, title: "Project Tasks" });
    await assert.rejects(listAll(openTasks()), /did you mean 'Project Tasks'/);
    await assert.rejects(listAll(openTasks({ name: "Documents" })), /is a document library.*'file_sources'/);
  });

  it("reads hostile titles and names exactly as they are", async () => {
    const title = "It's #1 & 100% <b>/\\..;'] 😀";
    world.act("add-list", {
      path: "/sites/demo/Lists/It's #1 & %20",
      title,
      columns: [{ title: `"A", b\n# c`, name: "A" }],
    });
    const list = "/sites/demo/Lists/It's #1 & %20";
    world.act("add-item", { list, values: { Title: '=cmd|" /C calc"!A0\n# x', A: "<script>" } });
    world.act("add-attachment", { list, id: 1, name: "It's #1 & 100% + 😀.txt", text: "attached" });
    const source = openTasks({ name: title });
    const { sightings, completeness, rows } = await listRows(source);
    assert.equal(completeness, "complete");
    assert.equal(rows[0]?.["Title"], '=cmd|" /C calc"!A0\n# x');
    assert.equal(rows[0]?.['"A", b # c'], "<script>");
    const [row, attachment] = sightings;
    assert.ok(row && attachment);
    assert.equal(decodeURIComponent(new URL(row.url).pathname), `${list}/DispForm.aspx`);
    assert.equal(new URL(row.url).searchParams.get("ID"), "1");
    assert.equal(attachment.name, "It's #1 & 100% + 😀.txt");
    assert.equal(await fetchText(source, attachment), "attached");
    assert.doesNotMatch(source.table?.path ?? "", /[/\\<>]|^\./);
  });

  it("is examined up to its filter", async () => {
    addTasks([{ title: "Status" }]);
    addTask({ Title: "x", Status: "Open" });
    const examine = async (options: { name?: string; filter?: string }): Promise<string[]> => {
      const found: string[] = [];
      for await (const { subject, outcome, detail } of openTasks(options).diagnose(new AbortController().signal)) {
        if (/^(List|Filter)/.test(subject)) found.push(`${subject}: ${outcome}. ${detail}`);
      }
      return found;
    };
    const [list, filter] = await examine({ filter: "Status eq 'Open'" });
    assert.match(list ?? "", /^List 'Tasks': ok\. 'Tasks' holds 1 item/);
    assert.match(filter ?? "", /^Filter "Status eq 'Open'": ok\. .*matches 1 rows/);
    assert.match((await examine({ filter: "Nonsense eq 1" })).join("\n"), /Filter .*: problem\. .*Nonsense/);
    const [missing, unseen] = await examine({ name: "Taks", filter: "Status eq 'Open'" });
    assert.match(missing ?? "", /^List 'Taks': problem\. .*did you mean 'Tasks'\?$/);
    assert.match(unseen ?? "", /not checked/);
  });
});
