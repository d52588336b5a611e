// A full crawl with swap fills a fresh store and changes over only if everything worked.
import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { toFile } from "openai";
import { parseDomainId, parseSourceId, type VectorStoreId } from "../../src/contracts/ids.ts";
import { crawlRequest } from "../../src/engine/crawl-request.ts";
import { ofKind } from "../kinds.ts";
import { openStage, type Stage } from "../stories/stage.ts";
import { DOMAIN } from "./world.ts";

const FULL = { mode: "full", swap: true } as const;

describe("a full crawl with swap, on a store that changes gradually", () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await openStage({}, "remote");
    await stage.plant();
  });
  afterEach(() => stage.close());

  const storeId = async (): Promise<string> => (await stage.world.app.domains.get(DOMAIN)).vectorStoreId;
  const storeIds = async (): Promise<string[]> => {
    const ids: string[] = [];
    for await (const store of stage.world.openai().vectorStores.list()) ids.push(store.id);
    return ids.sort();
  };
  const noted = async (): Promise<string[][]> =>
    (await stage.world.app.otherStores(DOMAIN)).map(({ vectorStoreId, state }) => [vectorStoreId, state]);

  test("fills a fresh store from the same uploads, changes over, and keeps the old store", async () => {
    const before = await storeId();
    const uploads = await stage.fileIds();
    await stage.change("update", { path: "Travel/policy.txt", text: "A hotel night is approved by the giraffe desk." });
    const { log, result } = await stage.crawl(FULL);
    const after = await storeId();
    assert.notEqual(after, before);
    assert.equal(result.vector_store_id, after);
    assert.match(log, new RegExp(`'${before}' was superseded by '${after}'`));
    assert.deepEqual(await storeIds(), [before, after].sort());
    assert.deepEqual(await noted(), [[before, "superseded"]]);
    const now = await stage.fileIds();
    assert.equal(now["Travel/old.md"], uploads["Travel/old.md"], "what did not change is attached, not uploaded again");
    assert.notEqual(now["Travel/policy.txt"], uploads["Travel/policy.txt"]);
    assert.deepEqual(await stage.world.found("giraffe"), ["policy.txt"]);
    await stage.inStep();
    const again = await stage.crawl();
    assert.equal(again.source.embed.unchanged, 3);
  });

  test("is refused for less than everything", async () => {
    const request = crawlRequest(DOMAIN, { swap: true });
    await assert.rejects(stage.world.app.checkCrawl(request), /'swap' needs a whole crawl/);
  });

  test("leaves readers where they were when something could not be embedded", async () => {
    const before = await storeId();
    const body = { error: { message: "no", type: "invalid_request_error", param: null, code: null } };
    const broken = { times: 1000, act: { kind: "answer", status: 400, body } } as const;
    stage.proxy.inject(
      { on: "POST /vector_stores/:store/files", ...broken },
      { on: "POST /vector_stores/:store/file_batches", ...broken },
    );
    const { job } = await stage.tryCrawl({ ...FULL, retryBatches: 1 });
    stage.proxy.calm();
    assert.match(job.result?.error ?? "", /was not swapped/);
    assert.equal(await storeId(), before);
    assert.deepEqual(await storeIds(), [before], "the unfinished store is deleted");
    assert.deepEqual(await stage.world.found("zebra"), ["policy.txt"]);
    await stage.crawl();
    await stage.inStep();
  });

  test("deletes the old store once it was kept long enough, and never the domain's own", async () => {
    const before = await storeId();
    await stage.crawl(FULL);
    Object.assign(stage.world.settings, { SWAP_KEEP_DAYS: "0" });
    await stage.world.reopen();
    await stage.crawl();
    assert.deepEqual(await storeIds(), [await storeId()]);
    assert.notEqual(await storeId(), before);
    assert.deepEqual(await noted(), []);
  });

  test("brings along what others attached to the store", async () => {
    const client = stage.world.openai();
    const file = await toFile(Buffer.from("The pangolin menu is on the wall."), "menu.txt");
    const { id } = await client.files.create({ file, purpose: "assistants" });
    await client.vectorStores.files.createAndPoll(await storeId(), { file_id: id, attributes: { by: "hand" } });
    await stage.crawl(FULL);
    assert.deepEqual(await stage.world.found("pangolin"), ["menu.txt"]);
    const carried = await client.vectorStores.files.retrieve(id, { vector_store_id: await storeId() });
    assert.deepEqual(carried.attributes, { by: "hand" });
  });

  test("leaves readers where they were while something known to them is not ready to be embedded", async () => {
    const before = await storeId();
    const list = "/sites/demo/Lists/Tasks";
    await stage.world.control("POST", "add-list", {
      path: list,
      title: "Tasks",
      columns: [{ name: "Details", type: "Note" }],
    });
    await stage.world.control("POST", "add-item", { list, values: { Title: "Feed the wombat" } });
    const domain = await stage.world.app.domains.get(DOMAIN);
    const [docs] = domain.sources;
    assert.ok(docs?.sourceType === "file_sources");
    const { limits } = docs;
    const tasks = {
      ...ofKind("list_sources"),
      sourceId: parseSourceId("tasks"),
      siteUrl: stage.world.sandbox.siteUrl,
      limits,
      filter: "",
      listName: "Tasks",
    } as const;
    await stage.world.app.domains.update({ ...domain, sources: [docs, tasks] }, domain);
    await stage.crawl();
    await stage.world.control("POST", "update-item", { list, id: 1, values: { Details: "twice a day" } });
    await stage.crawl({ steps: ["download"] });
    // What a crawl with all steps meets when a conversion fails for now.
    const { job } = await stage.tryCrawl({ ...FULL, steps: ["embed"] });
    assert.match(job.result?.error ?? "", /not swapped.*source 'tasks' are not ready to be embedded/);
    assert.equal(await storeId(), before);
    assert.deepEqual(await stage.world.found("wombat"), ["1.md"]);
  });

  test("never deletes a superseded store that is somebody else's by then, and tells of it until it goes", async () => {
    const before = (await storeId()) as VectorStoreId;
    await stage.crawl(FULL);
    assert.deepEqual(await noted(), [[before, "superseded"]]);
    const domain = await stage.world.app.domains.get(DOMAIN);
    const heir = { ...domain, domainId: parseDomainId("HEIR"), vectorStoreId: before, sources: [] };
    await stage.world.app.domains.create(heir);
    Object.assign(stage.world.settings, { SWAP_KEEP_DAYS: "0" });
    await stage.world.reopen();
    await stage.crawl();
    assert.ok((await storeIds()).includes(before));
  });

  test("a run that was stopped half-way leaves no store behind, nor its map", async () => {
    const before = await storeId();
    // As a run leaves it that was killed between changing over and cleaning up.
    await writeFile(stage.world.folder(`vectorstore_map_${before}.csv`), "");
    await stage.world.crawlUntil((line) => /\[ 2 \/ 3 \] Indexing/.test(line), FULL);
    assert.equal(await storeId(), before);
    assert.deepEqual(await stage.world.found("zebra"), ["policy.txt"]);
    const maps = async (): Promise<string[]> =>
      (await readdir(stage.world.folder())).filter((name) => name.startsWith("vectorstore_map_"));
    assert.equal((await maps()).length, 1, "of the store that was being built");
    await stage.crawl();
    assert.deepEqual(await storeIds(), [before]);
    assert.deepEqual(await maps(), []);
    await stage.inStep();
  });
});

describe("swap", () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage({});
    await stage.plant();
  });
  after(() => stage.close());

  test("is refused where a crawl is shown in one moment anyway", async () => {
    const request = crawlRequest(DOMAIN, FULL);
    await assert.rejects(stage.world.app.checkCrawl(request), /'swap' is for OpenAI and Azure\./);
  });
});
