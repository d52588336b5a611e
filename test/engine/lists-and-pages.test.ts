// Lists and pages are crawled, processed and found row by row, and follow every change.
import assert from "node:assert/strict";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import type { CrawlRequest, CrawlResult } from "../../src/engine/crawl-request.ts";
import { decodeCsvRow } from "../../src/lib/csv.ts";
import { ofKind } from "../kinds.ts";
import { DOMAIN, World } from "./world.ts";

const LIST = "/sites/demo/Lists/Tasks";
const PAGES = "/sites/demo/SitePages";

let world: World;
beforeEach(async () => {
  world = await World.open();
  const site_url = world.sandbox.siteUrl;
  await world.control("POST", "add-list", {
    path: LIST,
    title: "Project Tasks",
    columns: [
      { name: "Status", type: "Choice", choices: ["Active", "Done"] },
      { name: "Details", type: "Note" },
    ],
  });
  for (const title of ["Paint the shed", "Feed the wombat", "Sharpen pencils"]) {
    await world.control("POST", "add-item", { list: LIST, values: { Title: title, Status: "Active" } });
  }
  await world.control("POST", "add-attachment", {
    list: LIST,
    id: 2,
    name: "diet.txt",
    text: "A wombat eats two kilos of grass.",
  });
  await addPage("Home.aspx", "Welcome to the numbat portal.");
  await addPage("News/Party.aspx", "The quoll party begins at nine.");
  const domain = await world.app.domains.get(DOMAIN);
  const limits = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };
  const place = { siteUrl: site_url, filter: "", limits };
  await world.app.domains.update(
    {
      ...domain,
      sources: [
        ofKind("list_sources", { ...place, sourceId: "tasks" as never, listName: "Project Tasks" }),
        ofKind("sitepage_sources", { ...place, sourceId: "pages" as never, urlPart: "/SitePages" }),
      ],
    },
    domain,
  );
});
afterEach(() => world.close());

async function addPage(path: string, text: string, published = true): Promise<void> {
  await world.control("POST", "add-page", { path: `${PAGES}/${path}`, title: path, text: `<p>${text}</p>`, published });
}

async function crawl(wishes: Partial<CrawlRequest> & { dryRun?: boolean } = {}) {
  const { job, result, log } = await world.crawl(wishes);
  const of = (id: string): CrawlResult["sources"][number] => {
    const source = result.sources.find(({ source_id }) => source_id === id);
    return source ?? assert.fail(`no source '${id}'`);
  };
  return { error: job.result?.error, log, list: of("tasks"), pages: of("pages") };
}

const folder = (kind: "02_lists/tasks" | "03_sitepages/pages", ...path: string[]): string =>
  join(world.storage, "crawler", DOMAIN, kind, ...path);

async function files(kind: "02_lists/tasks" | "03_sitepages/pages", sub: string): Promise<string[]> {
  const root = folder(kind, sub);
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort();
}

async function rows(kind: "02_lists/tasks" | "03_sitepages/pages", map: string): Promise<Record<string, string>[]> {
  const [header = "", ...lines] = (await readFile(folder(kind, `${map}.csv`), "utf8")).split("\r\n").filter(Boolean);
  const columns = decodeCsvRow(header);
  return lines.map((line) => Object.fromEntries(decodeCsvRow(line).map((field, i) => [columns[i] ?? "", field])));
}

/** Maps, disk and store agree: every row of files_map has its file, every file its row, every document its id. */
async function assertInStep(): Promise<void> {
  const ids: string[] = [];
  for (const kind of ["02_lists/tasks", "03_sitepages/pages"] as const) {
    const mirrored = await rows(kind, "files_map");
    const expected = mirrored.map((row) => (row["file_relative_path"] ?? "").split("\\").slice(3).join("/"));
    const there = (await files(kind, "02_embedded")).map((path) => `02_embedded/${path}`);
    assert.deepEqual(there, expected.sort());
    const indexed = await rows(kind, "vectorstore_map");
    assert.deepEqual(
      indexed.map((row) => row["sharepoint_unique_file_id"]).sort(),
      mirrored.map((row) => row["sharepoint_unique_file_id"]).sort(),
    );
    ids.push(...indexed.map((row) => row["openai_file_id"] ?? ""));
  }
  assert.deepEqual(await world.storeFileIds(), ids.sort());
}

