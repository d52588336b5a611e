// Every change in a list is seen.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Sighting, Source } from "../../src/contracts/source.ts";
import { listRows, rowsOnly, TASKS, useLists } from "./list-world.ts";
import { paths } from "./sandbox-world.ts";
import { fetchText, listAll } from "./scripted-tenant.ts";

const CITIES = "/sites/demo/Lists/Cities";

describe("changes in a list of SharePoint are seen", () => {
  const { world, addTasks, addTask, openTasks } = useLists();

  async function theRow(source: Source): Promise<Sighting> {
    const [row, ...more] = rowsOnly((await listAll(source)).sightings);
    assert.ok(row && more.length === 0);
    return row;
  }

  /** What became of the fingerprint of the one row. */
  async function after(change: () => void): Promise<{ readonly touched: boolean; readonly says: "the same" | "more" }> {
    const source = openTasks();
    const before = await theRow(source);
    change();
    const now = await theRow(source);
    assert.equal(now.itemId, before.itemId);
    const same = now.fingerprint.contentVersion === before.fingerprint.contentVersion;
    return { touched: now.fingerprint.etag !== before.fingerprint.etag, says: same ? "the same" : "more" };
  }

  it("an edit of a value", async () => {
    addTasks();
    addTask({ Title: "One" });
    const edited = await after(() => world.act("update-item", { list: TASKS, id: 1, values: { Title: "Two" } }));
    assert.deepEqual(edited, { touched: true, says: "more" });
    const silent = { list: TASKS, id: 1, values: { Title: "Three" }, via: "system-update" };
    assert.deepEqual(await after(() => world.act("update-item", silent)), { touched: true, says: "more" });
  });

  it("another name for what a row looks up, though nobody touched the row", async () => {
    world.act("add-list", { path: CITIES, title: "Cities" });
    world.act("add-item", { list: CITIES, values: { Title: "Kristiania" } });
    addTasks([{ title: "City", type: "Lookup", lookupList: "Cities" }]);
    addTask({ Title: "One", City: "Kristiania" });
    const renamed = await after(() => world.act("update-item", { list: CITIES, id: 1, values: { Title: "Oslo" } }));
    assert.deepEqual(renamed, { touched: false, says: "more" });
    assert.equal((await listRows(openTasks())).rows[0]?.["City"], "Oslo");
    const gone = await after(() => world.act("delete-item", { list: CITIES, id: 1 }));
    assert.equal(gone.says, "more");
    assert.equal((await listRows(openTasks())).rows[0]?.["City"], "");
  });

  it("a column that is added, filled in, renamed and removed", async () => {
    addTasks();
    addTask({ Title: "One" });
    const added = await after(() => world.act("add-column", { list: TASKS, title: "Colour" }));
    assert.deepEqual(added, { touched: false, says: "the same" }, "an empty column says nothing");
    const filled = await after(() => world.act("update-item", { list: TASKS, id: 1, values: { Colour: "red" } }));
    assert.deepEqual(filled, { touched: true, says: "more" });
    const renamed = await after(() => world.act("rename-column", { list: TASKS, column: "Colour", title: "Paint" }));
    assert.deepEqual(renamed, { touched: false, says: "more" });
    assert.equal((await listRows(openTasks())).rows[0]?.["Paint"], "red");
    const removed = await after(() => world.act("remove-column", { list: TASKS, column: "Paint" }));
    assert.equal(removed.says, "more");
    assert.ok(!("Paint" in ((await listRows(openTasks())).rows[0] ?? {})));
  });

  it("a row that is deleted and restored keeps its id", async () => {
    addTasks();
    addTask({ Title: "One" });
    addTask({ Title: "Two" });
    const source = openTasks();
    const before = (await listAll(source)).sightings;
    world.act("delete-item", { list: TASKS, id: 1 });
    const without = await listAll(source);
    assert.deepEqual([paths(without.sightings), without.completeness], [["2.md"], "complete"]);
    world.act("restore-item", { list: TASKS, id: 1 });
    const again = (await listAll(source)).sightings;
    assert.deepEqual(
      again.map((each) => [each.itemId, each.path]),
      before.map((each) => [each.itemId, each.path]),
    );
  });

  it("attachments that are added, replaced and removed", async () => {
    addTasks();
    addTask({ Title: "One" });
    addTask({ Title: "Two" });
    for (const name of ["plan.TXT", "note.md"]) world.act("add-attachment", { list: TASKS, id: 2, name, text: name });
    const source = openTasks();
    const first = await listAll(source);
    assert.deepEqual(paths(first.sightings), ["1.md", "2.md", "attachments/2/note.md", "attachments/2/plan.TXT"]);
    const row = first.sightings.find((each) => each.path === "2.md");
    const plan = first.sightings.find((each) => each.name === "plan.TXT");
    assert.ok(row && plan);
    assert.equal(plan.itemId, `${row.itemId}/plan.TXT`);
    assert.deepEqual([plan.form, plan.documentType, plan.listItemId], ["document", "txt", 2]);
    assert.equal(plan.serverPath, `${TASKS}/Attachments/2/plan.TXT`);
    assert.equal(plan.url, `${world.sandbox.url}${TASKS}/Attachments/2/plan.TXT`);
    assert.deepEqual(plan.fingerprint, { ...row.fingerprint, contentVersion: "" });
    assert.equal(await fetchText(source, plan), "plan.TXT");

    world.act("remove-attachment", { list: TASKS, id: 2, name: "plan.TXT" });
    assert.equal(await fetchText(source, plan), "gone");
    world.act("add-attachment", { list: TASKS, id: 2, name: "plan.TXT", text: "another" });
    const second = (await listAll(source)).sightings;
    const replaced = second.find((each) => each.name === "plan.TXT");
    assert.ok(replaced);
    assert.equal(replaced.itemId, plan.itemId);
    assert.notEqual(replaced.fingerprint.etag, plan.fingerprint.etag);
    assert.equal(await fetchText(source, replaced), "another");
    const same = second.find((each) => each.path === "2.md");
    assert.equal(same?.fingerprint.contentVersion, row.fingerprint.contentVersion, "the row says what it said");

    world.act("remove-attachment", { list: TASKS, id: 2, name: "note.md" });
    const third = await listAll(source);
    assert.deepEqual(paths(third.sightings), ["1.md", "2.md", "attachments/2/plan.TXT"]);
    assert.equal(third.completeness, "complete");
  });
});
