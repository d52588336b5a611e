import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toFile } from "openai";
import { errorBody } from "../backends/openai-fault-proxy.ts";
import { DOMAIN } from "../engine/world.ts";
import { parseDomain } from "../kinds.ts";
import { assertGone, crawlCosting } from "./claims.ts";
import { type SourceView, sourceView } from "./source-view.ts";
import type { Stage } from "./stage.ts";
import type { Story } from "./story.ts";

async function storeId(stage: Stage): Promise<string> {
  return (await stage.world.app.domains.get(DOMAIN)).vectorStoreId;
}

/** Played with the embedded store and with one behind the wire. */
function onBothBackends(story: Story): Story[] {
  return [story, { ...story, title: `${story.title} (remote store)`, backend: "remote" }];
}

export const STORE_STORIES: readonly Story[] = [
  ...onBothBackends({
    id: "C1",
    title: "a document that somebody took out of the store is put back, without a download",
    async play(stage) {
      await stage.plant();
      const { "Travel/policy.txt": id = "" } = await stage.fileIds();
      await stage.world.openai().vectorStores.files.delete(id, { vector_store_id: await storeId(stage) });
      await stage.crawl();
      assert.equal(await stage.downloads(), 0);
      await stage.inStep();
    },
  }),
  {
    id: "C1",
    title: "put back while its removal is held, a document keeps its address",
    async play(stage) {
      await stage.plant();
      const { "Travel/policy.txt": id = "" } = await stage.fileIds();
      for (const path of ["Travel", "handbook.html"]) await stage.change("delete", { path });
      await stage.world.openai().vectorStores.files.delete(id, { vector_store_id: await storeId(stage) });
      const { job } = await stage.tryCrawl();
      assert.match(job.result?.error ?? "", /3 removals are held/);
      const url = `${stage.world.sandbox.siteUrl}/Shared%20Documents/Travel/policy.txt`;
      assert.equal((await stage.world.search("zebra"))[0]?.url, url);
      for (const path of ["Travel", "handbook.html"]) await stage.change("restore", { path });
      await stage.crawl();
      await stage.inStep();
    },
  },
  ...onBothBackends({
    id: "C2",
    title: "a file that others put into the store is left alone, also by a full crawl",
    async play(stage) {
      await stage.plant();
      const client = stage.world.openai();
      const upload = await toFile(Buffer.from("A stranger speaks of axolotls."), "stranger.txt");
      const file = await client.files.create({ file: upload, purpose: "assistants" });
      await client.vectorStores.files.createAndPoll(await storeId(stage), { file_id: file.id });
      await stage.change("delete", { path: "Travel/old.md" });
      await stage.crawl();
      await stage.inStep({ foreign: [file.id] });
      await stage.crawl({ mode: "full" });
      await stage.inStep({ foreign: [file.id] });
      assert.ok((await stage.world.storeFileIds()).includes(file.id));
      assert.match((await stage.world.search("axolotls"))[0]?.text ?? "", /axolotls/);
    },
  }),
  ...onBothBackends({
    id: "C3",
    title: "what cannot be embedded waits in 03_failed with its reason; its old text is not served",
    async play(stage) {
      await stage.plant();
      await stage.change("add", { path: "Reports/broken.pdf", text: "no pdf at all" });
      const noText = Buffer.from([0, 1, 2, 0, 255, 254, 0, 7]).toString("base64");
      await stage.change("update", { path: "Travel/policy.txt", base64: noText });
      const failed = ["Reports/broken.pdf", "Travel/policy.txt"];
      const first = await stage.tryCrawl();
      assert.equal(first.source.embed.failed, 2);
      assert.match(first.log, /ERROR: index '.*broken\.pdf'/);
      await stage.inStep({ failed });
      await assertGone(stage, "zebra");
      await stage.forgetDownloads();
      await stage.crawl();
      await stage.inStep({ failed });
      assert.equal(await stage.downloads(), 0, "unchanged, it is not tried again");
      await stage.change("update", { path: "Travel/policy.txt", text: "Approved by the yak desk." });
      await stage.crawl();
      await stage.inStep({ failed: ["Reports/broken.pdf"] });
    },
  }),
  {
    id: "C3",
    title: "a failed file whose row was lost is tried again, so that the map says why once more",
    async play(stage) {
      await stage.plant();
      await stage.change("add", { path: "broken.pdf", text: "no pdf at all" });
      await stage.tryCrawl();
      await rm(join(stage.docs.folder, "vectorstore_map.csv"));
      await stage.tryCrawl();
      await stage.inStep({ failed: ["broken.pdf"] });
    },
  },
  {
    id: "C3",
    title: "a failed file that is deleted at the source leaves 03_failed, too",
    async play(stage) {
      await stage.plant();
      await stage.change("add", { path: "broken.pdf", text: "no pdf at all" });
      await stage.tryCrawl();
      await stage.inStep({ failed: ["broken.pdf"] });
      await stage.change("delete", { path: "broken.pdf" });
      await stage.crawl();
      await stage.inStep();
    },
  },
  {
    id: "C3",
    title: "the service says 'failed' for a file it took: out of the store, into 03_failed",
    backend: "remote",
    async play(stage) {
      await stage.plant();
      const refuse = (body: Record<string, unknown>) => ({
        ...body,
        status: "failed",
        last_error: { code: "invalid_file", message: "The file is damaged." },
      });
      for (const on of ["POST /vector_stores/:store/files", "GET /vector_stores/:store/files/:file"])
        stage.proxy.inject({ on, times: 20, act: { kind: "rewrite", rewrite: refuse } });
      await stage.change("add", { path: "new.txt", text: "The ibex line." });
      await stage.tryCrawl();
      stage.proxy.calm();
      await stage.inStep({ failed: ["new.txt"] });
    },
  },
  {
    id: "C3",
    title: "a page that a service refused under the name of its item is tried once more under that of its document",
    backend: "remote",
    async play(stage) {
      const page = await plantRefusedPage(stage);
      const refusedUnder = async (): Promise<string> =>
        (await page.map("vectorstore_map"))[0]?.["embedding_error"] ?? "";
      assert.match(await refusedUnder(), /^embed 'Home\.aspx\.html': unsupported_file/);
      // As an earlier release left it.
      const map = join(page.folder, "vectorstore_map.csv");
      const asBefore = async () =>
        await writeFile(map, (await readFile(map, "utf8")).replace("embed 'Home.aspx.html'", "embed 'Home.aspx'"));
      await asBefore();
      refuseFiles(stage);
      assert.equal((await stage.tryCrawl()).source.embed.failed, 1);
      assert.match(await refusedUnder(), /^embed 'Home\.aspx\.html': unsupported_file/);
      const { source } = await stage.tryCrawl();
      assert.deepEqual([source.embed.failed, source.embed.skipped], [0, 1], "once is enough");
      stage.proxy.calm();
      await asBefore();
      await stage.crawl();
      assert.deepEqual([await page.disk(), await page.disk("03_failed")], [["Home.aspx.html"], []]);
      assert.equal((await stage.world.search("numbat"))[0]?.name, "Home.aspx");
    },
  },
  ...onBothBackends({
    id: "C4",
    title: "a deleted store is said to be gone and never replaced unasked; downloads go on",
    async play(stage) {
      await stage.plant();
      const id = await storeId(stage);
      await stage.world.openai().vectorStores.delete(id);
      await stage.change("add", { path: "new.txt", text: "The ibex line." });
      const { job } = await stage.tryCrawl();
      assert.equal(job.result?.ok, false);
      assert.match(job.result?.error ?? "", new RegExp(`${id}.* does not exist any more.*[Cc]lear vector_store_id`));
      assert.equal(await storeId(stage), id);
      assert.ok((await stage.docs.disk()).includes("new.txt"));
      await clearStoreId(stage);
      await stage.crawl();
      assert.notEqual(await storeId(stage), id);
      await stage.inStep();
    },
  }),
  ...onBothBackends({
    id: "C5",
    title: "an upload that somebody deleted is uploaded again, without a download",
    async play(stage) {
      await stage.plant();
      const { "Travel/policy.txt": id = "" } = await stage.fileIds();
      await stage.world.openai().files.delete(id);
      await stage.crawl();
      assert.equal(await stage.downloads(), 0);
      await stage.inStep();
      assert.notEqual((await stage.fileIds())["Travel/policy.txt"], id);
    },
  }),
  {
    id: "C6",
    title: "no store can be created: the reason is told, files are downloaded, and embedded by the next run",
    backend: "remote",
    async play(stage) {
      const body = errorBody("You exceeded your quota of vector stores.", "quota_exceeded");
      stage.proxy.inject({ on: "POST /vector_stores", times: 20, act: { kind: "answer", status: 403, body } });
      await stage.change("add", { path: "Travel/policy.txt", text: "Approved by the zebra desk." });
      const { job, source } = await stage.tryCrawl();
      assert.equal(job.result?.ok, false);
      assert.match(job.result?.error ?? "", /nothing was embedded.*quota of vector stores/);
      assert.equal(source.download.added, 1);
      assert.deepEqual(await stage.docs.disk(), ["Travel/policy.txt"]);
      assert.equal(await storeId(stage), "");
      stage.proxy.calm();
      await stage.forgetDownloads();
      await crawlCosting(stage, { downloads: 0, embedded: 1 });
    },
  },
];

