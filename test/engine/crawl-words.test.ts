// Counts and messages of a crawl say exactly what is wrong: missing files, orphans, anomalies.
import assert from "node:assert/strict";
import { readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { CrawlRequest } from "../../src/engine/crawl-request.ts";
import { parseDomain } from "../kinds.ts";
import { type SourceView, sourceView } from "../stories/source-view.ts";
import { openStage, type Stage } from "../stories/stage.ts";
import { DOMAIN, World } from "./world.ts";

const LIST = "/sites/demo/Lists/Tasks";
const PAGES = "/sites/demo/SitePages";

for (const backend of [undefined, "remote"] as const) {
  describe(`a file that is missing when it is to be embedded (${backend ?? "embedded"})`, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage({}, backend);
      await stage.plant();
    });
    after(() => stage.close());

    /** Nothing that is kept tells where the server has its files. */
    const assertDiscreet = async (): Promise<void> => {
      const told = [
        JSON.stringify(await stage.docs.map("vectorstore_map")),
        JSON.stringify(await stage.docs.map("files_map")),
      ];
      for (const text of told) assert.doesNotMatch(text, /ENOENT|lockstep-story/);
    };

    for (const mode of ["incremental", "full"] as const) {
      test(`is skipped with a warning and counted (${mode}); what the store has of it stays`, async () => {
        await rm(join(stage.docs.folder, "02_embedded/Travel/policy.txt"));
        const { source, log, job } = await stage.tryCrawl({ steps: ["embed"], mode });
        assert.deepEqual([source.embed.skipped, source.embed.failed, source.embed.removed], [1, 0, 0]);
        assert.match(log, /WARNING: .*02_embedded\/Travel\/policy\.txt' is missing on disk/);
        assert.doesNotMatch(log, /ENOENT/);
        assert.doesNotMatch(JSON.stringify(job.result), /ENOENT|lockstep-story/);
        await assertDiscreet();
        assert.deepEqual(await stage.world.found("zebra"), ["policy.txt"]);
        await stage.crawl();
        await stage.inStep();
      });
    }

    test("a link that leads nowhere is as good as missing: neither path nor code is written down", async () => {
      await stage.change("add", { path: "linked.txt", text: "The kudu line." });
      await stage.crawl({ steps: ["download"] });
      const file = join(stage.docs.folder, "02_embedded/linked.txt");
      await rm(file);
      await symlink("/nowhere/lockstep-story", file);
      const { source, log } = await stage.tryCrawl({ steps: ["embed"] });
      assert.equal(source.embed.failed, 1);
      assert.match(log, /02_embedded\/linked\.txt' is missing on disk/);
      assert.doesNotMatch(log, /ENOENT/);
      await assertDiscreet();
      await stage.crawl();
      await stage.inStep();
    });

    test("also one that the store never had, and one of which no hash is known", async () => {
      await stage.change("add", { path: "new.txt", text: "The ibex line." });
      await stage.crawl({ steps: ["download"] });
      await rm(join(stage.docs.folder, "02_embedded/new.txt"));
      await rm(join(stage.docs.folder, ".lockstep"), { recursive: true });
      const { source, log } = await stage.tryCrawl({ steps: ["embed"] });
      assert.deepEqual([source.embed.skipped, source.embed.failed, source.embed.added], [1, 0, 0]);
      assert.doesNotMatch(log, /ENOENT/);
      await assertDiscreet();
      await stage.crawl();
      await stage.inStep();
    });
  });
}

