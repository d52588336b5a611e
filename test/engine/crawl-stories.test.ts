// Crawls of a library bring mirror, maps, store and search in step with it, through edits, renames, deletions and failures.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { crawlJob } from "../../src/app/jobs.ts";
import { crawlRequest } from "../../src/engine/crawl-request.ts";
import { parseDomain } from "../kinds.ts";
import { DOMAIN, World } from "./world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.close());

async function plant(): Promise<void> {
  await world.change("add", {
    path: "Travel/policy.txt",
    text: "Every hotel night above 140 euros needs approval by the zebra desk.",
  });
  await world.change("add", { path: "Travel/old.md", text: "# Retired\n\nThe quagga rule was abolished in 2019." });
  await world.change("add", {
    path: "handbook.html",
    text: "<h1>Handbook</h1><p>The okapi team answers questions about pay.</p>",
  });
  await world.change("add", { path: "picture.png", text: "not a text" });
}

test("a first crawl: searchable, mirrored, in all three maps, in the store", async () => {
  await plant();
  const { job, source } = await world.crawl();
  assert.equal(job.result?.error, "");
  assert.deepEqual(
    { added: source.download.added, skipped: source.download.skipped, embedded: source.embed.added },
    { added: 3, skipped: 1, embedded: 3 },
  );
  assert.deepEqual(await world.disk(), ["Travel/old.md", "Travel/policy.txt", "handbook.html"]);
  assert.deepEqual(await world.names("sharepoint_map"), ["handbook.html", "old.md", "picture.png", "policy.txt"]);
  assert.deepEqual(await world.names("files_map"), ["handbook.html", "old.md", "policy.txt"]);
  assert.deepEqual(await world.contradictions(), []);
  const [hit] = await world.search("Which desk approves a hotel night?");
  assert.equal(hit?.name, "policy.txt");
  assert.equal(hit.url, `${world.sandbox.siteUrl}/Shared%20Documents/Travel/policy.txt`);
  assert.match(hit.text, /140 euros/);
});

test("rename, delete, edit: the new name without a second embedding, no ghost, the new text", async () => {
  await plant();
  await world.crawl();
  const before = await world.map("vectorstore_map");
  const idOf = (name: string) => before.find((row) => row["filename"] === name)?.["openai_file_id"];
  await world.change("rename", { path: "Travel/policy.txt", name: "hotel-rules.txt" });
  await world.change("delete", { path: "Travel/old.md" });
  await world.change("update", {
    path: "handbook.html",
    text: "<h1>Handbook</h1><p>The pangolin team answers questions about pay.</p>",
  });
  await world.control("DELETE", "log");
  const { source } = await world.crawl();
  assert.deepEqual(
    {
      moved: source.download.moved,
      removed: source.download.removed,
      changed: source.download.changed,
      added: source.download.added,
    },
    { moved: 1, removed: 1, changed: 1, added: 0 },
  );
  assert.deepEqual(
    {
      moved: source.embed.moved,
      removed: source.embed.removed,
      changed: source.embed.changed,
      added: source.embed.added,
    },
    { moved: 1, removed: 1, changed: 1, added: 0 },
  );
  assert.equal(
    (await world.requests()).filter((url) => url.includes("$value")).length,
    1,
    "only the edited file is downloaded",
  );

  assert.deepEqual(await world.found("zebra desk hotel"), ["hotel-rules.txt"]);
  assert.equal(
    (await world.map("vectorstore_map")).find((row) => row["filename"] === "hotel-rules.txt")?.["openai_file_id"],
    idOf("policy.txt"),
  );
  assert.equal(
    (await world.search("zebra desk hotel"))[0]?.url,
    `${world.sandbox.siteUrl}/Shared%20Documents/Travel/hotel-rules.txt`,
  );

  assert.ok(!(await world.found("quagga rule abolished")).includes("old.md"));
  assert.deepEqual(await world.disk(), ["Travel/hotel-rules.txt", "handbook.html"]);
  for (const map of ["sharepoint_map", "files_map", "vectorstore_map"] as const)
    assert.ok(!(await world.names(map)).includes("old.md"), map);
  assert.ok(!(await world.storeFileIds()).includes(idOf("old.md") ?? "?"));

  const texts = (await world.search("Which team answers questions about pay?")).map(({ text }) => text).join();
  assert.match(texts, /pangolin/);
  assert.doesNotMatch(texts, /okapi/);
  assert.deepEqual(await world.contradictions(), []);
});

