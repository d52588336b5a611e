// The acceptance list of the specification holds.
import assert from "node:assert/strict";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { DOMAIN } from "../engine/world.ts";
import { parseDomain } from "../kinds.ts";
import { type Acceptance, addFile, DOCS, mutate, openAcceptance } from "./acceptance.ts";

const ALL = { files_all: 8, files_crawl1: 5, lists_all: 6, lists_active: 3 };
const NONE = { files_all: 0, files_crawl1: 0, lists_all: 0, lists_active: 0 };

describe("acceptance", () => {
  let it: Acceptance;
  beforeEach(async () => {
    it = await openAcceptance();
  });
  afterEach(() => it.close());

  async function metadata(): Promise<Record<string, unknown>[]> {
    const path = join(it.world.storage, "domains", DOMAIN, "files_metadata.json");
    return JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>[];
  }
  const found = async (word: string): Promise<string[]> => (await it.world.found(word)).toSorted();

  test("I1 to I4: what is missing or wrong is said before any job exists", async () => {
    const missing = await it.ask("/v2/crawler/crawl?format=json&mode=full");
    assert.equal(missing.status, 400);
    assert.match(missing.error, /domain_id/);
    assert.equal((await it.get("crawl", { domain_id: "NOBODY" })).status, 404);
    for (const wrong of [{ scope: "everything" }, { mode: "sometimes" }]) {
      const answer = await it.get("crawl", wrong);
      assert.equal(answer.status, 400);
      assert.match(answer.error, new RegExp(Object.keys(wrong)[0] ?? ""));
    }
    assert.deepEqual(await it.world.app.jobs.list(), []);
    assert.deepEqual(await it.rows(), NONE);
  });

  test("I9: one unreachable source does not stop the others", async () => {
    const before = await it.world.app.domains.get(DOMAIN);
    const sources = before.sources.map((source) =>
      source.sourceId === "files_all" ? { ...source, siteUrl: "http://127.0.0.1:9/sites/gone" } : source,
    );
    await it.world.app.domains.update({ ...before, sources }, before);
    const { status, ok, error } = await it.get("crawl", { mode: "full" });
    assert.deepEqual([status, ok], [200, false]);
    assert.match(error, /files_all/);
    assert.deepEqual(await it.rows(), { ...ALL, files_all: 0 });
  });

  test("A1 to A4: each scope crawls its kind of sources and no other", async () => {
    await it.run("crawl", { mode: "full", scope: "sitepages" });
    assert.deepEqual(await it.rows(), NONE);
    await it.run("crawl", { mode: "full", scope: "lists" });
    assert.deepEqual(await it.rows(), { ...NONE, lists_all: 6, lists_active: 3 });
    await it.run("crawl", { mode: "full", scope: "files" });
    assert.deepEqual(await it.rows(), ALL);
    await it.run("crawl", { mode: "full", scope: "all" });
    assert.deepEqual(await it.rows(), ALL);
    assert.equal((await it.world.storeFileIds()).length, 8 + 5 + 6 + 3);
  });

  test("B1 to B5: one source alone, of its scope or of all; an unknown one is 404", async () => {
    await it.run("crawl", { mode: "full", scope: "files", source_id: "files_crawl1" });
    assert.deepEqual(await it.rows(), { ...NONE, files_crawl1: 5 });
    await it.run("crawl", { mode: "full", scope: "all", source_id: "lists_active" });
    assert.deepEqual(await it.rows(), { ...NONE, files_crawl1: 5, lists_active: 3 });
    assert.equal((await it.get("crawl", { scope: "all", source_id: "nobody" })).status, 404);
    assert.equal((await it.get("crawl", { scope: "files", source_id: "lists_all" })).status, 404);
    assert.deepEqual(await it.rows(), { ...NONE, files_crawl1: 5, lists_active: 3 });
  });

  test("D1 to D4: a dry run of any endpoint leaves no trace but its job file", async () => {
    const steps = ["crawl", "download_data", "process_data", "embed_data"];
    const before = await it.traces();
    for (const step of steps) await it.get(step, { dry_run: "true", mode: "full" });
    assert.deepEqual(await it.traces(), before, "before the first crawl");
    await it.run("crawl", { mode: "full" });
    await mutate(it.world);
    const between = await it.traces();
    for (const step of steps) for (const mode of ["full", "incremental"]) await it.run(step, { dry_run: "true", mode });
    assert.deepEqual(await it.traces(), between, "before the second");
  });

  test("E1 to E3: download, process and embed one by one end where a crawl does", async () => {
    await it.run("download_data", { mode: "full" });
    assert.deepEqual(await it.rows(), ALL);
    assert.deepEqual(await it.sources.lists_all.disk("01_originals"), ["SELFTEST_LIST.csv"]);
    assert.deepEqual(await it.sources.lists_all.disk(), []);
    assert.equal((await it.sources.files_all.disk()).length, 8);
    await it.run("process_data", { mode: "full" });
    assert.deepEqual(await it.sources.lists_active.disk(), ["1.md", "2.md", "3.md"]);
    assert.deepEqual(await it.sources.lists_all.map("vectorstore_map"), []);
    await it.run("embed_data", { mode: "full" });
    assert.equal((await it.world.storeFileIds()).length, 22);
    assert.deepEqual(await found("gnu3"), ["file4.txt"]);
    assert.deepEqual(await found("yak2"), ["2.md"]);
    const { data } = await it.run("crawl", { mode: "incremental" });
    const sources = data["sources"] as { embed: { unchanged: number } }[];
    assert.deepEqual(
      sources.map(({ embed }) => embed.unchanged),
      [8, 5, 6, 3],
      "nothing is left for a crawl to do",
    );
  });

  test("F1 to F4: incremental after every kind of change", async () => {
    await it.run("crawl", { mode: "full" });
    await mutate(it.world);
    await it.run("crawl", { mode: "incremental" });
    await assertMutated();
    await it.world.control("DELETE", "log");
    await it.run("crawl", { mode: "incremental" });
    assert.ok(!(await it.world.requests()).some((url) => url.includes("$value")), "nothing changed, nothing fetched");
  });

  test("G1 and G2: the same, step by step", async () => {
    for (const step of ["download_data", "process_data", "embed_data"]) await it.run(step, { mode: "full" });
    await mutate(it.world);
    for (const step of ["download_data", "process_data", "embed_data"]) await it.run(step, { mode: "incremental" });
    await assertMutated();
  });

  async function assertMutated(): Promise<void> {
    assert.deepEqual(
      await it.sources.files_all.disk(),
      [
        "file1.txt",
        "file2_renamed.txt",
        "file4.txt",
        "file5.txt",
        "file7.txt",
        "file_测试.txt",
        "subfolder/file1.txt",
        "subfolder/file3.txt",
      ].sort(),
    );
    assert.deepEqual(
      await it.sources.files_crawl1.disk(),
      [
        "file1.txt",
        "file2_renamed.txt",
        "file7.txt",
        "file_测试.txt",
        "subfolder/file1.txt",
        "subfolder/file3.txt",
      ].sort(),
    );
    assert.deepEqual(await it.rows(), { files_all: 8, files_crawl1: 6, lists_all: 7, lists_active: 4 });
    assert.equal((await it.world.storeFileIds()).length, 8 + 6 + 7 + 4);
    assert.deepEqual(await found("gnu5"), [], "file6 is gone");
    assert.deepEqual(await found("gnu0"), [], "what file1 said is gone");
    assert.deepEqual(await found("okapi11"), ["file1.txt"]);
    assert.deepEqual(await found("gnu1"), ["file2_renamed.txt"]);
    assert.deepEqual(await found("yak7"), ["7.md"]);
  }

  test("J1 to J3: missing on disk, an orphan, a file at the wrong path", async () => {
    await it.run("crawl", { mode: "full" });
    const whole = await it.sources.files_all.disk();
    await rm(join(it.sources.files_all.folder, "02_embedded/file4.txt"));
    await it.world.control("DELETE", "log");
    await it.run("crawl", { mode: "incremental", source_id: "files_all" });
    assert.equal((await it.world.requests()).filter((url) => url.includes("$value")).length, 1);
    assert.equal((await it.sources.files_all.read("file4.txt")).toString(), "Content of gnu3.");

    await writeFile(join(it.sources.files_all.folder, "02_embedded/orphan.txt"), "Nobody's.");
    await it.run("crawl", { mode: "incremental", source_id: "files_all" });
    assert.deepEqual(await it.sources.files_all.disk(), whole);

    const embedded = join(it.sources.files_all.folder, "02_embedded");
    await rename(join(embedded, "file4.txt"), join(embedded, "subfolder/misplaced.txt"));
    await it.run("crawl", { mode: "incremental", source_id: "files_all" });
    assert.equal((await it.sources.files_all.read("file4.txt")).toString(), "Content of gnu3.");
    assert.deepEqual(await it.sources.files_all.disk(), whole);
  });

  test("J4: a corrupt map is made anew, in an incremental crawl, and nothing is embedded again", async () => {
    await it.run("crawl", { mode: "full" });
    const ids = await it.world.storeFileIds();
    await writeFile(join(it.sources.files_all.folder, "files_map.csv"), "corrupted,data\nthis is not,a map");
    await it.run("crawl", { mode: "incremental" });
    assert.deepEqual(await it.rows(), ALL);
    assert.deepEqual(await it.world.storeFileIds(), ids);
  });

  test("K1 to K3: folders, identity through a rename, types that cannot be embedded", async () => {
    await it.run("crawl", { mode: "full" });
    assert.ok((await it.sources.files_all.disk()).includes("subfolder/file1.txt"));
    const idOf = async (name: string) =>
      (await it.sources.files_all.map("files_map")).find(({ filename }) => filename === name)?.[
        "sharepoint_unique_file_id"
      ];
    const before = await idOf("file2.txt");
    assert.ok(before);
    await it.world.control("POST", "rename", { path: `${DOCS}/file2.txt`, name: "file2_renamed.txt" });
    await it.run("crawl", { mode: "incremental" });
    assert.equal(await idOf("file2_renamed.txt"), before);
    const seen = (await it.sources.files_all.map("sharepoint_map")).map(({ filename }) => filename);
    assert.ok(seen.includes("non_embeddable.zip"));
    assert.equal(await idOf("non_embeddable.zip"), undefined);
    assert.ok(!(await it.sources.files_all.disk()).includes("non_embeddable.zip"));
  });

  test("K4: retry_batches says how often a failing item is tried in one run", async () => {
    const refuse = () => it.world.fault({ url: "GetFileById.*\\$value" }, { status: 403, body: "{}" });
    await refuse();
    const once = await it.get("crawl", { scope: "files", source_id: "files_all", retry_batches: "1" });
    assert.equal(once.ok, false);
    assert.match(once.error, /1 item could not be brought up to date/);
    await it.run("crawl", { mode: "incremental", scope: "files", source_id: "files_all" });
    await addFile(it.world, "late.txt", "Content of gnu99.", 0);
    await refuse();
    await it.run("crawl", { mode: "incremental", source_id: "files_all", retry_batches: "2" });
    assert.deepEqual(await found("gnu99"), ["late.txt"]);
    assert.equal((await it.get("crawl", { retry_batches: "0" })).status, 400);
  });

  test("K5: a deleted vector store is 404 for the embedding, and never replaced unasked", async () => {
    await it.run("crawl", { mode: "full" });
    const { vectorStoreId } = await it.world.app.domains.get(DOMAIN);
    await it.world.openai().vectorStores.delete(vectorStoreId);
    const refused = await it.get("embed_data", { mode: "full" });
    assert.equal(refused.status, 404);
    assert.match(refused.error, /does not exist any more.*[Cc]lear vector_store_id/);
    await addFile(it.world, "late.txt", "Content of gnu99.", 0);
    const crawl = await it.get("crawl", { mode: "incremental" });
    assert.deepEqual([crawl.status, crawl.ok], [200, false]);
    assert.match(crawl.error, /does not exist any more/);
    assert.ok((await it.sources.files_all.disk()).includes("late.txt"), "the download went on");
    const before = await it.world.app.domains.get(DOMAIN);
    assert.equal(before.vectorStoreId, vectorStoreId);
    await it.world.app.domains.update({ ...before, vectorStoreId: "" }, before);
    await it.run("crawl", { mode: "incremental" });
    assert.equal((await it.world.storeFileIds()).length, 9 + 5 + 6 + 3);
  });

  test("L1 and L2: metadata of every document, and custom properties that survive an update", async () => {
    await it.run("crawl", { mode: "full" });
    const entries = await metadata();
    assert.equal(entries.length, 22);
    const ids = entries.map((entry) => entry["openai_file_id"]);
    assert.deepEqual(ids.toSorted(), await it.world.storeFileIds());
    const [one] = entries.filter((each) => each["filename"] === "file1.txt" && each["source_id"] === "files_all");
    assert.ok(one);
    Object.assign(one, { owner: "Finance" });
    await writeFile(join(it.world.storage, "domains", DOMAIN, "files_metadata.json"), JSON.stringify(entries));
    const path = (one["server_relative_url"] as string) ?? "";
    await it.world.control("POST", "update", { path, text: "New content of gnu11." });
    await it.run("crawl", { mode: "incremental" });
    const versions = (await metadata()).filter(
      (each) => each["source_id"] === "files_all" && each["server_relative_url"] === path,
    );
    assert.deepEqual(
      versions.map((each) => each["owner"]),
      ["Finance", "Finance"],
      "the old version stays as history",
    );
    await it.run("cleanup_metadata", {});
    const left = (await metadata()).filter((each) => each["server_relative_url"] === path);
    assert.equal(left.length, 2, "one entry for each of the two sources");
    assert.ok(left.some((each) => each["owner"] === "Finance"));
  });

  test("L3 and L4: a crawl leaves a report with the maps it ended with; a dry run and a step leave none", async () => {
    await it.run("crawl", { dry_run: "true" });
    await it.run("download_data", { mode: "full" });
    assert.deepEqual((await it.ask("/v2/reports?format=json")).data, []);
    const { data } = await it.run("crawl", { mode: "full" });
    const id = String(data["report_id"]);
    assert.match(id, /^crawls\/[\d_-]+_STORY_all_full/);
    const report = (await it.ask(`/v2/reports/get?report_id=${encodeURIComponent(id)}&format=json`)).data;
    assert.deepEqual([report["report_id"], report["type"], report["ok"]], [id, "crawl", true]);
    const paths = (report["files"] as { file_path: string }[]).map((file) => file.file_path);
    const maps = ["sharepoint_map.csv", "files_map.csv", "vectorstore_map.csv"];
    const folders = ["01_files/files_all", "01_files/files_crawl1", "02_lists/lists_all", "02_lists/lists_active"];
    const expected = ["report.json", ...folders.flatMap((folder) => maps.map((map) => `${folder}/${map}`))];
    assert.deepEqual(paths.toSorted(), expected.toSorted());
    const file = `report_id=${encodeURIComponent(id)}&file_path=01_files/files_all/files_map.csv&format=json`;
    const kept = (await it.ask(`/v2/reports/file?${file}`)).data["content"];
    assert.equal(kept, await readFile(join(it.sources.files_all.folder, "files_map.csv"), "utf8"));
  });

  test("O1 to O3: the maps have exactly their 10, 13 and 19 columns", async () => {
    await it.run("crawl", { mode: "full" });
    const [seen, file, store] = [
      "sharepoint_listitem_id,sharepoint_unique_file_id,filename,file_type,file_size,url,raw_url,server_relative_url,last_modified_utc,last_modified_timestamp",
      "sharepoint_listitem_id,sharepoint_unique_file_id,filename,file_type,server_relative_url,file_relative_path,file_size,last_modified_utc,last_modified_timestamp,downloaded_utc,downloaded_timestamp,sharepoint_error,processing_error",
      "openai_file_id,vector_store_id,file_relative_path,sharepoint_listitem_id,sharepoint_unique_file_id,filename,file_type,file_size,last_modified_utc,last_modified_timestamp,downloaded_utc,downloaded_timestamp,uploaded_utc,uploaded_timestamp,embedded_utc,embedded_timestamp,sharepoint_error,processing_error,embedding_error",
    ];
    for (const { folder } of Object.values(it.sources)) {
      const headerOf = async (map: string) => (await readFile(join(folder, map), "utf8")).split("\r\n")[0];
      assert.equal(await headerOf("sharepoint_map.csv"), seen);
      assert.equal(await headerOf("files_map.csv"), file);
      assert.equal(await headerOf("vectorstore_map.csv"), store);
    }
    assert.deepEqual(
      [seen, file, store].map((header) => header?.split(",").length),
      [10, 13, 19],
    );
  });
});

