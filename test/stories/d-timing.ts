import assert from "node:assert/strict";
import { assertGone } from "./claims.ts";
import type { Stage } from "./stage.ts";
import type { Story } from "./story.ts";

const SHORT_PATIENCE = {
  retry: { attempts: 8, firstMs: 1, longestMs: 4 },
  timeouts: { connectMs: 2_000, headersMs: 700, idleMs: 700 },
};

async function addMany(stage: Stage, count: number): Promise<void> {
  for (let i = 0; i < count; i++)
    await stage.change("add", { path: `Many/file${i}.txt`, text: `Report number${i} about gnu${i}.` });
}

export const TIMING_STORIES: readonly Story[] = [
  {
    id: "D1",
    title: "many changes between two crawls: only the last state counts",
    async play(stage) {
      await stage.plant();
      for (const word of ["first", "second", "third"])
        await stage.change("update", { path: "Travel/policy.txt", text: `The ${word} draft.` });
      await stage.change("rename", { path: "Travel/policy.txt", name: "a.txt" });
      await stage.change("move", { path: "Travel/a.txt", to: "b.txt" });
      await stage.change("rename", { path: "b.txt", name: "final.txt" });
      await stage.change("add", { path: "brief.txt", text: "Short-lived kiwi." });
      await stage.change("delete", { path: "brief.txt" });
      await stage.change("delete", { path: "Travel/old.md" });
      await stage.change("restore", { path: "Travel/old.md" });
      await stage.crawl();
      await stage.inStep();
      assert.equal(await stage.downloads(), 1);
      for (const word of ["zebra", "first", "kiwi"]) await assertGone(stage, word);
    },
  },
  {
    id: "D1",
    title: "a file that changes while it is fetched ends in its last state, at the latest with the next run",
    async play(stage) {
      await stage.plant();
      await stage.change("update", { path: "Travel/policy.txt", text: "The first draft." });
      const path = "/sites/demo/Shared Documents/Travel/policy.txt";
      const update = { operation: "update", path, text: "The last draft, by the yak desk." };
      await stage.world.fault({ url: "\\$value" }, { run: [update] });
      await stage.tryCrawl();
      await stage.crawl();
      await stage.inStep();
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "D1",
    title: "a file that vanishes between listing and download is not a failure of the run, and is gone with the next",
    async play(stage) {
      await stage.plant();
      await stage.change("update", { path: "Travel/policy.txt", text: "The last draft." });
      const remove = { operation: "delete", path: "/sites/demo/Shared Documents/Travel/policy.txt" };
      await stage.world.fault({ url: "\\$value" }, { run: [remove] });
      await stage.tryCrawl();
      await stage.crawl();
      await stage.inStep();
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "D2",
    title: "two crawls of the same source at once: one document each",
    async play(stage) {
      await stage.plant();
      await addMany(stage, 12);
      await stage.change("rename", { path: "Travel/policy.txt", name: "hotels.txt" });
      await stage.change("delete", { path: "Travel/old.md" });
      await Promise.all([stage.crawl(), stage.crawl(), stage.crawl({ mode: "full" })]);
      await stage.inStep();
    },
  },
  {
    id: "D3",
    title: "a crawl that stops in the middle of its downloads: the next one fetches only the rest",
    async play(stage) {
      await stage.plant();
      await addMany(stage, 20);
      const job = await stage.world.crawlUntil((line) => /^\[ 7 \/ 20 \]/.test(line));
      assert.equal(job.result?.ok, false);
      const there = (await stage.docs.disk()).filter((path) => path.startsWith("Many/")).length;
      assert.ok(there > 0 && there < 20, `${there} files on disk at the stop`);
      await stage.forgetDownloads();
      await stage.crawl();
      await stage.inStep();
      assert.equal(await stage.downloads(), 20 - there, "what had come is not fetched again");
    },
  },
  {
    id: "D3",
    title: "a crawl that stops while embedding: the next one ends in the same place, without a download",
    async play(stage) {
      await stage.plant();
      await addMany(stage, 20);
      await stage.world.crawlUntil((line) => /^\[ 5 \/ 20 \] Indexing/.test(line));
      await stage.forgetDownloads();
      await stage.crawl();
      await stage.inStep();
      assert.equal(await stage.downloads(), 0);
    },
  },
  {
    id: "D3",
    title:
      "half the downloads fail: the others are there, the failed ones keep what they had, and come with the next run",
    async play(stage) {
      await addMany(stage, 8);
      await stage.crawl();
      for (let i = 0; i < 8; i++)
        await stage.change("update", { path: `Many/file${i}.txt`, text: `Edited number${i} about yak${i}.` });
      const rows = await stage.docs.map("files_map");
      const refused = rows.filter(({ filename = "" }) => /[0246]\.txt/.test(filename));
      for (const { sharepoint_unique_file_id: url = "" } of refused)
        await stage.world.fault({ url: `${url}.*value`, times: "always" }, { status: 403, body: "{}" });
      const { job, source } = await stage.tryCrawl();
      assert.equal(job.result?.ok, false);
      assert.equal(source.download.failed, 4);
      assert.deepEqual((await stage.world.found("yak3")).slice(0, 1), ["file3.txt"]);
      assert.match((await stage.world.search("gnu2"))[0]?.text ?? "", /Report number2 about gnu2/);
      const failed = (await stage.docs.map("files_map")).filter((row) => row["sharepoint_error"] !== "");
      assert.deepEqual(failed.map(({ filename }) => filename).sort(), refused.map(({ filename }) => filename).sort());
      await stage.world.control("DELETE", "faults");
      await stage.crawl();
      await stage.inStep();
    },
  },
  {
    id: "D4",
    title: "downloads that stall, break off and time out are made good in the same run",
    world: { pace: SHORT_PATIENCE },
    async play(stage) {
      await stage.plant();
      await addMany(stage, 6);
      const body = "\\$value";
      await stage.world.fault({ url: body, nth: 1 }, { stallAfterBytes: 5 });
      await stage.world.fault({ url: body, nth: 3 }, { connection: "drop" });
      await stage.world.fault({ url: body, nth: 5 }, { truncateAfterBytes: 9, ending: "reset" });
      await stage.world.fault({ url: body, nth: 6 }, { status: 504, body: "" });
      await stage.crawl();
      await stage.inStep();
    },
  },
  {
    id: "D4",
    title: "a listing that never comes: nothing is removed, the reason is told, the next run is whole",
    world: { pace: { ...SHORT_PATIENCE, retry: { attempts: 2, firstMs: 1, longestMs: 2 } } },
    async play(stage) {
      await stage.plant();
      await stage.change("delete", { path: "Travel/old.md" });
      await stage.world.fault({ url: "/items|GetChanges|RenderList", times: "always" }, { connection: "drop" });
      const { job } = await stage.tryCrawl();
      assert.equal(job.result?.ok, false);
      assert.match((await stage.world.search("quagga"))[0]?.text ?? "", /quagga/);
      assert.ok((await stage.docs.disk()).includes("Travel/old.md"));
      await stage.world.control("DELETE", "faults");
      await stage.crawl();
      await stage.inStep();
    },
  },
  {
    id: "D5",
    title: "uploads refused for their rate are sent again until they are taken",
    backend: "remote",
    async play(stage) {
      await stage.plant();
      await addMany(stage, 4);
      const busy = { kind: "answer", status: 429, headers: { "retry-after-ms": "5" }, body: {} } as const;
      for (const on of ["POST /files", "POST /vector_stores/:store/files", "GET /vector_stores/:store/files"])
        stage.proxy.inject({ on, times: 3, act: busy });
      await stage.crawl();
      await stage.inStep();
    },
  },
  {
    id: "D5",
    title: "a service that refuses everything leaves the old documents, and the next run makes it good",
    backend: "remote",
    async play(stage) {
      await stage.plant();
      await stage.change("update", { path: "Travel/policy.txt", text: "Approved by the yak desk." });
      const spent = { error: { message: "You exceeded your quota.", code: "insufficient_quota", type: "x" } };
      const act = { kind: "answer", status: 429, body: spent } as const;
      stage.proxy.inject({ on: "POST /files", times: 50, act });
      const { job } = await stage.tryCrawl();
      assert.equal(job.result?.ok, false);
      assert.match((await stage.world.search("zebra"))[0]?.text ?? "", /zebra/);
      stage.proxy.calm();
      await stage.crawl();
      await stage.inStep();
      await assertGone(stage, "zebra");
    },
  },
  {
    id: "D6",
    title: "connections that break before and after the service acted: every document once",
    backend: "remote",
    async play(stage) {
      await stage.plant();
      await addMany(stage, 3);
      await stage.change("update", { path: "Travel/policy.txt", text: "Approved by the yak desk." });
      for (const on of ["POST /files", "POST /vector_stores/:store/files"]) {
        stage.proxy.inject({ on, times: 1, act: { kind: "reset" } });
        stage.proxy.inject({ on, times: 1, act: { kind: "reset-after" } });
      }
      stage.proxy.inject({ on: "DELETE /vector_stores/:store/files/:file", times: 1, act: { kind: "reset-after" } });
      await stage.crawl();
      await stage.inStep();
    },
  },
];
