import assert from "node:assert/strict";
import { DOMAIN } from "../engine/world.ts";
import { parseDomain } from "../kinds.ts";
import { assertGone } from "./claims.ts";
import { assertDocuments, type Documents } from "./documents.ts";
import { sourceView } from "./source-view.ts";
import type { Stage } from "./stage.ts";
import type { Story } from "./story.ts";

const LIST = "/sites/demo/Lists/Tasks";
const PLANTED: Documents = { "1.md": "zebra", "2.md": "quagga", "3.md": "okapi", "attachments/1/note.txt": "ibex" };

/** A list of three tasks, one of them with an attachment, crawled. */
async function plantList(stage: Stage): Promise<void> {
  const { world } = stage;
  const columns = [{ name: "Status" }, { name: "Details", type: "Note" }];
  await world.control("POST", "add-list", { path: LIST, title: "Tasks", columns });
  const words = ["zebra", "quagga", "okapi"];
  for (const word of words)
    await stage.change("add-item", { list: LIST, values: { Title: `Feed the ${word}`, Status: "Open" } });
  await stage.change("add-attachment", { list: LIST, id: 1, name: "note.txt", text: "The ibex eats hay." });
  const tasks = { source_id: "tasks", site_url: world.sandbox.siteUrl, list_name: "Tasks", filter: "" };
  const json = { ...world.domainJson(), file_sources: [], list_sources: [tasks] };
  await world.app.domains.update(parseDomain(json, DOMAIN), await world.app.domains.get(DOMAIN));
  await stage.crawl();
  await inStep(stage, PLANTED);
}

async function inStep(stage: Stage, documents: Documents): Promise<void> {
  await assertDocuments(stage, sourceView(stage.world, "list_sources", "tasks", LIST), documents);
}

async function rowIds(stage: Stage): Promise<Map<string, string>> {
  const rows = await sourceView(stage.world, "list_sources", "tasks", LIST).map("vectorstore_map");
  return new Map(rows.map((row) => [row["filename"] ?? "", row["openai_file_id"] ?? ""]));
}

export const ROW_STORIES: readonly Story[] = [
  {
    id: "A1",
    title: "list rows: a new row becomes a document, the others stay the same documents",
    async play(stage) {
      await plantList(stage);
      const before = await rowIds(stage);
      await stage.change("add-item", { list: LIST, values: { Title: "Feed the gnu" } });
      await stage.crawl();
      await inStep(stage, { ...PLANTED, "4.md": "gnu" });
      const after = await rowIds(stage);
      for (const [name, id] of before) assert.equal(after.get(name), id, name);
    },
  },
  {
    id: "A2",
    title: "list rows: a deleted row leaves with its attachments",
    async play(stage) {
      await plantList(stage);
      await stage.change("delete-item", { list: LIST, id: 1 });
      await stage.crawl();
      await inStep(stage, { "2.md": "quagga", "3.md": "okapi" });
      await assertGone(stage, "zebra");
      await assertGone(stage, "ibex");
    },
  },
  {
    id: "A3",
    title: "list rows: an edited row says only what it says now",
    async play(stage) {
      await plantList(stage);
      await stage.change("update-item", { list: LIST, id: 2, values: { Title: "Feed the gnu" } });
      await stage.crawl();
      await inStep(stage, { ...PLANTED, "2.md": "gnu" });
      await assertGone(stage, "quagga");
    },
  },
  {
    id: "A3",
    title: "list rows: attachments come, change and go with their row",
    async play(stage) {
      await plantList(stage);
      await stage.change("add-attachment", { list: LIST, id: 2, name: "new.txt", text: "The lemur eats figs." });
      await stage.change("remove-attachment", { list: LIST, id: 1, name: "note.txt" });
      await stage.crawl();
      const { "attachments/1/note.txt": _gone, ...rest } = PLANTED;
      await inStep(stage, { ...rest, "attachments/2/new.txt": "lemur" });
      await assertGone(stage, "ibex");
    },
  },
  {
    id: "A10",
    title: "list rows: a row from the recycle bin is found again",
    async play(stage) {
      await plantList(stage);
      await stage.change("delete-item", { list: LIST, id: 2 });
      await stage.crawl();
      await assertGone(stage, "quagga");
      await stage.change("restore-item", { list: LIST, id: 2 });
      await stage.crawl();
      await inStep(stage, PLANTED);
    },
  },
  {
    id: "A11",
    title: "list rows: an older version restored says what it said",
    async play(stage) {
      await plantList(stage);
      await stage.change("update-item", { list: LIST, id: 2, values: { Title: "Feed the gnu" } });
      await stage.crawl();
      await stage.change("restore-version", { path: `${LIST}/2_.000`, version: "1.0" });
      await stage.crawl();
      await inStep(stage, PLANTED);
      await assertGone(stage, "gnu");
    },
  },
  {
    id: "A13",
    title: "list rows: a row deleted and written anew is another row",
    async play(stage) {
      await plantList(stage);
      await stage.change("delete-item", { list: LIST, id: 2 });
      await stage.change("add-item", { list: LIST, values: { Title: "Feed the quagga" } });
      await stage.crawl();
      const { "2.md": _gone, ...rest } = PLANTED;
      await inStep(stage, { ...rest, "4.md": "quagga" });
    },
  },
  {
    id: "A14",
    title: "list rows: a touch that changes no text embeds nothing",
    async play(stage) {
      await plantList(stage);
      const before = await rowIds(stage);
      await stage.change("update-item", { list: LIST, id: 2, values: { Title: "Feed the quagga" } });
      await stage.crawl();
      await inStep(stage, PLANTED);
      assert.deepEqual(await rowIds(stage), before);
    },
  },
];