/** The service takes files in and then says that it does not support them. */
function refuseFiles(stage: Stage): void {
  const last_error = { code: "unsupported_file", message: "The file type is not supported." };
  const rewrite = (body: Record<string, unknown>) => ({ ...body, status: "failed", last_error });
  for (const on of ["POST /vector_stores/:store/files", "GET /vector_stores/:store/files/:file"])
    stage.proxy.inject({ on, times: 20, act: { kind: "rewrite", rewrite } });
}

/** A domain of one site page, which waits in `03_failed/`. */
async function plantRefusedPage(stage: Stage): Promise<SourceView> {
  const { world } = stage;
  const path = "/sites/demo/SitePages/Home.aspx";
  const text = "<p>Welcome to the numbat portal.</p>";
  await stage.change("add-page", { path, title: "Home", text, published: true });
  const pages = { source_id: "pages", site_url: world.sandbox.siteUrl, sharepoint_url_part: "/SitePages", filter: "" };
  const json = { ...world.domainJson(), file_sources: [], sitepage_sources: [pages] };
  await world.app.domains.update(parseDomain(json, DOMAIN), await world.app.domains.get(DOMAIN));
  refuseFiles(stage);
  assert.equal((await stage.tryCrawl()).source.embed.failed, 1);
  stage.proxy.calm();
  return sourceView(world, "sitepage_sources", "pages", "/sites/demo/SitePages");
}

async function clearStoreId(stage: Stage): Promise<void> {
  const path = join(stage.world.storage, "domains", DOMAIN, "domain.json");
  const json = JSON.parse(await readFile(path, "utf8")) as object;
  await writeFile(path, JSON.stringify({ ...json, vector_store_id: "" }));
}
