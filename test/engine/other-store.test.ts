// Another store than the domain's gets exactly what the source says.
import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import type { SourceConfig } from "../../src/contracts/domain.ts";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import type { CrawlRequest } from "../../src/engine/crawl-request.ts";
import { recordSteps } from "../inventory/faulty-service.ts";
import { parseDomain } from "../kinds.ts";
import { sourceView } from "../stories/source-view.ts";
import { openStage, type Stage } from "../stories/stage.ts";
import { DOMAIN } from "./world.ts";

const AREAS = "/sites/demo/Lists/Areas";
const TASKS = "/sites/demo/Lists/Tasks";
const PAGES = "/sites/demo/SitePages";

for (const backend of [undefined, "remote"] as const) {
  describe(`another store says what the source says (${backend ?? "embedded"})`, () => {
    let stage: Stage;
    let other: VectorStoreId;
    let tasks: readonly SourceConfig[];
    before(async () => {
      stage = await openStage({}, backend);
      await plant(stage);
      tasks = (await stage.world.app.domains.get(DOMAIN)).sources.filter(({ sourceId }) => sourceId === "tasks");
      other = (await stage.world.openai().vectorStores.create({ name: "other" })).id as VectorStoreId;
      await intoOther();
    });
    after(() => stage.close());

    const intoOther = (wishes: Partial<CrawlRequest> = {}) =>
      stage.tryCrawl({ steps: ["embed"], vectorStoreId: other, ...wishes });
    /** Texts of the store that say the word. */
    const saying = async (word: string, store: string = other): Promise<string[]> => {
      const { data } = await stage.world.openai().vectorStores.search(store, { query: word, max_num_results: 50 });
      return data.flatMap(({ content }) => content.map(({ text }) => text)).filter((text) => text.includes(word));
    };
    const ownStore = async (): Promise<string> => (await stage.world.app.domains.get(DOMAIN)).vectorStoreId;
    const held = async (store: string, sourceId: string): Promise<number> => {
      let files = 0;
      for await (const { attributes } of stage.world.openai().vectorStores.files.list(store, { limit: 100 }))
        if (attributes?.["source_id"] === sourceId) files += 1;
      return files;
    };

    test("pages and rows are in it, and nothing failed", async () => {
      for (const word of ["zebra", "numbat", "North"]) assert.equal((await saying(word)).length > 0, true, word);
      const again = await intoOther();
      assert.equal(again.job.result?.error, "");
      for (const { embed } of again.result.sources)
        assert.deepEqual([embed.added, embed.changed, embed.failed], [0, 0, 0]);
    });

    test("pages and rows are replicated, as often as somebody asks", async () => {
      const client = stage.world.openai();
      for (const round of [1, 2]) {
        const target = (await client.vectorStores.create({ name: "copy" })).id;
        const request = { sources: [await ownStore()], targets: [target], removeOthers: false };
        const { ok, error } = await stage.world.app.inventory.stores.replicate(request, recordSteps());
        assert.equal(ok, true, `round ${round}: ${error}`);
        for (const word of ["zebra", "numbat", "North"])
          assert.equal((await saying(word, target)).length > 0, true, `${word} in round ${round}`);
        await client.vectorStores.delete(target);
        if (backend === undefined && round === 1) await nameAsBefore(stage.world.storage);
      }
    });

    test("an edit of equal size within the same second reaches it", async () => {
      await stage.change("update", { path: "Travel/policy.txt", text: "A hotel night is approved by the hyena desk." });
      await stage.crawl();
      await intoOther();
      assert.deepEqual([(await saying("hyena")).length, (await saying("zebra")).length], [1, 0]);
    });

    test("a renamed lookup value reaches it, although the row's own time stays", async () => {
      await stage.change("update-item", { list: AREAS, id: 1, values: { Title: "Polar" } });
      await stage.crawl({ mode: "full", scope: "lists" });
      await intoOther();
      assert.deepEqual([(await saying("Polar")).length, (await saying("North")).length], [1, 0]);
    });

    const remoteOnly = { skip: backend === undefined && "only a service has troubles that pass" };
    test("what failed for a while keeps its row, and is embedded by the next run", remoteOnly, async () => {
      const row = async () =>
        (await sourceView(stage.world, "file_sources", "docs", "").map(`vectorstore_map_${other}` as never)).find(
          ({ filename }) => filename === "old.md",
        );
      const known = await row();
      await stage.world.control("POST", "clock", { at: "2026-03-01T10:00:00Z" });
      await stage.change("update", { path: "Travel/old.md", text: "# Retired\n\nThe bongo rule is abolished." });
      await stage.crawl();
      const last_error = { code: "server_error", message: "An internal error occurred." };
      const rewrite = (body: Record<string, unknown>) => ({ ...body, status: "failed", last_error });
      for (const on of ["POST /vector_stores/:store/files", "GET /vector_stores/:store/files/:file"])
        stage.proxy.inject({ on, times: 20, act: { kind: "rewrite", rewrite } });
      const failed = await intoOther({ sourceId: "docs" as never, retryBatches: 1 });
      stage.proxy.calm();
      assert.equal(failed.source.embed.failed, 1);
      const told = await row();
      assert.match(told?.["embedding_error"] ?? "", /An internal error occurred/);
      assert.deepEqual({ ...told, embedding_error: "" }, known, "the row tells of the document that is held");
      assert.deepEqual([(await saying("quagga")).length, (await saying("bongo")).length], [1, 0]);
      await intoOther();
      assert.deepEqual([(await saying("quagga")).length, (await saying("bongo")).length], [0, 1]);
      assert.equal((await row())?.["embedding_error"], "");
    });

    test("the own store, too, goes by what it holds when .lockstep/ was lost", async () => {
      await stage.change("update", { path: "Travel/policy.txt", text: "A hotel night is approved by the okapi desk." });
      await stage.crawl({ steps: ["download"] });
      await rm(join(stage.docs.folder, ".lockstep"), { recursive: true });
      await stage.crawl({ steps: ["embed"] });
      const own = await ownStore();
      assert.deepEqual([(await saying("okapi", own)).length, (await saying("hyena", own)).length], [2, 0]);
    });

    test("a source taken out of the domain leaves it, behind the guard", async () => {
      await intoOther();
      assert.equal(await held(other, "tasks"), 3);
      const domain = await stage.world.app.domains.get(DOMAIN);
      const sources = domain.sources.filter(({ sourceId }) => sourceId !== "tasks");
      await stage.world.app.domains.update({ ...domain, sources }, domain);
      const first = await intoOther();
      assert.match(first.job.result?.error ?? "", /taken out of the domain.*held.*confirm_deletes=true/);
      assert.equal(await held(other, "tasks"), 3);
      const { result } = await stage.crawl({ confirmDeletes: true });
      const told = result.sources.map(({ source_id }) => source_id);
      assert.deepEqual(told.toSorted(), ["docs", "pages", "tasks"], "each source is told of once");
      assert.deepEqual([await held(await ownStore(), "tasks"), await held(other, "tasks")], [0, 3]);
      const dry = await stage.world.crawl({
        steps: ["embed"],
        vectorStoreId: other,
        dryRun: true,
        confirmDeletes: true,
      });
      assert.equal(dry.result.sources.find(({ source_id }) => source_id === "tasks")?.embed.removed, 3);
      assert.equal(await held(other, "tasks"), 3);
      const last = await intoOther({ confirmDeletes: true });
      assert.equal(last.job.result?.error, "");
      assert.deepEqual([await held(other, "tasks"), (await saying("Polar")).length], [0, 0]);
      assert.equal(await held(other, "docs"), 3, "the others stay");
      const again = await intoOther();
      assert.deepEqual(
        again.result.sources.map(({ source_id }) => source_id),
        ["docs", "pages"],
      );
    });

    test("what a source lost while it was out of the domain leaves it when the source is back", async () => {
      const { app } = stage.world;
      const withTasks = async (tasks: readonly SourceConfig[]): Promise<void> => {
        const domain = await app.domains.get(DOMAIN);
        const others = domain.sources.filter(({ sourceId }) => sourceId !== "tasks");
        await app.domains.update({ ...domain, sources: [...others, ...tasks] }, domain);
        await stage.crawl({ confirmDeletes: true });
      };
      await withTasks(tasks);
      await intoOther();
      assert.equal(await held(other, "tasks"), 3);
      await withTasks([]);
      await stage.change("delete-item", { list: TASKS, id: 2 });
      await withTasks(tasks);
      const { job, result } = await intoOther();
      assert.equal(job.result?.error, "");
      const { embed } = result.sources.find(({ source_id }) => source_id === "tasks") ?? assert.fail();
      assert.deepEqual([embed.added, embed.changed, embed.removed], [0, 0, 1]);
      assert.deepEqual([await held(other, "tasks"), (await saying("ibex")).length], [2, 0]);
    });

    test("what only the ledger lost stays in it, as the mirror has its file", async () => {
      const before = await held(other, "docs");
      const ledger = new DatabaseSync(join(stage.world.storage, "crawler", DOMAIN, "ledger.sqlite"));
      const lost = "(SELECT item_no FROM file WHERE name = 'policy.txt')";
      ledger.exec(`PRAGMA busy_timeout = 60000; PRAGMA foreign_keys = ON; DELETE FROM item WHERE item_no IN ${lost}`);
      ledger.close();
      const { job, result } = await intoOther();
      assert.equal(job.result?.error, "");
      const { embed } = result.sources.find(({ source_id }) => source_id === "docs") ?? assert.fail();
      assert.deepEqual([embed.removed, embed.held], [0, 0]);
      assert.equal(await held(other, "docs"), before);
    });
  });
}

