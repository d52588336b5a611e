// A list is crawled and found, and costs nothing when unchanged.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { DOMAIN, World } from "../engine/world.ts";
import { parseDomain } from "../kinds.ts";

const TASKS = "/sites/demo/Lists/Tasks";
const CITIES = "/sites/demo/Lists/Cities";

/** Enough people that a row takes two requests. */
const PEOPLE = Array.from({ length: 12 }, (_, i) => ({ title: `Person ${i}`, type: "User" }));

describe("a list is crawled", () => {
  let world: World;
  before(async () => {
    world = await World.open();
    await world.change("add-list", { path: CITIES, title: "Cities" });
    await world.change("add-item", { list: CITIES, values: { Title: "Kristiania" } });
    const columns = [{ title: "City", type: "Lookup", lookupList: "Cities" }, ...PEOPLE];
    await world.change("add-list", { path: TASKS, title: "Tasks", columns });
    for (const Title of ["Paint the lighthouse", "Repair the ferry", "Count the herons"]) {
      await world.change("add-item", { list: TASKS, values: { Title, City: "Kristiania" } });
    }
    await world.change("add-attachment", { list: TASKS, id: 2, name: "colours.txt", text: "Vermilion and ochre." });
    const tasks = { source_id: "tasks", site_url: world.sandbox.siteUrl, list_name: "Tasks", filter: "" };
    const domain = await world.app.domains.get(DOMAIN);
    await world.app.domains.update(parseDomain({ ...world.domainJson(), list_sources: [tasks] }, DOMAIN), domain);
  });
  after(() => world.close());

  async function crawl(): Promise<string> {
    const { log, result, job } = await world.crawl();
    assert.equal(job.result?.ok, true, log);
    assert.equal(result.sources.length, 2);
    return log;
  }

  async function files(): Promise<string[]> {
    const root = join(world.storage, "crawler", DOMAIN, "02_lists", "tasks");
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
      .filter((path) => /^0\d_/.test(path))
      .sort();
  }

  it("rows and attachments are found", async () => {
    await crawl();
    assert.deepEqual(await files(), [
      ...["01_originals/Tasks.csv", "02_embedded/1.md", "02_embedded/2.md", "02_embedded/3.md"],
      "02_embedded/attachments/2/colours.txt",
    ]);
    assert.equal((await world.found("lighthouse"))[0], "1.md");
    assert.equal((await world.found("vermilion"))[0], "colours.txt");
    const [hit] = await world.search("herons");
    assert.equal(hit?.url, `${world.sandbox.url}${TASKS}/DispForm.aspx?ID=3`);
  });

  it("an unchanged list costs nothing, and a renamed lookup is noticed", async () => {
    assert.match(
      await crawl(),
      /Nothing changed since the last crawl, neither at the source nor in the mirror: 4 unchanged/,
    );
    await world.change("update-item", { list: CITIES, id: 1, values: { Title: "Oslo" } });
    assert.match(await crawl(), /Listed 4 items: 3 changed, 1 unchanged/);
    const text = await readFile(join(world.storage, "crawler", DOMAIN, "02_lists/tasks/02_embedded/2.md"), "utf8");
    assert.match(text, /^### "Tasks" - Repair the ferry\n\n- Title: Repair the ferry\n- City: Oslo\n/);
    assert.equal(
      (await world.search("Kristiania")).filter(({ text: passage }) => passage.includes("Kristiania")).length,
      0,
    );
  });

  it("an item that makes no sense keeps its document and its attachments", async () => {
    const before = await files();
    const map = await readFile(join(world.storage, "crawler", DOMAIN, "02_lists/tasks/files_map.csv"), "utf8");
    const rows = [...map.matchAll(/^(\d+),([0-9a-f-]{36}),/gm)].map(([, id, UniqueId]) => {
      const Modified = id === "2" ? "soon" : "2024-01-01T00:00:00Z";
      return { Id: Number(id), UniqueId, Modified, FileSystemObjectType: 0, AttachmentFiles: [] };
    });
    assert.equal(rows.length, 3);
    const headers = { "content-type": "application/json" };
    await world.fault({ url: "/items\\?" }, { status: 200, headers, body: JSON.stringify({ value: rows }) });
    const { job, log } = await world.crawl();
    assert.match(log, /Listed 2 items/);
    assert.match(job.result?.error ?? "", /could not be read, so what is known there is kept/);
    assert.deepEqual(await files(), before);
    for (const [query, name] of Object.entries({ vermilion: "colours.txt", ferry: "2.md" })) {
      assert.equal((await world.found(query))[0], name);
    }
    assert.match(await crawl(), /Listed 4 items/);
  });

  it("what is deleted leaves disk and search", async () => {
    await world.change("delete-item", { list: TASKS, id: 2 });
    await crawl();
    assert.deepEqual(await files(), ["01_originals/Tasks.csv", "02_embedded/1.md", "02_embedded/3.md"]);
    for (const query of ["ferry", "vermilion"]) {
      assert.ok(!(await world.found(query)).some((name) => name === "2.md" || name === "colours.txt"));
    }
    const table = await readFile(
      join(world.storage, "crawler", DOMAIN, "02_lists/tasks/01_originals/Tasks.csv"),
      "utf8",
    );
    assert.doesNotMatch(table, /ferry/);
  });
});
