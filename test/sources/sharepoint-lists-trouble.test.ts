// Trouble with a list makes the listing partial, and loses no row.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { CancelledError } from "../../src/contracts/errors.ts";
import { openSharePointList } from "../../src/sources/sharepoint/lists/open-sharepoint-list.ts";
import { exportRows, listConfig, listRows, TASKS, useLists } from "./list-world.ts";
import { paths } from "./sandbox-world.ts";
import { listAll, readAll, sendJson } from "./scripted-tenant.ts";
import { useScriptedTenant } from "./scripted-world.ts";

describe("trouble with a list of SharePoint", () => {
  const { world, addTasks, addTask, openTasks } = useLists();
  const usualFolder = process.env["TMPDIR"];
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-test-"));
    process.env["TMPDIR"] = folder;
  });
  after(async () => {
    if (usualFolder === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = usualFolder;
    await rm(folder, { recursive: true });
  });

  function addMany(count: number): void {
    addTasks();
    for (let i = 1; i <= count; i += 1) addTask({ Title: `Task ${i}` });
  }

  it("a page that is lost makes the look partial, and rows to be kept come from the export before", async () => {
    addMany(6);
    const source = openTasks({ pageSize: 2 });
    await listAll(source);
    const earlier = join(folder, "earlier.csv");
    assert.ok(source.table);
    await writeFile(earlier, await readAll(source.table.export(undefined, new Set())));
    world.act("update-item", { list: TASKS, id: 1, values: { Title: "Edited" } });
    world.strike({ url: "p_ID%3d4", times: 9 }, { status: 500, body: "{}" });
    const listed = await listAll(source);
    assert.equal(listed.completeness, "partial");
    assert.deepEqual(paths(listed.sightings), ["1.md", "2.md", "3.md", "4.md"]);
    assert.match(listed.unreadable.map((each) => each.reason).join(), /incomplete after 4 rows/);
    assert.equal(listed.unreadable[0]?.path, "");
    const rows = await exportRows(source, { before: earlier, keep: [1, 5, 6] });
    assert.deepEqual(
      rows.map((row) => row["Title"]),
      ["Edited", "Task 2", "Task 3", "Task 4", "Task 5", "Task 6"],
    );
    await rm(earlier);
  });

  it("fewer rows than the list says it has make the look partial", async () => {
    addMany(4);
    world.strike({ url: "/items\\?" }, { dropRows: 1 });
    const short = await listAll(openTasks());
    assert.equal(short.completeness, "partial");
    assert.match(short.unreadable[0]?.reason ?? "", /says it has 4 items, but only 3 were listed/);
    world.strike({ url: "/items\\?" }, { emptyListing: true });
    assert.equal((await listAll(openTasks())).completeness, "partial");
  });

  it("an item deleted meanwhile is not missing, and a list deleted meanwhile is", async () => {
    addMany(4);
    world.strike({ url: "skiptoken" }, { run: [{ operation: "delete-item", list: TASKS, id: 4 }] });
    const deleted = await listAll(openTasks({ pageSize: 2 }));
    assert.deepEqual([deleted.completeness, paths(deleted.sightings)], ["complete", ["1.md", "2.md", "3.md"]]);
    world.strike({ url: "skiptoken" }, { run: [{ operation: "delete-list", list: TASKS }] });
    const gone = await listAll(openTasks({ pageSize: 2 }));
    assert.deepEqual([gone.completeness, gone.sightings.length], ["partial", 2]);
  });

  it("a row that comes twice counts once", async () => {
    addMany(5);
    world.strike({ url: "skiptoken" }, { repeatRow: true });
    const { sightings, rows, completeness } = await listRows(openTasks({ pageSize: 2 }));
    assert.equal(completeness, "complete");
    assert.equal(sightings.length, 5);
    assert.deepEqual(
      rows.map((row) => row["ID"]),
      ["1", "2", "3", "4", "5"],
    );
  });

  it("an item that changes between two requests is read again, and one that is deleted is no item", async () => {
    addTasks(Array.from({ length: 14 }, (_, i) => ({ title: `Person ${i}`, type: "User" })));
    for (const Title of ["One", "Two", "Three"]) addTask({ Title, "Person 13": "ada@contoso.com" });
    world.strike({ url: "Id gt" }, { dropRows: 1 });
    const dropped = await listRows(openTasks());
    assert.deepEqual([dropped.completeness, dropped.unreadable], ["complete", []]);
    assert.deepEqual(paths(dropped.sightings), ["1.md", "2.md", "3.md"]);
    for (const row of dropped.rows) assert.match(row["Person 13"] ?? "", /<ada@contoso.com>$/);
    world.strike({ url: "Id gt" }, { run: [{ operation: "delete-item", list: TASKS, id: 2 }] });
    const deleted = await listRows(openTasks());
    assert.deepEqual([deleted.completeness, deleted.unreadable], ["complete", []]);
    assert.deepEqual(paths(deleted.sightings), ["1.md", "3.md"]);
    assert.equal(deleted.rows.length, 2);
  });

  it("answers that contradict each other make the look partial", async () => {
    addTasks(Array.from({ length: 14 }, (_, i) => ({ title: `Person ${i}`, type: "User" })));
    for (let i = 0; i < 60; i += 1) addTask({ Title: `Task ${i}` });
    world.strike({ url: "Id gt 25" }, { emptyListing: true });
    const listed = await listAll(openTasks({ pageSize: 25 }));
    assert.deepEqual([listed.completeness, listed.sightings.length], ["partial", 25]);
    assert.match(listed.unreadable[0]?.reason ?? "", /only a part of the columns of 25 items/);
  });

  it("columns that SharePoint refuses are asked for with more care, also in the middle", async () => {
    world.act("add-list", { path: "/sites/demo/Lists/Cities", title: "Cities" });
    for (const Title of ["Oslo", "Bergen"]) {
      world.act("add-item", { list: "/sites/demo/Lists/Cities", values: { Title } });
    }
    addTasks([
      { title: "Team", type: "User", multiple: true },
      { title: "First_city", type: "Lookup", lookupList: "Cities" },
      { title: "Cities", type: "Lookup", multiple: true, lookupList: "Cities" },
    ]);
    for (let i = 0; i < 5; i += 1) {
      const Team = ["ada@contoso.com", "bo@contoso.com"];
      addTask({ Title: `Task ${i}`, Team, First_city: "Oslo", Cities: ["Oslo", "Bergen"] });
    }
    const willing = await listRows(openTasks({ pageSize: 2 }));
    const said = "Cannot get value for projected field Team_x005f_EMail.";
    const body = JSON.stringify({
      "odata.error": { code: "-2146232832, Microsoft.SharePoint.SPException", message: { lang: "en-US", value: said } },
    });
    const refused = { status: 500, headers: { "content-type": "application/json" }, body };
    for (const url of ["Team/EMail.*skiptoken|skiptoken.*Team/EMail", "Team/EMail"]) {
      world.strike({ url, times: 999 }, refused);
      const listed = await listRows(openTasks({ pageSize: 2 }));
      assert.deepEqual(listed.unreadable, []);
      assert.deepEqual(listed, willing);
    }
    world.strike({ url: "owshiddenversion", times: 999 }, { ...refused, status: 400 });
    const labelled = await listRows(openTasks({ pageSize: 2 }));
    assert.deepEqual(labelled.rows, willing.rows);
    assert.deepEqual(
      labelled.sightings.map((each) => each.fingerprint.etag),
      willing.sightings.map(() => '"1.0"'),
    );
  });

  it("a list beyond the threshold is read in windows, with the filter or without", async () => {
    addTasks([{ title: "Status" }]);
    for (let i = 1; i <= 60; i += 1) addTask({ Title: `Task ${i}`, Status: i % 3 ? "Open" : "Done" });
    world.sandbox.state.settings.listViewThreshold = 50;
    const { sightings, completeness, rows } = await listRows(openTasks({ filter: "Status eq 'Done'", pageSize: 7 }));
    assert.equal(completeness, "complete");
    assert.equal(sightings.length, 20);
    assert.ok(rows.every((row) => row["Status"] === "Done"));
    const asked = world.sandbox.state.log.entries().map((entry) => decodeURIComponent(entry.url));
    assert.ok(asked.some((url) => url.includes("Id gt 0 and Id le 60 and (Status eq 'Done')")));
    const all = await listAll(openTasks({ pageSize: 7 }));
    assert.deepEqual([all.completeness, all.sightings.length], ["complete", 60]);
  });

  it("a filter over 6,000 rows finds what it should", async () => {
    addTasks([{ title: "Status" }]);
    for (let i = 1; i <= 6000; i += 1) addTask({ Title: `Task ${i}`, Status: i % 3 ? "Open" : "Done" });
    const source = openTasks({ filter: "Status eq 'Done'" });
    const { sightings, completeness, rows } = await listRows(source);
    assert.deepEqual([completeness, sightings.length, rows.length], ["complete", 2000, 2000]);
    assert.equal(rows.at(-1)?.["Title"], "Task 6000");
  });

  it("nothing stays behind, also when it is stopped in the middle", async () => {
    addMany(20);
    // Listings of other tests that were never exported are let go of whenever the collector comes by.
    const others = new Set(await openSpools());
    const ours = async (): Promise<string[]> => (await openSpools()).filter((file) => !others.has(file));
    const stop = new AbortController();
    const listing = openTasks({ pageSize: 2 }).list(stop.signal);
    await listing.next();
    assert.deepEqual(await readdir(folder), [], "the rows wait in a file without a name");
    stop.abort(new CancelledError("enough"));
    await assert.rejects(async () => {
      while (!(await listing.next()).done);
    }, /enough/);
    assert.deepEqual(await ours(), []);
    const source = openTasks();
    assert.ok(source.table);
    await assert.rejects(readAll(source.table.export(undefined, new Set())), /export 'Tasks': it was not listed/);
    await listRows(source);
    await assert.rejects(readAll(source.table.export(undefined, new Set())), /or is exported already/);
    assert.deepEqual(await readdir(folder), []);
    assert.deepEqual(await ours(), []);
  });

  /** What this process still holds of its nameless files, where the system tells. */
  async function openSpools(): Promise<string[]> {
    const handles = await readdir("/proc/self/fd").catch(() => []);
    const files = await Promise.all(handles.map((handle) => readlink(`/proc/self/fd/${handle}`).catch(() => "")));
    return files.filter((file) => file.startsWith(folder));
  }
});