describe("the integrity check counts what is wrong, and nothing else", () => {
  let stage: Stage;
  let pages: SourceView;
  let tasks: SourceView;
  before(async () => {
    stage = await openStage({});
    const { world } = stage;
    const site_url = world.sandbox.siteUrl;
    await world.control("POST", "add-list", { path: LIST, title: "Tasks" });
    for (const word of ["zebra", "quagga", "okapi"])
      await stage.change("add-item", { list: LIST, values: { Title: `Feed the ${word}` } });
    for (const name of ["Home", "News", "Pay", "Care"]) {
      const text = `<p>About ${name}.</p>`;
      await stage.change("add-page", { path: `${PAGES}/${name}.aspx`, title: name, text, published: true });
    }
    const json = {
      ...world.domainJson(),
      file_sources: [],
      list_sources: [{ source_id: "tasks", site_url, list_name: "Tasks", filter: "" }],
      sitepage_sources: [{ source_id: "pages", site_url, sharepoint_url_part: "/SitePages", filter: "" }],
    };
    await world.app.domains.update(parseDomain(json, DOMAIN), await world.app.domains.get(DOMAIN));
    await stage.crawl();
    pages = sourceView(world, "sitepage_sources", "pages", PAGES);
    tasks = sourceView(world, "list_sources", "tasks", LIST);
  });
  after(() => stage.close());

  const checks = async (wishes: Partial<CrawlRequest> = {}): Promise<string[]> =>
    (await stage.crawl(wishes)).log.split("\n").filter((line) => line.startsWith("Integrity check"));

  test("a page that is deleted or moved at its source is no orphan", async () => {
    await stage.change("delete", { path: `${PAGES}/News.aspx` });
    const [line] = await checks({ scope: "sitepages" });
    assert.equal(line, "Integrity check passed: 3 files verified");
    for (const part of ["01_originals", "02_embedded"] as const)
      assert.deepEqual(await pages.disk(part), ["Care.aspx.html", "Home.aspx.html", "Pay.aspx.html"]);
    await stage.change("rename", { path: `${PAGES}/Pay.aspx`, name: "Salary.aspx" });
    assert.deepEqual(await checks({ scope: "sitepages" }), ["Integrity check passed: 3 files verified"]);
    assert.deepEqual(await pages.disk("01_originals"), ["Care.aspx.html", "Home.aspx.html", "Salary.aspx.html"]);
  });

  test("also one that was not processed yet, and one that another takes the place of", async () => {
    await stage.change("edit-page", { path: `${PAGES}/Care.aspx`, text: "<p>About better care.</p>" });
    await stage.change("publish-page", { path: `${PAGES}/Care.aspx` });
    await stage.crawl({ scope: "sitepages", steps: ["download"] });
    await stage.change("delete", { path: `${PAGES}/Care.aspx` });
    const text = "<p>About new care.</p>";
    await stage.change("add-page", { path: `${PAGES}/Care.aspx`, title: "Care", text, published: true });
    assert.deepEqual(await checks({ scope: "sitepages" }), ["Integrity check passed: 3 files verified"]);
    assert.deepEqual(await pages.disk("01_originals"), ["Care.aspx.html", "Home.aspx.html", "Salary.aspx.html"]);
    assert.match((await pages.read("Care.aspx.html")).toString(), /new care/);
  });

  test("a lost export of a list is one anomaly, whatever its number of rows; a lost document is one more", async () => {
    await rm(join(tasks.folder, "01_originals/Tasks.csv"));
    assert.deepEqual(await checks({ scope: "lists" }), [
      "Integrity check corrected: 1 missing, 0 orphans deleted, 0 moved",
    ]);
    await rm(join(tasks.folder, "01_originals/Tasks.csv"));
    await rm(join(tasks.folder, "02_embedded/2.md"));
    assert.deepEqual(await checks({ scope: "lists" }), [
      "Integrity check corrected: 2 missing, 0 orphans deleted, 0 moved",
    ]);
    assert.deepEqual(await checks({ scope: "lists" }), ["Integrity check passed: 3 files verified"]);
  });

  test("B6: a files_map.csv that is not there is said, and means full mode", async () => {
    const first = await stage.crawl({ scope: "sitepages" });
    assert.doesNotMatch(first.log, /files_map\.csv/);
    await rm(join(pages.folder, "files_map.csv"));
    const { log } = await stage.crawl({ scope: "sitepages" });
    assert.match(log, /files_map\.csv .*mode=full/);
    assert.doesNotMatch((await stage.crawl({ scope: "sitepages" })).log, /files_map\.csv/);
  });

  test("a dry run of the download works on maps of its own, which are gone at its end", async () => {
    await stage.change("delete", { path: `${PAGES}/Home.aspx` });
    const names = async (): Promise<string[]> => (await readdir(pages.folder)).sort();
    const [before, map] = [await names(), await readFile(join(pages.folder, "files_map.csv"), "utf8")];
    const seen = new Set<string>();
    const look = async (): Promise<void> => {
      for (const name of await names()) if (!before.includes(name)) seen.add(name);
    };
    const job = await stage.world.dryRunWatched({ scope: "sitepages", steps: ["download"] }, look);
    assert.equal(job.result?.ok, true);
    assert.deepEqual([...seen].sort(), [`files_map_${job.jobId}.csv`, `sharepoint_map_${job.jobId}.csv`]);
    assert.deepEqual(await names(), before);
    assert.equal(await readFile(join(pages.folder, "files_map.csv"), "utf8"), map);
  });
});

test("a map file that somebody edited or took away is named, with the rows that are not as they were written", async (t) => {
  const world = await World.open();
  t.after(() => world.close());
  for (const name of ["a", "b", "c", "d"])
    await world.change("add", { path: `${name}.txt`, text: `The ${name} text.` });
  await world.crawl();
  const path = world.folder("files_map.csv");
  const [header = "", ...rows] = (await readFile(path, "utf8")).split("\r\n").filter(Boolean);
  const edited = [rows[0]?.replace("a.txt", "x.txt"), rows[1], rows[2]?.replace(/,[^,]*,/, ",another-id,")];
  await writeFile(path, `${[header, ...edited].join("\r\n")}\r\n`);
  const words = "Source 'docs': files_map.csv was edited since it was written:";
  const dry = await world.crawl({ dryRun: true });
  assert.match(dry.log, new RegExp(`${words} 2 rows fewer, 1 more, 1 other\\.`));
  assert.match((await world.crawl()).log, new RegExp(words));
  assert.doesNotMatch((await world.crawl()).log, /_map\.csv/);
  await writeFile(path, `${header}\r\n`);
  assert.match((await world.crawl()).log, new RegExp(`${words} 4 rows fewer, 0 more, 0 other\\.`));
  await rm(path);
  assert.match((await world.crawl()).log, /Source 'docs': files_map\.csv is missing: 4 rows fewer\./);
  assert.doesNotMatch((await world.crawl()).log, /_map\.csv/);
});
