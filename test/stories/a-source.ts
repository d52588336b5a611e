import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { addProperties, assertGone, crawlCosting } from "./claims.ts";
import type { Story } from "./story.ts";

export const SOURCE_STORIES: readonly Story[] = [
  {
    id: "A1",
    title: "a new file is fetched alone and found",
    async play(stage) {
      await stage.plant();
      await stage.inStep();
      await stage.change("add", { path: "Travel/Rail/trains.txt", text: "The ibex line runs on Sundays." });
      await crawlCosting(stage, { downloads: 1, embedded: 1 });
      assert.deepEqual((await stage.world.found("ibex")).slice(0, 1), ["trains.txt"]);
    },
  },
  {
    id: "A2",
    title: "a deleted file leaves search, disk, maps and store in the same run",
    async play(stage) {
      await stage.plant();
      const { "Travel/old.md": id = "" } = await stage.fileIds();
      await stage.change("delete", { path: "Travel/old.md" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
      await assertGone(stage, "quagga");
      assert.ok(!(await stage.world.storeFileIds()).includes(id));
    },
  },
  {
    id: "A2",
    title: "a remote store loses the document, but the upload stays for whoever else uses it",
    backend: "remote",
    async play(stage) {
      await stage.plant();
      const { "Travel/old.md": id = "" } = await stage.fileIds();
      await stage.change("delete", { path: "Travel/old.md" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
      await assertGone(stage, "quagga");
      assert.equal((await stage.world.openai().files.retrieve(id)).id, id);
    },
  },
  {
    id: "A3",
    title: "an edited file says only what it says now",
    async play(stage) {
      await stage.plant();
      await stage.change("update", { path: "Travel/policy.txt", text: "A hotel night is approved by the yak desk." });
      await crawlCosting(stage, { downloads: 1, embedded: 1 });
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "A3",
    title: "an edit of the same length within the same second is seen",
    async play(stage) {
      await stage.world.control("POST", "clock", { at: "2026-03-01T09:00:00Z" });
      await stage.plant();
      await stage.change("update", { path: "Travel/policy.txt", text: "A hotel night is approved by the hyena desk." });
      await crawlCosting(stage, { downloads: 1, embedded: 1 });
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "A3",
    title: "custom properties follow an edited file to its next version, and the old entry stays as history",
    async play(stage) {
      await stage.plant();
      await addProperties(stage, "policy.txt", { owner: "Travel desk" });
      await stage.change("update", { path: "Travel/policy.txt", text: "Approved by the yak desk." });
      await crawlCosting(stage, { downloads: 1, embedded: 1 });
      const entries = (await stage.metadata()).filter((entry) => entry["filename"] === "policy.txt");
      assert.deepEqual(
        entries.map((entry) => entry["owner"]),
        ["Travel desk", "Travel desk"],
      );
    },
  },
  {
    id: "A4",
    title: "a renamed file has its new name everywhere and is neither fetched nor embedded again",
    async play(stage) {
      await stage.plant();
      const { "Travel/policy.txt": id } = await stage.fileIds();
      await addProperties(stage, "policy.txt", { owner: "Travel desk" });
      await stage.change("rename", { path: "Travel/policy.txt", name: "hotels.txt" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
      assert.equal((await stage.fileIds())["Travel/hotels.txt"], id);
      assert.deepEqual((await stage.world.found("zebra")).slice(0, 1), ["hotels.txt"]);
      const [entry] = (await stage.metadata()).filter((each) => each["openai_file_id"] === id);
      assert.equal(entry?.["owner"], "Travel desk");
    },
  },
  {
    id: "A4",
    title: "a rename that also touches the time costs a download at most",
    async play(stage) {
      await stage.plant();
      await stage.change("rename", { path: "Travel/policy.txt", name: "hotels.txt", via: "graph" });
      await stage.crawl();
      assert.ok((await stage.downloads()) <= 1);
      await stage.inStep();
    },
  },
  {
    id: "A4",
    title: "two files that swap names keep their own text",
    async play(stage) {
      await stage.plant();
      await stage.change("add", { path: "Travel/other.txt", text: "The lemur clause." });
      await stage.crawl();
      await stage.forgetDownloads();
      await stage.change("rename", { path: "Travel/policy.txt", name: "between.txt" });
      await stage.change("rename", { path: "Travel/other.txt", name: "policy.txt" });
      await stage.change("rename", { path: "Travel/between.txt", name: "other.txt" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
    },
  },
  {
    id: "A5",
    title: "a moved file moves on disk, too, and is neither fetched nor embedded again",
    async play(stage) {
      await stage.plant();
      const { "Travel/policy.txt": id } = await stage.fileIds();
      await stage.change("move", { path: "Travel/policy.txt", to: "Archive/2024/policy.txt" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
      assert.equal((await stage.fileIds())["Archive/2024/policy.txt"], id);
    },
  },
  {
    id: "A5",
    title: "a file moved to another site is gone here",
    async play(stage) {
      await stage.plant();
      await stage.change("move", { path: "Travel/policy.txt", to: "/sites/hr/Shared Documents/policy.txt" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "A6",
    title: "renamed and moved at once",
    async play(stage) {
      await stage.plant();
      const { "Travel/policy.txt": id } = await stage.fileIds();
      await stage.change("move", { path: "Travel/policy.txt", to: "Archive/hotels.txt" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
      assert.equal((await stage.fileIds())["Archive/hotels.txt"], id);
    },
  },
  {
    id: "A7",
    title: "renamed and edited: one document, with the new name and the new text",
    async play(stage) {
      await stage.plant();
      await stage.change("rename", { path: "Travel/policy.txt", name: "hotels.txt" });
      await stage.change("update", { path: "Travel/hotels.txt", text: "Approved by the yak desk." });
      await crawlCosting(stage, { downloads: 1, embedded: 1 });
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "A8",
    title: "moved and edited: one document, at the new place with the new text",
    async play(stage) {
      await stage.plant();
      await stage.change("move", { path: "Travel/policy.txt", to: "Archive/policy.txt" });
      await stage.change("update", { path: "Archive/policy.txt", text: "Approved by the yak desk." });
      await crawlCosting(stage, { downloads: 1, embedded: 1 });
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "A9",
    title: "renamed, moved and edited",
    async play(stage) {
      await stage.plant();
      await stage.change("move", { path: "Travel/policy.txt", to: "Archive/hotels.txt" });
      await stage.change("update", { path: "Archive/hotels.txt", text: "Approved by the yak desk." });
      await crawlCosting(stage, { downloads: 1, embedded: 1 });
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "A10",
    title: "a file that comes back from the recycle bin is found again, under its old id and with its properties",
    async play(stage) {
      await stage.plant();
      await addProperties(stage, "policy.txt", { owner: "Travel desk" });
      const uniqueId = (await stage.docs.map("files_map")).find(({ filename }) => filename === "policy.txt");
      await stage.change("delete", { path: "Travel/policy.txt" });
      await stage.crawl();
      await assertGone(stage, "zebra");
      await stage.change("restore", { path: "Travel/policy.txt" });
      await stage.crawl();
      await stage.inStep();
      const row = (await stage.docs.map("files_map")).find(({ filename }) => filename === "policy.txt");
      assert.equal(row?.["sharepoint_unique_file_id"], uniqueId?.["sharepoint_unique_file_id"]);
      const { "Travel/policy.txt": id } = await stage.fileIds();
      assert.equal((await stage.metadata()).find((each) => each["openai_file_id"] === id)?.["owner"], "Travel desk");
    },
  },
  {
    id: "A10",
    title: "deleted and restored between two crawls: nothing to do",
    async play(stage) {
      await stage.plant();
      await stage.change("delete", { path: "Travel/policy.txt" });
      await stage.change("restore", { path: "Travel/policy.txt" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
    },
  },
  {
    id: "A11",
    title: "an older time than before counts as a change, also when nothing but the maps is left to compare with",
    async play(stage) {
      await stage.plant();
      const text = "A hotel night is approved by the hyena desk.";
      await stage.change("update", { path: "Travel/policy.txt", text, at: "2019-01-01T00:00:00Z" });
      await rm(join(stage.docs.folder, ".lockstep"), { recursive: true });
      await crawlCosting(stage, { downloads: 1, embedded: 1 });
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "A11",
    title: "an older version restored: its text again, with a newer time",
    async play(stage) {
      await stage.plant();
      await stage.change("update", { path: "Travel/policy.txt", text: "Approved by the gnu desk." });
      await stage.crawl();
      await stage.forgetDownloads();
      await stage.change("restore-version", { path: "Travel/policy.txt", version: "1.0" });
      await crawlCosting(stage, { downloads: 1, embedded: 1 });
      await assertGone(stage, "gnu");
      assert.deepEqual((await stage.world.found("zebra")).slice(0, 1), ["policy.txt"]);
    },
  },
  {
    id: "A12",
    title: "a copy is a document of its own; the original stays",
    async play(stage) {
      await stage.plant();
      await stage.change("copy", { path: "Travel/policy.txt", to: "Archive/policy copy.txt" });
      await crawlCosting(stage, { downloads: 1, embedded: 1 });
      assert.deepEqual((await stage.world.found("zebra")).toSorted().slice(0, 2), ["policy copy.txt", "policy.txt"]);
    },
  },
  {
    id: "A13",
    title: "deleted and created anew under the same name: the new text, the old one gone",
    async play(stage) {
      await stage.plant();
      const { "Travel/policy.txt": id = "" } = await stage.fileIds();
      await stage.change("delete", { path: "Travel/policy.txt" });
      await stage.change("add", { path: "Travel/policy.txt", text: "Written anew by the bison desk." });
      await crawlCosting(stage, { downloads: 1, embedded: 1 });
      assert.ok(!(await stage.world.storeFileIds()).includes(id));
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "A14",
    title: "checked out and edited: what others see is what is searched, until it is checked in",
    async play(stage) {
      await stage.plant();
      const path = "Travel/policy.txt";
      await stage.change("check-out", { path });
      await stage.change("update", { path, text: "A working copy of the gnu desk." });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
      await assertGone(stage, "gnu");
      await stage.change("check-in", { path });
      await crawlCosting(stage, { downloads: 1, embedded: 1 });
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "A14",
    title: "checked in without an edit: another time, nothing embedded",
    async play(stage) {
      await stage.plant();
      const { "Travel/policy.txt": id } = await stage.fileIds();
      await stage.change("check-out", { path: "Travel/policy.txt" });
      await stage.change("check-in", { path: "Travel/policy.txt" });
      await stage.crawl();
      await stage.inStep();
      assert.equal((await stage.fileIds())["Travel/policy.txt"], id);
    },
  },
  {
    id: "A14",
    title: "a check-out undone: nothing is fetched",
    async play(stage) {
      await stage.plant();
      await stage.change("check-out", { path: "Travel/policy.txt" });
      await stage.change("undo-check-out", { path: "Travel/policy.txt" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
    },
  },
  {
    id: "A14",
    title: "a property edited: the time changes, the text does not, nothing is embedded",
    async play(stage) {
      await stage.plant();
      const { "Travel/policy.txt": id } = await stage.fileIds();
      await stage.change("set-columns", { path: "Travel/policy.txt", columns: { Department: "Finance" } });
      await stage.crawl();
      await stage.inStep();
      assert.ok((await stage.downloads()) <= 1);
      assert.equal((await stage.fileIds())["Travel/policy.txt"], id);
    },
  },
  {
    id: "A14",
    title: "a system update touches the ETag only: nothing is fetched",
    async play(stage) {
      await stage.plant();
      const columns = { Department: "Finance" };
      await stage.change("set-columns", { path: "Travel/policy.txt", columns, via: "system-update" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
    },
  },
  {
    id: "A15",
    title: "a renamed folder takes all its files along, without a download",
    async play(stage) {
      await stage.plant();
      const before = await stage.fileIds();
      await stage.change("rename", { path: "Travel", name: "Journeys" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
      const after = await stage.fileIds();
      assert.equal(after["Journeys/policy.txt"], before["Travel/policy.txt"]);
      assert.deepEqual(await stage.docs.disk(), ["Journeys/old.md", "Journeys/policy.txt", "handbook.html"]);
    },
  },
  {
    id: "A16",
    title: "a moved folder takes all its files along, without a download",
    async play(stage) {
      await stage.plant();
      await stage.change("move", { path: "Travel", to: "Archive/2024/Travel" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
      assert.deepEqual(await stage.docs.disk(), [
        "Archive/2024/Travel/old.md",
        "Archive/2024/Travel/policy.txt",
        "handbook.html",
      ]);
    },
  },
  {
    id: "A16",
    title: "two folders that change places keep their own files",
    async play(stage) {
      await stage.plant();
      await stage.change("add", { path: "Other/policy.txt", text: "The lemur clause." });
      await stage.crawl();
      await stage.forgetDownloads();
      await stage.change("rename", { path: "Travel", name: "Between" });
      await stage.change("rename", { path: "Other", name: "Travel" });
      await stage.change("rename", { path: "Between", name: "Other" });
      await crawlCosting(stage, { downloads: 0, embedded: 0 });
    },
  },
];