test("a first crawl: rows, attachments and pages are found; originals are kept", async () => {
  const { error, list, pages } = await crawl();
  assert.equal(error, "");
  assert.deepEqual([list.download.added, list.process.added, list.embed.added], [4, 3, 4]);
  assert.deepEqual([pages.download.added, pages.process.added, pages.embed.added], [2, 2, 2]);
  assert.deepEqual(await files("02_lists/tasks", "01_originals"), ["Project Tasks.csv"]);
  assert.deepEqual(await files("02_lists/tasks", "02_embedded"), ["1.md", "2.md", "3.md", "attachments/2/diet.txt"]);
  assert.deepEqual(await files("03_sitepages/pages", "01_originals"), ["Home.aspx.html", "News/Party.aspx.html"]);
  assert.deepEqual(await files("03_sitepages/pages", "02_embedded"), ["Home.aspx.html", "News/Party.aspx.html"]);
  assert.match(await readFile(folder("02_lists/tasks", "02_embedded/2.md"), "utf8"), /Feed the wombat/);
  assert.equal((await world.search("who feeds the wombat"))[0]?.name, "2.md");
  assert.match((await world.search("who feeds the wombat"))[0]?.url ?? "", /DispForm\.aspx\?ID=2$/);
  assert.equal((await world.search("kilos of grass"))[0]?.name, "diet.txt");
  assert.equal((await world.search("numbat portal"))[0]?.name, "Home.aspx");
  await assertInStep();
});

test("nothing changed: nothing is fetched, processed or embedded", async () => {
  await crawl();
  const { error, list, pages } = await crawl();
  assert.equal(error, "");
  assert.deepEqual([list.download.unchanged, list.process.unchanged, list.embed.unchanged], [4, 4, 4]);
  assert.deepEqual([pages.download.unchanged, pages.process.unchanged, pages.embed.unchanged], [2, 2, 2]);
});

test("rows edited, added, deleted: exactly these change, in search as on disk", async () => {
  await crawl();
  const before = (await rows("02_lists/tasks", "vectorstore_map")).find((row) => row["filename"] === "3.md");
  await world.control("POST", "update-item", { list: LIST, id: 1, values: { Title: "Paint the lighthouse" } });
  await world.control("POST", "add-item", { list: LIST, values: { Title: "Polish the sextant" } });
  await world.control("POST", "delete-item", { list: LIST, id: 2 });
  const { error, list } = await crawl();
  assert.equal(error, "");
  assert.deepEqual([list.download.added, list.download.changed, list.download.removed], [1, 1, 2]);
  assert.deepEqual(await files("02_lists/tasks", "02_embedded"), ["1.md", "3.md", "4.md"]);
  assert.equal((await world.search("lighthouse"))[0]?.name, "1.md");
  assert.ok(!(await world.found("wombat grass")).some((name) => ["2.md", "diet.txt"].includes(name)));
  const csv = await readFile(folder("02_lists/tasks", "01_originals/Project Tasks.csv"), "utf8");
  assert.match(csv, /Polish the sextant/);
  assert.doesNotMatch(csv, /wombat/);
  const after = (await rows("02_lists/tasks", "vectorstore_map")).find((row) => row["filename"] === "3.md");
  assert.deepEqual(after, before, "an untouched row is not embedded again");
  await assertInStep();
});

test("pages edited, renamed, deleted, drafted: a draft changes nothing, publishing it does", async () => {
  await crawl();
  await world.control("POST", "edit-page", { path: `${PAGES}/Home.aspx`, text: "<p>The bilby takes over.</p>" });
  await addPage("Secret.aspx", "Nobody may know of the thylacine.", false);
  await world.change("rename", { path: `${PAGES}/News/Party.aspx`, name: "Feast.aspx" });
  const { error, pages } = await crawl();
  assert.equal(error, "");
  assert.deepEqual([pages.download.added, pages.download.changed, pages.download.moved], [0, 0, 1]);
  assert.deepEqual(await files("03_sitepages/pages", "01_originals"), ["Home.aspx.html", "News/Feast.aspx.html"]);
  assert.equal((await world.search("numbat portal"))[0]?.name, "Home.aspx");
  assert.ok(!(await world.found("thylacine")).includes("Secret.aspx"));
  assert.equal((await world.search("quoll party"))[0]?.name, "Feast.aspx");
  await world.control("POST", "publish-page", { path: `${PAGES}/Home.aspx` });
  await world.change("delete", { path: `${PAGES}/News/Feast.aspx` });
  const later = await crawl();
  assert.equal(later.error, "");
  assert.deepEqual([later.pages.download.changed, later.pages.download.removed], [1, 1]);
  assert.match((await world.search("bilby"))[0]?.text ?? "", /bilby takes over/);
  assert.deepEqual(await files("03_sitepages/pages", "01_originals"), ["Home.aspx.html"]);
  await assertInStep();
});