describe("acceptance, with nothing there", () => {
  let it: Acceptance;
  beforeEach(async () => {
    it = await openAcceptance({ empty: true });
  });
  afterEach(() => it.close());

  test("N1 and N2: an empty library and an empty list crawl well, in both modes, and leave empty maps", async () => {
    for (const mode of ["full", "incremental"]) await it.run("crawl", { mode });
    assert.deepEqual(await it.rows(), NONE);
    for (const view of Object.values(it.sources)) assert.deepEqual(await view.disk(), []);
    assert.deepEqual(await it.world.storeFileIds(), []);
    assert.deepEqual(await it.world.found("anything"), []);
  });

  test("N3: steps without anything before them do nothing, and say so without failing", async () => {
    await it.run("process_data", { mode: "incremental" });
    await it.run("embed_data", { mode: "incremental" });
    assert.deepEqual(await it.rows(), NONE);
  });

  test("N4: a domain without sources crawls well", async () => {
    const before = await it.world.app.domains.get(DOMAIN);
    const json = { name: "Story", description: "", vector_store_name: "x", vector_store_id: "" };
    await it.world.app.domains.update(parseDomain(json, DOMAIN), before);
    const { data } = await it.run("crawl", { mode: "full" });
    assert.deepEqual(data["sources"], []);
  });

  test("N: what comes later is found, and emptying again leaves nothing behind once it is confirmed", async () => {
    await it.run("crawl", { mode: "full" });
    for (let i = 0; i < 3; i++) await addFile(it.world, `late${i}.txt`, `Content of gnu9${i}.`, 1);
    await it.run("crawl", { mode: "incremental" });
    assert.deepEqual(await it.rows(), { ...NONE, files_all: 3, files_crawl1: 3 });
    for (let i = 0; i < 3; i++) await it.world.control("POST", "delete", { path: `${DOCS}/late${i}.txt` });
    assert.match((await it.get("crawl", { mode: "incremental" })).error, /removals are held/);
    await it.run("crawl", { mode: "incremental", confirm_deletes: "true" });
    assert.deepEqual(await it.rows(), NONE);
    assert.deepEqual(await it.world.storeFileIds(), []);
  });
});