describe("a list of a server that makes little sense", () => {
  const world = useScriptedTenant();
  const LIST = { Id: "13326e70-58ba-4e0e-9b30-08189f21d555", Title: "Tasks", BaseType: 0, ItemCount: 0 };
  const ROOT = { RootFolder: { ServerRelativeUrl: "/sites/s/Lists/Tasks" } };
  const FIELDS = [
    { InternalName: "Attachments", Title: "Attachments", TypeAsString: "Attachments" },
    { InternalName: "Tag", Title: "Tag", TypeAsString: "TaxonomyFieldType" },
  ];

  const itemOf = (id: number, more: Record<string, unknown> = {}): Record<string, unknown> => ({
    Id: id,
    UniqueId: `00000000-0000-4000-8000-${String(id).padStart(12, "0")}`,
    FileSystemObjectType: 0,
    Modified: "2024-01-01T00:00:00Z",
    AttachmentFiles: [],
    ...more,
  });

  async function open(items: readonly unknown[], texts: Record<string, string> = {}) {
    await world.open((_request, response, url) => {
      if (/getbytitle/i.test(url.pathname)) return sendJson(response, 200, { ...LIST, ...ROOT });
      if (url.pathname.endsWith("/fields")) return sendJson(response, 200, { value: FIELDS });
      if (url.pathname.endsWith("/FieldValuesAsText")) return sendJson(response, 200, texts);
      if (url.pathname.endsWith("/items")) return sendJson(response, 200, { value: items });
      return false;
    });
    return openSharePointList(listConfig(world.tenant.siteUrl), world.connection);
  }

  it("a row without an id makes the look partial", async () => {
    for (const odd of [{ Title: "nobody" }, "text", itemOf(2, { UniqueId: "" }), itemOf(0), null]) {
      const listed = await listAll(await open([itemOf(1), odd]));
      assert.deepEqual([listed.completeness, paths(listed.sightings)], ["partial", ["1.md"]]);
      assert.equal(listed.unreadable.length, 1);
    }
  });

  it("an item that does not tell its time or its attachments is kept", async () => {
    const odd = [
      itemOf(2, { Modified: "soon" }),
      itemOf(3, { AttachmentFiles: { __deferred: { uri: "x" } } }),
      itemOf(4, { AttachmentFiles: [{ FileName: "../../x", ServerRelativeUrl: "/x" }, { FileName: "a.txt" }] }),
    ];
    const listed = await listAll(await open(odd));
    assert.equal(listed.completeness, "complete");
    assert.deepEqual(paths(listed.sightings), ["3.md", "4.md"]);
    assert.deepEqual(
      listed.unreadable.map((each) => each.path),
      ["2_.000", "Attachments/2", "Attachments/3", "Attachments/4", "Attachments/4"],
    );
  });

  it("the text of a term that the row does not tell is asked for, once", async () => {
    const tag = { Label: "7", TermGuid: "g", WssId: 7 };
    const source = await open(
      [itemOf(1, { Tag: tag, TaxCatchAll: [{ ID: 6, Term: "Six" }] }), itemOf(2, { Tag: tag })],
      {
        Tag: "Seven",
      },
    );
    const { rows } = await listRows(source);
    assert.deepEqual(
      rows.map((row) => row["Tag"]),
      ["Seven", "Seven"],
    );
    assert.equal(world.tenant.requests.filter((url) => url.includes("FieldValuesAsText")).length, 1);
  });
});