test("approval of pages: what waits for it is not served, however often it was published meanwhile", async () => {
  await world.change("set-library", { path: PAGES, moderation: true });
  const publish = async (name: string, text: string): Promise<void> => {
    await world.control("POST", "edit-page", { path: `${PAGES}/${name}`, text: `<p>${text}</p>` });
    await world.control("POST", "publish-page", { path: `${PAGES}/${name}` });
  };
  await addPage("New.aspx", "The dunnart waits for approval.");
  await publish("New.aspx", "The dunnart waits once more.");
  await publish("Home.aspx", "The bilby waits for approval.");
  await publish("Home.aspx", "The potoroo waits for approval.");
  await crawl();
  assert.match((await world.search("numbat portal"))[0]?.text ?? "", /numbat portal/);
  const silent = async (words: readonly string[]): Promise<void> => {
    for (const word of words)
      assert.doesNotMatch((await world.search(word)).map(({ text }) => text).join(), new RegExp(word));
  };
  await silent(["bilby", "potoroo", "dunnart"]);
  for (const name of ["Home.aspx", "New.aspx"]) await world.change("approve", { path: `${PAGES}/${name}` });
  await crawl();
  for (const word of ["potoroo", "dunnart"]) assert.match((await world.search(word))[0]?.text ?? "", new RegExp(word));
  await silent(["bilby", "numbat"]);
});

test("step by step ends where a crawl ends, and each step leaves its mark in the maps", async () => {
  const downloaded = await crawl({ steps: ["download"] });
  assert.equal(downloaded.error, "");
  const waiting = await rows("02_lists/tasks", "files_map");
  assert.ok(
    waiting.filter((row) => row["file_relative_path"]?.endsWith("01_originals\\Project Tasks.csv")).length === 3,
  );
  const early = await crawl({ steps: ["embed"] });
  assert.equal(early.list.embed.skipped, 3, "rows without a document wait");
  assert.match(early.log, /3 items wait for the process step/);
  const processed = await crawl({ steps: ["process"] });
  assert.deepEqual([processed.list.process.added, processed.pages.process.added], [3, 2]);
  const embedded = await crawl({ steps: ["embed"] });
  assert.equal(embedded.error, "");
  assert.equal((await world.search("who feeds the wombat"))[0]?.name, "2.md");
  await assertInStep();
  await world.control("POST", "delete-item", { list: LIST, id: 3 });
  await crawl({ steps: ["download"] });
  const gone = await crawl({ steps: ["embed"] });
  assert.equal(gone.list.embed.removed, 1);
  await assertInStep();
});

test("a lost document and a lost original are made again", async () => {
  await crawl();
  await rm(folder("02_lists/tasks", "02_embedded/1.md"));
  await rm(folder("03_sitepages/pages", "02_embedded/Home.aspx.html"));
  await writeFile(folder("02_lists/tasks", "02_embedded/stranger.md"), "nobody knows me");
  const { error, log } = await crawl();
  assert.equal(error, "");
  assert.match(log, /Integrity check corrected: 1 missing, 1 orphans deleted, 0 moved/);
  await assertInStep();
  await rm(folder("03_sitepages/pages", "01_originals/Home.aspx.html"));
  await crawl({ steps: ["process"], mode: "full" });
  await assertInStep();
});

test("process again in full mode makes every document anew from its original, without the tenant", async () => {
  await crawl();
  await writeFile(folder("02_lists/tasks", "02_embedded/1.md"), "scribble");
  await world.control("DELETE", "log");
  const { list, pages } = await crawl({ steps: ["process"], mode: "full" });
  assert.deepEqual([list.process.changed, pages.process.changed], [3, 2]);
  assert.deepEqual(await world.requests(), []);
  assert.match(await readFile(folder("02_lists/tasks", "02_embedded/1.md"), "utf8"), /Paint the shed/);
});

