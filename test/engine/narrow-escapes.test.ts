// Rare coincidences of failures lose no item.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import type { SourceConfig } from "../../src/contracts/domain.ts";
import { parseSourceId, type VectorStoreId } from "../../src/contracts/ids.ts";
import { ofKind } from "../kinds.ts";
import { DOMAIN, World } from "./world.ts";

const LIST = "/sites/demo/Lists/Tasks";
const GONE =
  '{"odata.error":{"code":"-2147024894, System.IO.FileNotFoundException","message":{"value":"File Not Found."}}}';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.close());

async function plant(): Promise<void> {
  for (const name of ["owl", "hawk", "wren", "crow"])
    await world.change("add", { path: `${name}.txt`, text: `The ${name} shift begins at midnight.` });
}

type Kind =
  | { readonly listName: string }
  | { readonly urlPart: string; readonly type: "file_sources" | "sitepage_sources" };

async function setSource(id: string, kind: Kind, siteUrl = world.sandbox.siteUrl): Promise<void> {
  const limits = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };
  const place = { sourceId: parseSourceId(id), siteUrl, filter: "", limits };
  const source: SourceConfig = ofKind("listName" in kind ? "list_sources" : kind.type, { ...place, ...kind });
  const domain = await world.app.domains.get(DOMAIN);
  await world.app.domains.update({ ...domain, sources: [source] }, domain);
}

async function addList(...titles: string[]): Promise<void> {
  await world.control("POST", "add-list", { path: LIST, title: "Tasks", columns: [{ name: "Details", type: "Note" }] });
  for (const title of titles) await world.control("POST", "add-item", { list: LIST, values: { Title: title } });
}

const listFile = (...path: string[]): string => join(world.storage, "crawler", DOMAIN, "02_lists/tasks", ...path);

test("an item that was said to be gone, and is not, is fetched by the next run, whatever the change log says", async () => {
  await plant();
  await world.crawl();
  await world.change("update", { path: "owl.txt", text: "The owl shift begins at dusk, from now on." });
  const reply = { status: 404, headers: { "content-type": "application/json" }, body: GONE };
  await world.fault({ url: "\\$value", times: 1 }, reply);
  await world.crawl();
  await world.crawl();
  assert.match((await world.search("owl shift"))[0]?.text ?? "", /at dusk/);
  assert.deepEqual(await world.contradictions(), []);
});

test("one failed file that is missing does not keep the others from being tried again, nor new ones out of the index", async () => {
  await world.change("add", { path: "a.pdf", text: "no PDF at all" });
  await world.change("add", { path: "b.pdf", text: "no PDF either" });
  await world.crawl();
  await world.change("add", { path: "kite.txt", text: "The kite shift is new." });
  await world.crawl({ steps: ["download"] });
  await rm(world.folder("03_failed/a.pdf"));
  const { source, log } = await world.crawl({ steps: ["embed"], retryFailed: true });
  assert.deepEqual([source.embed.added, source.embed.failed, source.embed.skipped], [1, 1, 1]);
  assert.match(log, /WARNING: '.*a\.pdf' is missing on disk/);
  assert.ok((await world.found("kite shift")).includes("kite.txt"));
});

test("embedding into another store leaves failed files of the own one where they are", async () => {
  await world.change("add", { path: "broken.pdf", text: "no PDF at all" });
  await world.change("add", { path: "good.txt", text: "The good one." });
  await world.crawl();
  const map = await readFile(world.folder("files_map.csv"), "utf8");
  const other = (await world.openai().vectorStores.create({ name: "other" })).id as VectorStoreId;
  const { source } = await world.crawl({ steps: ["embed"], vectorStoreId: other });
  assert.equal(source.embed.added, 1);
  assert.deepEqual(await world.disk("03_failed"), ["broken.pdf"]);
  assert.equal(await readFile(world.folder("files_map.csv"), "utf8"), map);
});

test("broken bytes of another size than listed are believed when they come a second time", async () => {
  await world.change("add", { path: "report.docx", text: "protected", listedSize: 5000 });
  await world.crawl();
  assert.deepEqual(await world.disk("03_failed"), []);
  await world.crawl();
  assert.deepEqual(await world.disk("03_failed"), ["report.docx"]);
  await world.control("DELETE", "log");
  await world.crawl();
  assert.deepEqual(
    (await world.requests()).filter((url) => url.includes("$value")),
    [],
  );
});

test("rows that wait to be processed when their site gets another address lose nothing", async () => {
  await addList("Feed the wombat", "Paint the shed");
  await setSource("tasks", { listName: "Tasks" });
  await world.crawl({ steps: ["download"] });
  await setSource("tasks", { listName: "Tasks" }, world.sandbox.siteUrl.replace("127.0.0.1", "localhost"));
  const { job, source } = await world.crawl();
  assert.equal(job.result?.error, "");
  assert.equal(source.embed.added, 2);
  assert.equal((await world.search("who feeds the wombat"))[0]?.name, "1.md");
});

test("an attachment with a name longer than a file name may be, percent-encoded, goes to 03_failed like any other", async () => {
  await addList("Feed the wombat");
  const name = `${"会議の議事録".repeat(6)}.pdf`;
  await world.control("POST", "add-attachment", { list: LIST, id: 1, name, text: "no PDF" });
  await setSource("tasks", { listName: "Tasks" });
  const { log } = await world.crawl();
  assert.doesNotMatch(log, /cannot move/);
  assert.equal(await readFile(listFile("03_failed/attachments/1", name), "utf8"), "no PDF");
});

test("a source id that another kind of source takes over: neither takes the other's documents away", async () => {
  await plant();
  for (let at = 0; at < 4; at++) {
    const page = { path: `/sites/demo/SitePages/P${at}.aspx`, title: `P${at}`, text: `<p>The quoll party ${at}.</p>` };
    await world.control("POST", "add-page", { ...page, published: true });
  }
  await setSource("kb", { type: "file_sources", urlPart: "/Shared Documents" });
  await world.crawl();
  await setSource("kb", { type: "sitepage_sources", urlPart: "/SitePages" });
  await world.crawl();
  await world.crawl({ confirmDeletes: true });
  assert.equal((await world.storeFileIds()).length, 4);
  assert.match((await world.found("quoll party")).join(), /P\d\.aspx/);
  assert.ok(!(await world.found("owl shift")).includes("owl.txt"));
});

test("a file map lost between download and embed empties nothing", async () => {
  await plant();
  await world.crawl();
  await world.crawl();
  await world.crawlUntil((line) => {
    if (/^Integrity check/.test(line)) rmSync(world.folder("files_map.csv"), { force: true });
    return false;
  });
  assert.equal((await world.storeFileIds()).length, 4);
  await world.crawl();
  assert.deepEqual(await world.contradictions(), []);
});

test("a download and a process step at once take turns: no row is left with the text of before", async () => {
  await addList(...Array.from({ length: 60 }, (_, at) => `Task ${at}`));
  await setSource("tasks", { listName: "Tasks" });
  await world.crawl({ steps: ["download"] });
  await world.control("POST", "update-item", { list: LIST, id: 1, values: { Title: "Feed the wombat" } });
  const [processed, downloaded] = await Promise.all([
    world.crawl({ steps: ["process"] }),
    world.crawl({ steps: ["download"] }),
  ]);
  assert.deepEqual([processed.job.result?.error, downloaded.job.result?.error], ["", ""]);
  await world.crawl();
  assert.match(await readFile(listFile("02_embedded/1.md"), "utf8"), /wombat/);
  assert.equal((await world.search("who feeds the wombat"))[0]?.name, "1.md");
});