test("nothing changed: nothing is downloaded, nothing written, nothing embedded", async () => {
  await plant();
  await world.crawl();
  const files = async () =>
    Promise.all(
      ["sharepoint_map.csv", "files_map.csv", "vectorstore_map.csv"].map((name) =>
        readFile(world.folder(name), "utf8"),
      ),
    );
  const before = await files();
  await world.control("DELETE", "log");
  const { source } = await world.crawl();
  assert.deepEqual(
    { ...source.download },
    { added: 0, changed: 0, moved: 0, removed: 0, unchanged: 3, skipped: 1, failed: 0, empty: 0, held: 0 },
  );
  assert.deepEqual(
    { ...source.embed },
    { added: 0, changed: 0, moved: 0, removed: 0, unchanged: 3, skipped: 0, failed: 0, empty: 0, held: 0 },
  );
  assert.ok(!(await world.requests()).some((url) => url.includes("$value")));
  assert.deepEqual(await files(), before);
});

test("what was found in step is compared again as soon as a map file or the index is touched", async () => {
  await plant();
  await world.crawl();
  await world.crawl();
  assert.equal((await world.crawl()).source.embed.unchanged, 3);
  const [id = ""] = await world.storeFileIds();
  const { vectorStoreId } = await world.app.domains.get(DOMAIN);
  await world.openai().vectorStores.files.delete(id, { vector_store_id: vectorStoreId });
  const healed = await world.crawl();
  assert.deepEqual(
    [healed.source.embed.changed, healed.source.embed.unchanged],
    [1, 2],
    "C1: gone from the store, put again",
  );
  await world.crawl();
  const path = world.folder("vectorstore_map.csv");
  const [header = "", , ...rows] = (await readFile(path, "utf8")).split("\r\n");
  await writeFile(path, [header, ...rows].join("\r\n"));
  const before = await world.storeFileIds();
  await world.crawl();
  assert.equal((await world.names("vectorstore_map")).length, 3, "a row taken out by hand is put back");
  assert.deepEqual(await world.storeFileIds(), before);
  assert.deepEqual(await world.contradictions(), []);
});

test("full mode fetches everything again and ends in the same place", async () => {
  await plant();
  await world.crawl();
  await world.change("delete", { path: "Travel/old.md" });
  await world.control("DELETE", "log");
  const { source } = await world.crawl({ mode: "full" });
  assert.equal(source.download.changed, 2);
  assert.equal((await world.requests()).filter((url) => url.includes("$value")).length, 2);
  assert.deepEqual(await world.found("zebra desk hotel"), ["policy.txt"]);
  assert.deepEqual(await world.contradictions(), []);
});

test("a listing that fails on its second page removes nothing and says so", async () => {
  for (let i = 0; i < 5; i++) await world.change("add", { path: `f${i}.txt`, text: `Text number ${i} about walrus.` });
  await world.crawl();
  await world.change("delete", { path: "f0.txt" });
  await world.change("fill", { path: "Bulk", count: 2100 });
  await world.fault({ url: "skiptoken", times: "always" }, { status: 400, body: "{}" });
  const { job, source } = await world.crawl();
  assert.equal(job.result?.ok, false);
  assert.match(job.result?.error ?? "", /nothing was removed, because the listing is incomplete/);
  assert.equal(source.complete, false);
  assert.equal(source.download.removed, 0);
  assert.ok((await world.disk()).includes("f0.txt"));
  assert.ok((await world.found("Text number 0 about walrus")).includes("f0.txt"));
  await world.control("DELETE", "faults");
  const healed = await world.crawl();
  assert.equal(healed.source.download.removed, 1);
  assert.ok(!(await world.disk()).includes("f0.txt"));
});