/** Earlier releases gave files that were attached elsewhere the names of their items. */
async function nameAsBefore(storage: string): Promise<void> {
  const names = await readdir(storage, { recursive: true });
  const catalog = new DatabaseSync(join(storage, names.find((name) => basename(name) === "catalog.sqlite") ?? ""));
  const { changes } = catalog
    .prepare("UPDATE files SET filename = replace(filename, '.aspx.html', '.aspx') WHERE filename LIKE '%.aspx.html'")
    .run();
  catalog.close();
  assert.ok(Number(changes) > 0);
}

/** A library, a list whose rows look up another one, and site pages, all of one second, crawled. */
async function plant(stage: Stage): Promise<void> {
  const { world } = stage;
  await world.control("POST", "clock", { at: "2026-03-01T09:00:00Z" });
  const site_url = world.sandbox.siteUrl;
  await world.control("POST", "add-list", { path: AREAS, title: "Areas" });
  for (const Title of ["North", "South"]) await stage.change("add-item", { list: AREAS, values: { Title } });
  const columns = [{ title: "Area", type: "Lookup", lookupList: "Areas" }];
  await world.control("POST", "add-list", { path: TASKS, title: "Tasks", columns });
  for (const [Title, Area] of [
    ["Feed the gnu", "North"],
    ["Walk the ibex", "South"],
    ["Wash the yak", "South"],
  ])
    await stage.change("add-item", { list: TASKS, values: { Title, Area } });
  const text = "<p>Welcome to the numbat portal.</p>";
  await stage.change("add-page", { path: `${PAGES}/Home.aspx`, title: "Home", text, published: true });
  const json = {
    ...world.domainJson(),
    list_sources: [{ source_id: "tasks", site_url, list_name: "Tasks", filter: "" }],
    sitepage_sources: [{ source_id: "pages", site_url, sharepoint_url_part: "/SitePages", filter: "" }],
  };
  await world.app.domains.update(parseDomain(json, DOMAIN), await world.app.domains.get(DOMAIN));
  await stage.plant();
}
