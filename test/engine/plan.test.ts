// The plan of a dry run is what the real run then does, item by item.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { PlannedChange, SourceResult } from "../../src/engine/crawl-request.ts";
import { decodeCsvRow } from "../../src/lib/csv.ts";
import { ofKind } from "../kinds.ts";
import { DOMAIN, World } from "./world.ts";

const LIST = "/sites/demo/Lists/Tasks";
const FOLDERS: Readonly<Record<string, string>> = {
  docs: "01_files/docs",
  tasks: "02_lists/tasks",
  pages: "03_sitepages/pages",
};

type Rows = ReadonlyMap<string, Readonly<Record<string, string>>>;

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.close());

async function rowsOf(source: string): Promise<Rows> {
  const path = join(world.storage, "crawler", DOMAIN, FOLDERS[source] ?? "", "files_map.csv");
  const [header = "", ...lines] = (await readFile(path, "utf8")).split("\r\n").filter(Boolean);
  const columns = decodeCsvRow(header);
  const rows = lines.map((line) => Object.fromEntries(decodeCsvRow(line).map((field, i) => [columns[i] ?? "", field])));
  return new Map(rows.map((row) => [row["sharepoint_unique_file_id"] ?? "", row]));
}

/** `changed report.txt`, for every row that a run added, changed, moved or removed. */
function whatHappened(before: Rows, after: Rows): string[] {
  const told: string[] = [];
  for (const [id, row] of after) {
    const was = before.get(id);
    const name = row["filename"];
    if (!was) told.push(`added ${name}`);
    else if (["file_size", "last_modified_utc", "downloaded_utc"].some((column) => was[column] !== row[column]))
      told.push(`changed ${name}`);
    else if (was["filename"] !== name || was["server_relative_url"] !== row["server_relative_url"])
      told.push(`moved ${name}`);
  }
  for (const [id, row] of before) if (!after.has(id)) told.push(`removed ${row["filename"]}`);
  return told.sort();
}

/** The same, as far as readers of the index see it: what is moved has changed for them. */
async function whatReadersSee(source: string, from: number): Promise<string[]> {
  const { shown } = await world.app.generations(DOMAIN);
  const told: string[] = [];
  for await (const page of world.app.difference(DOMAIN, { from, to: shown })) {
    for (const { sourceId, kind, path } of page) if (sourceId === source) told.push(`${kind} ${path}`);
  }
  return told.sort();
}

function planned(source: SourceResult, step: PlannedChange["step"]): readonly PlannedChange[] {
  return (source.planned ?? []).filter((one) => one.step === step);
}

const MEANT = ["added", "changed", "moved", "removed"];

function sayPlan(changes: readonly PlannedChange[], by: (one: PlannedChange) => string): string[] {
  return changes
    .filter(({ change }) => MEANT.includes(change))
    .map(by)
    .sort();
}

function reasons(source: SourceResult): Record<string, string> {
  return Object.fromEntries(
    planned(source, "download").map(({ change, name, reason }) => [`${change} ${name}`, reason]),
  );
}