test("a library that suddenly lists nothing is held until confirmed", async () => {
  await plant();
  await world.crawl();
  for (const path of ["Travel/policy.txt", "Travel/old.md", "handbook.html", "picture.png"])
    await world.change("delete", { path });
  await world.change("delete", { path: "Travel" });
  const { job, source } = await world.crawl();
  assert.equal(job.result?.ok, false);
  assert.match(job.result?.error ?? "", /3 removals are held.*confirm_deletes=true/);
  assert.equal(source.download.held, 3);
  assert.deepEqual(await world.names("sharepoint_map"), []);
  assert.equal((await world.names("vectorstore_map")).length, 3);
  assert.deepEqual(await world.found("zebra desk hotel"), ["policy.txt"]);
  const confirmed = await world.crawl({ confirmDeletes: true });
  assert.equal(confirmed.job.result?.ok, true);
  assert.deepEqual(await world.disk(), []);
  assert.deepEqual(await world.search("zebra desk hotel"), []);
  assert.deepEqual(await world.storeFileIds(), []);
});

test("two files that swap names keep their own text; a replaced file brings the new one", async () => {
  await plant();
  await world.crawl();
  await world.change("rename", { path: "Travel/policy.txt", name: "temporary.txt" });
  await world.change("rename", { path: "Travel/old.md", name: "old.txt" });
  await world.change("move", { path: "Travel/old.txt", to: "Travel/policy.txt" });
  await world.change("rename", { path: "Travel/temporary.txt", name: "old.txt" });
  await world.change("delete", { path: "handbook.html" });
  await world.change("add", { path: "handbook.html", text: "<p>Now written by the ibex team.</p>" });
  const { job } = await world.crawl();
  assert.equal(job.result?.error, "");
  assert.match(await readFile(world.folder("02_embedded/Travel/policy.txt"), "utf8"), /quagga/);
  assert.match(await readFile(world.folder("02_embedded/Travel/old.txt"), "utf8"), /zebra/);
  assert.deepEqual(await world.found("okapi"), []);
  assert.deepEqual(await world.found("ibex"), ["handbook.html"]);
  assert.deepEqual(await world.contradictions(), []);
});

test("one file that cannot be downloaded stops nothing, is named, and is fetched by the next run", async () => {
  await plant();
  const { uniqueId } = await world.change("add", { path: "locked.txt", text: "The tapir clause." });
  await world.fault({ url: String(uniqueId), times: "always" }, { status: 403, body: "{}" });
  const { job, source, log } = await world.crawl();
  assert.equal(job.result?.ok, false);
  assert.equal(source.download.failed, 1);
  assert.match(log, /ERROR: download 'locked.txt'/);
  const row = (await world.map("files_map")).find(({ filename }) => filename === "locked.txt");
  assert.equal(row?.["file_relative_path"], "");
  assert.notEqual(row?.["sharepoint_error"], "");
  assert.deepEqual(await world.found("zebra desk hotel"), ["policy.txt"]);
  await world.control("DELETE", "faults");
  await world.crawl();
  assert.deepEqual(await world.found("tapir clause"), ["locked.txt"]);
  assert.deepEqual(await world.contradictions(), []);
});

test("a file that cannot be read as what it says goes to 03_failed with its reason; its old text is not served", async () => {
  await world.change("add", { path: "report.pdf", text: "no pdf at all" });
  await world.change("add", { path: "notes.txt", text: "The bison ledger." });
  const { source, log } = await world.crawl();
  assert.equal(source.embed.failed, 1);
  assert.match(log, /ERROR: index '.*report.pdf'/);
  assert.deepEqual(await world.disk("03_failed"), ["report.pdf"]);
  const row = (await world.map("vectorstore_map")).find(({ filename }) => filename === "report.pdf");
  assert.match(row?.["file_relative_path"] ?? "", /03_failed\\report.pdf$/);
  assert.notEqual(row?.["embedding_error"], "");
  const again = await world.crawl();
  assert.equal(again.job.result?.ok, true, "a failed file is not tried again until it changes");

  await world.change("update", { path: "notes.txt", base64: Buffer.from([0, 1, 2, 0, 255, 254]).toString("base64") });
  await world.crawl();
  assert.deepEqual(await world.search("bison ledger"), []);
  assert.deepEqual(await world.disk("03_failed"), ["notes.txt", "report.pdf"]);
});

test("the mirror heals: missing, truncated and orphaned files", async () => {
  await plant();
  await world.crawl();
  await rm(world.folder("02_embedded/Travel"), { recursive: true });
  await truncate(world.folder("02_embedded/handbook.html"), 3);
  await writeFile(world.folder("02_embedded/orphan.txt"), "nobody's");
  await world.crawl();
  assert.deepEqual(await world.disk(), ["Travel/old.md", "Travel/policy.txt", "handbook.html"]);
  assert.match(await readFile(world.folder("02_embedded/handbook.html"), "utf8"), /okapi/);
  assert.deepEqual(await world.contradictions(), []);
});