test("a dry run tells it all and leaves no trace", async () => {
  const { list, pages, log } = await crawl({ dryRun: true });
  assert.deepEqual([list.download.added, list.process.added, list.embed.added], [4, 3, 4]);
  assert.deepEqual([pages.download.added, pages.process.added, pages.embed.added], [2, 2, 2]);
  assert.match(log, /ADDED '2\.md'/);
  assert.match(log, /PROCESS '2\.md'/);
  assert.deepEqual(await readdir(join(world.storage, "crawler")).catch(() => []), []);
});

test("scope and source pick what is crawled", async () => {
  const lists = await world.crawl({ scope: "lists" });
  assert.deepEqual(
    lists.result.sources.map(({ source_id }) => source_id),
    ["tasks"],
  );
  const one = await world.crawl({ sourceId: "pages" as never });
  assert.deepEqual(
    one.result.sources.map(({ source_id }) => source_id),
    ["pages"],
  );
});

test("half a list loses nothing, and its export keeps the rows that were not listed", async () => {
  await crawl();
  await world.control("POST", "update-item", { list: LIST, id: 3, values: { Title: "Sharpen the scythe" } });
  await world.fault({ url: "/items\\?", times: "always" }, { dropRows: 2 });
  const { list } = await crawl({ scope: "all" });
  assert.equal(list.complete, false);
  assert.deepEqual([list.download.removed, list.download.held], [0, 0]);
  await world.control("DELETE", "faults");
  const csv = await readFile(folder("02_lists/tasks", "01_originals/Project Tasks.csv"), "utf8");
  assert.match(csv, /Sharpen the scythe/);
  assert.match(csv, /Feed the wombat/);
  assert.equal((await world.search("who feeds the wombat"))[0]?.name, "2.md");
});

test("a lost export, a lost or touched original: each is fetched again, and nothing is embedded anew", async () => {
  await crawl();
  await crawl();
  await rm(folder("02_lists/tasks", "01_originals/Project Tasks.csv"));
  await rm(folder("03_sitepages/pages", "01_originals/Home.aspx.html"));
  await writeFile(folder("03_sitepages/pages", "01_originals/News/Party.aspx.html"), "forged");
  const { error, list, pages } = await crawl();
  assert.equal(error, "");
  assert.deepEqual([list.download.changed, pages.download.changed], [3, 2]);
  assert.match(await readFile(folder("02_lists/tasks", "01_originals/Project Tasks.csv"), "utf8"), /wombat/);
  assert.match(await readFile(folder("03_sitepages/pages", "01_originals/News/Party.aspx.html"), "utf8"), /quoll/);
  assert.deepEqual([list.embed.added + list.embed.changed, pages.embed.added + pages.embed.changed], [0, 0]);
  await assertInStep();
});

test("columns whose titles begin with anything but a Latin letter are taken like any other", async () => {
  for (const title of ["\u65e5\u4ed8", "# items", "1st"]) {
    await world.control("POST", "add-column", { list: LIST, title, type: "Text" });
  }
  await world.control("POST", "add-item", {
    list: LIST,
    values: { Title: "Count the stars", "\u65e5\u4ed8": "tuesday", "# items": "many", "1st": "polaris" },
  });
  await crawl();
  const text = await readFile(folder("02_lists/tasks", "02_embedded/4.md"), "utf8");
  for (const word of ["tuesday", "many", "polaris"]) assert.match(text, new RegExp(word));
});

test("a moment in a row says that it is in UTC; a day is the same everywhere", async () => {
  for (const column of [
    { name: "Starts", type: "DateTime" },
    { name: "Day", type: "DateTime", dateOnly: true },
  ]) {
    await world.control("POST", "add-column", { list: LIST, ...column });
  }
  const values = { Title: "Meet the numbat", Starts: "2026-05-01T22:30:00Z", Day: "2026-04-30T22:00:00Z" };
  await world.control("POST", "add-item", { list: LIST, values });
  await crawl();
  const [hit] = await world.search("Meet the numbat");
  assert.match(hit?.text ?? "", /- Starts: 2026-05-01 22:30:00 UTC$/m);
  assert.match(hit?.text ?? "", /- Day: 2026-05-01 00:00:00$/m);
});