describe("the plan of a dry run", () => {
  test("is what the real run then does, item by item, for files, rows and pages", async () => {
    await addListAndPages();
    for (const name of ["same", "edited", "renamed", "moved", "gone"]) {
      await world.change("add", { path: `${name}.txt`, text: `The ${name} document says ${name}.` });
    }
    await world.change("add", { path: "broken.pdf", text: "no PDF at all" });
    await world.crawl();
    const names = Object.keys(FOLDERS);
    const before = new Map(await Promise.all(names.map(async (name) => [name, await rowsOf(name)] as const)));
    const { shown } = await world.app.generations(DOMAIN);

    await world.change("update", { path: "edited.txt", text: "Another text, and a longer one." });
    await world.change("rename", { path: "renamed.txt", name: "other name.txt" });
    await world.change("move", { path: "moved.txt", to: "folder/moved.txt" });
    await world.change("delete", { path: "gone.txt" });
    await world.change("add", { path: "fresh.txt", text: "The fresh document is new." });
    await world.change("add", { path: "photo.xyz", text: "not for the index" });
    await world.control("POST", "update-item", { list: LIST, id: 1, values: { Title: "Paint the barn" } });
    await world.control("POST", "delete-item", { list: LIST, id: 2 });
    await world.control("POST", "add-item", { list: LIST, values: { Title: "Water the ferns" } });
    await addPage("Late.aspx", "The late page.");
    await world.control("POST", "delete", { path: "/sites/demo/SitePages/Home.aspx" });

    const dry = await world.crawl({ dryRun: true });
    const real = await world.crawl();
    assert.equal(real.job.result?.error, "");
    assert.equal(dry.result.sources.length, 3);
    for (const source of dry.result.sources) {
      const id = source.source_id;
      const done = real.result.sources.find(({ source_id }) => source_id === id);
      for (const step of ["download", "process", "embed"] as const) {
        assert.deepEqual(source[step], done?.[step], `${id} ${step}`);
        const told = planned(source, step).length;
        const { unchanged: _, failed: __, ...counts } = source[step];
        assert.equal(
          told,
          Object.values(counts).reduce((sum, count) => sum + count, 0),
          `${id} ${step}`,
        );
      }
      const onDisk = sayPlan(planned(source, "download"), ({ change, name }) => `${change} ${name}`);
      assert.deepEqual(onDisk, whatHappened(before.get(id) ?? new Map(), await rowsOf(id)), id);
      assert.ok(onDisk.length >= 2, id);
      const forReaders = sayPlan(planned(source, "embed"), ({ change, path }) =>
        asPage(`${change === "moved" ? "changed" : change} ${path}`),
      );
      assert.deepEqual(forReaders, (await whatReadersSee(id, shown)).map(asPage), id);
      assert.equal(source.planned_more, 0);
    }
    const [files] = dry.result.sources;
    assert.deepEqual(files && reasons(files), {
      "added fresh.txt": "new at the source",
      "changed edited.txt": "size 32 became 31",
      "moved moved.txt": "moved from '/sites/demo/Shared Documents/moved.txt'",
      "moved other name.txt": "renamed from 'renamed.txt'",
      "removed gone.txt": "removed at the source",
      "skipped photo.xyz": "file type 'xyz' is not accepted",
    });
    const waiting = files && planned(files, "embed").find(({ change }) => change === "skipped");
    assert.match(waiting?.reason ?? "", /^waits in 03_failed until it changes: ./);
  });

  test("says what is held, and what leaves with its source", async () => {
    await world.change("fill", { path: "bulk", count: 40 });
    await world.crawl();
    await world.change("delete", { path: "bulk" });
    const dry = await world.crawl({ dryRun: true });
    const held = planned(dry.source, "download");
    assert.deepEqual([held.length, new Set(held.map(({ change }) => change))], [40, new Set(["held"])]);
    assert.match(held[0]?.reason ?? "", /^held: the source lists nothing/);
    assert.match(held[0]?.path ?? "", /^bulk\//);

    const domain = await world.app.domains.get(DOMAIN);
    const [docs] = domain.sources;
    assert.ok(docs);
    const other = { ...docs, sourceId: "other" as typeof docs.sourceId };
    await world.app.domains.update({ ...domain, sources: [other] }, domain);
    const { result } = await world.crawl({ dryRun: true, confirmDeletes: true });
    const retired = result.sources.find(({ source_id }) => source_id === "docs");
    assert.ok(retired);
    for (const step of ["download", "embed"] as const) {
      const gone: readonly PlannedChange[] = planned(retired, step).filter(({ change }) => change === "removed");
      assert.equal(gone.length, 40, step);
      assert.equal(gone[0]?.reason, "its source was taken out of the domain");
    }
  });

  test("is as long as it may be, and says how much did not fit; what would change comes before what is skipped", async () => {
    await world.change("fill", { path: "bulk", count: 320 });
    await world.change("add", { path: "aaa.xyz", text: "not for the index" });
    const { source } = await world.crawl({ dryRun: true });
    assert.equal(source.planned?.length, 500);
    assert.equal(source.planned_more, 320 + 320 + 1 - 500);
    assert.ok(source.planned?.every(({ change }) => change === "added"));
    const real = await world.crawl();
    assert.equal(real.source.planned, undefined);
  });
});

/** The document of a page has the page's name and an ending of its own. */
function asPage(path: string): string {
  return path.replace(/\.aspx\.html$/, ".aspx");
}

async function addPage(name: string, text: string): Promise<void> {
  const path = `/sites/demo/SitePages/${name}`;
  await world.control("POST", "add-page", { path, title: name, text: `<p>${text}</p>`, published: true });
}

async function addListAndPages(): Promise<void> {
  await world.control("POST", "add-list", { path: LIST, title: "Project Tasks", columns: [] });
  for (const title of ["Paint the shed", "Feed the wombat", "Sharpen pencils"]) {
    await world.control("POST", "add-item", { list: LIST, values: { Title: title } });
  }
  await addPage("Home.aspx", "Welcome to the numbat portal.");
  await addPage("Stay.aspx", "This page stays.");
  const domain = await world.app.domains.get(DOMAIN);
  const [docs] = domain.sources;
  assert.ok(docs?.sourceType === "file_sources");
  const place = { siteUrl: world.sandbox.siteUrl, filter: "", limits: docs.limits };
  const id = (name: string): typeof docs.sourceId => name as typeof docs.sourceId;
  await world.app.domains.update(
    {
      ...domain,
      sources: [
        docs,
        ofKind("list_sources", { ...place, sourceId: id("tasks"), listName: "Project Tasks" }),
        ofKind("sitepage_sources", { ...place, sourceId: id("pages"), urlPart: "/SitePages" }),
      ],
    },
    domain,
  );
}