test("a lost or corrupt map costs downloads, never documents or duplicates", async () => {
  await plant();
  await world.crawl();
  const ids = await world.storeFileIds();
  await writeFile(world.folder("files_map.csv"), "corrupted,data\r\n1,2\r\n");
  const { log } = await world.crawl();
  assert.match(log, /WARNING: files_map.csv cannot be used/);
  assert.deepEqual(await world.storeFileIds(), ids);
  await rm(world.folder("vectorstore_map.csv"));
  await rm(world.folder(".lockstep"), { recursive: true });
  await world.crawl();
  assert.deepEqual(await world.storeFileIds(), ids, "found again in the store by their marks, not embedded again");
  assert.deepEqual(await world.contradictions(), []);
});

test("a dry run tells the plan and leaves no trace but its job file", async () => {
  await plant();
  const { source, log, result } = await world.crawl({ dryRun: true });
  assert.equal(source.download.added, 3);
  assert.match(log, /ADDED 'Travel\/policy.txt'/);
  assert.equal(result.vector_store_id, "");
  assert.ok(!existsSync(join(world.storage, "crawler")));
  await world.crawl();
  await world.change("delete", { path: "Travel/old.md" });
  const before = await readdir(world.folder(), { recursive: true });
  const second = await world.crawl({ dryRun: true });
  assert.match(second.log, /REMOVED '.*old.md'/);
  assert.equal(second.source.download.removed, 1);
  assert.deepEqual(await readdir(world.folder(), { recursive: true }), before);
  assert.deepEqual(await world.found("quagga rule"), ["old.md"]);
});

test("odd names are crawled, found, and linked", async () => {
  const names = ["It's #1 & 100% + 😀.txt", "a%20b.txt", "Übersicht Größe.txt", "shalom שלום.txt", "{x}~;,^.txt"];
  for (const [i, name] of names.entries())
    await world.change("add", { path: `Odd & co's/${name}`, text: `Document numero${i} about llamas.` });
  const { job } = await world.crawl();
  assert.equal(job.result?.error, "");
  assert.deepEqual(await world.disk(), names.map((name) => `Odd & co's/${name}`).sort());
  for (const [i, name] of names.entries()) {
    const hit = (await world.search(`numero${i}`))[0];
    assert.equal(hit?.name, name);
    assert.equal(await (await fetch(hit.url)).text(), `Document numero${i} about llamas.`);
  }
  assert.deepEqual(await world.contradictions(), []);
});

test("two files that swap names and are both edited end under their plain names", async () => {
  await world.change("add", { path: "a.txt", text: "First alpha." });
  await world.change("add", { path: "b.txt", text: "First beta." });
  await world.crawl();
  await world.change("rename", { path: "a.txt", name: "c.txt" });
  await world.change("rename", { path: "b.txt", name: "a.txt" });
  await world.change("rename", { path: "c.txt", name: "b.txt" });
  await world.change("update", { path: "a.txt", text: "Second beta, now called a." });
  await world.change("update", { path: "b.txt", text: "Second alpha, now called b." });
  await world.crawl();
  assert.deepEqual(await world.disk(), ["a.txt", "b.txt"]);
  assert.equal(await readFile(world.folder("02_embedded/a.txt"), "utf8"), "Second beta, now called a.");
  assert.equal(await readFile(world.folder("02_embedded/b.txt"), "utf8"), "Second alpha, now called b.");
  assert.deepEqual(await world.contradictions(), []);
});

test("a download that ends early without a sign of it is noticed and made good by the next run", async () => {
  const { uniqueId } = await world.change("add", { path: "long.txt", text: `${"The capybara rule. ".repeat(50)}` });
  await world.fault({ url: String(uniqueId), times: "always" }, { truncateAfterBytes: 100, ending: "clean" });
  const short = await world.crawl();
  assert.match(short.job.result?.error ?? "", /could not be brought up to date/);
  assert.match(short.log, /100 bytes instead of the 950 listed/);
  await world.control("DELETE", "faults");
  assert.equal((await world.crawl()).job.result?.error, "");
  assert.deepEqual(await world.found("capybara"), ["long.txt"]);
});

test("a web page that comes instead of a file is never taken for the file", async () => {
  await world.change("add", { path: "notes.txt", text: "The marmot minutes." });
  await world.crawl();
  await world.change("update", { path: "notes.txt", text: "The newer marmot minutes." });
  const page = { status: 200, headers: { "content-type": "text/html" }, body: "<html>Please sign in</html>" };
  await world.fault({ url: "\\$value", times: "always" }, page);
  const { log } = await world.crawl();
  assert.match(log, /a web page instead of the file/);
  assert.match((await world.search("marmot"))[0]?.text ?? "", /The marmot minutes/);
  await world.control("DELETE", "faults");
  await world.crawl();
  assert.match((await world.search("marmot"))[0]?.text ?? "", /newer marmot/);
});

test("a broken Office file of another size than listed is fetched again, not given up", async () => {
  await world.change("add", { path: "report.docx", text: "cut in transit", listedSize: 5000 });
  const first = await world.crawl();
  assert.equal(first.source.embed.failed, 1);
  assert.deepEqual(await world.disk("03_failed"), []);
  await world.control("DELETE", "log");
  await world.crawl();
  assert.equal((await world.requests()).filter((url) => url.includes("$value")).length, 1);
});

test("renamed to another type: the text is read anew, as a full crawl would", async () => {
  await world.change("add", { path: "page.html", text: "<p>visible narwhal</p>" });
  await world.crawl();
  await world.change("rename", { path: "page.html", name: "page.txt" });
  await world.crawl();
  assert.match((await world.search("narwhal"))[0]?.text ?? "", /<p>visible narwhal<\/p>/);
  assert.deepEqual(await world.contradictions(), []);
});

test("failed files are counted once as failed, and spoken of by every later run", async () => {
  await world.change("add", { path: "good.txt", text: "Good." });
  await world.change("add", { path: "broken.pdf", text: "no pdf" });
  const first = await world.crawl();
  assert.deepEqual([first.source.embed.added, first.source.embed.failed], [1, 1]);
  const second = await world.crawl();
  assert.deepEqual([second.source.embed.unchanged, second.source.embed.skipped], [1, 1]);
  assert.match(second.log, /1 file waits in 03_failed/);
});

test("a site that moved to another address: results lead to the new one, nothing is fetched or embedded", async () => {
  await plant();
  await world.crawl();
  const ids = await world.storeFileIds();
  const before = await world.app.domains.get(DOMAIN);
  const siteUrl = world.sandbox.siteUrl.replace("127.0.0.1", "localhost");
  const json = { ...world.domainJson({ site_url: siteUrl }), vector_store_id: before.vectorStoreId };
  await world.app.domains.update(parseDomain(json, DOMAIN), before);
  await world.control("DELETE", "log");
  const { job } = await world.crawl();
  assert.equal(job.result?.error, "");
  assert.ok(!(await world.requests()).some((url) => url.includes("$value")));
  assert.equal((await world.search("zebra desk"))[0]?.url, `${siteUrl}/Shared%20Documents/Travel/policy.txt`);
  assert.deepEqual(await world.storeFileIds(), ids);
});

test("a storage folder that was moved goes on as if nothing had happened", async () => {
  await plant();
  await world.crawl();
  await world.app.close();
  const moved = `${world.storage}-moved`;
  await rename(world.storage, moved);
  const settings = {
    ...world.settings,
    PERSISTENT_STORAGE_PATH: moved,
    CRAWLER_CLIENT_CERTIFICATE_PEM_FILE: join(moved, "sandbox.pem"),
  };
  world.app = await compose(readConfig(settings));
  try {
    const { start, work } = crawlJob(world.app, crawlRequest(DOMAIN), { dryRun: false });
    const { result } = await (await world.app.runner.start({ ...start, endpoint: "story" }, work)).done;
    assert.equal(result?.error, "");
    const [id = ""] = await world.storeFileIds();
    assert.ok((await (await world.openai().files.content(id)).text()).length > 20);
    assert.deepEqual(await world.found("zebra desk hotel"), ["policy.txt"]);
  } finally {
    await world.app.close();
    await rename(moved, world.storage);
    world.app = await compose(readConfig(world.settings));
  }
});
