// The steps one by one do what a crawl does, and each is safe by itself.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, test } from "node:test";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { DOMAIN, World } from "./world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
  await world.change("add", { path: "a/owl.txt", text: "The owl shift begins at midnight." });
  await world.change("add", { path: "a/hawk.txt", text: "The hawk shift begins at noon." });
  await world.change("add", { path: "wren.txt", text: "The wren shift was abolished." });
});
afterEach(() => world.close());

async function otherStore(): Promise<VectorStoreId> {
  return (await world.openai().vectorStores.create({ name: "other" })).id as VectorStoreId;
}

async function idsIn(store: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const file of world.openai().vectorStores.files.list(store)) ids.push(file.id);
  return ids.sort();
}

test("download fills the mirror and two maps; embed alone does the rest, and also takes away what is gone", async () => {
  const { source } = await world.crawl({ steps: ["download"] });
  assert.deepEqual([source.download.added, source.embed.added], [3, 0]);
  assert.equal((await world.disk()).length, 3);
  assert.deepEqual(await world.map("vectorstore_map"), []);
  const embedded = await world.crawl({ steps: ["embed"] });
  assert.equal(embedded.source.embed.added, 3);
  assert.deepEqual(await world.contradictions(), []);
  await world.change("delete", { path: "wren.txt" });
  await world.change("rename", { path: "a/owl.txt", name: "barn-owl.txt" });
  await world.crawl({ steps: ["download"] });
  assert.ok((await world.found("wren shift")).includes("wren.txt"), "still in the index until it is embedded");
  const later = await world.crawl({ steps: ["embed"] });
  assert.deepEqual([later.source.embed.removed, later.source.embed.moved, later.source.embed.changed], [1, 1, 0]);
  assert.ok(!(await world.found("wren shift")).includes("wren.txt"));
  assert.deepEqual(await world.contradictions(), []);
});

test("renamed to a type nobody takes: gone from the index by single steps, too", async () => {
  await world.crawl();
  await world.change("rename", { path: "wren.txt", name: "wren.bin" });
  await world.crawl({ steps: ["download"] });
  const { source } = await world.crawl({ steps: ["embed"] });
  assert.equal(source.embed.removed, 1);
  assert.ok(!(await world.found("wren shift")).some((name) => name.startsWith("wren")));
});

test("an embed step that finds its file map lost removes nothing; the next download heals it", async () => {
  await world.crawl();
  await rm(world.folder("files_map.csv"));
  const { source } = await world.crawl({ steps: ["embed"] });
  assert.equal(source.embed.removed, 0);
  assert.equal((await world.storeFileIds()).length, 3);
  await world.crawl();
  assert.deepEqual(await world.contradictions(), []);
});

test("an embed step that would lose nearly everything holds it", async () => {
  await world.change("fill", { path: "bulk", count: 40 });
  await world.crawl();
  await rm(world.folder("files_map.csv"));
  await rm(world.folder("sharepoint_map.csv"));
  const { source, job } = await world.crawl({ steps: ["embed"] });
  assert.deepEqual([source.embed.removed, source.embed.held], [0, 43]);
  assert.match(job.result?.error ?? "", /confirm_deletes=true/);
  assert.equal((await world.storeFileIds()).length, 43);
});

test("another store gets everything and a map of its own; the domain's own store and map are untouched", async () => {
  await world.crawl();
  const other = await otherStore();
  const own = await world.storeFileIds();
  const map = await readFile(world.folder("vectorstore_map.csv"), "utf8");
  const metadata = await readFile(`${world.storage}/domains/${DOMAIN}/files_metadata.json`, "utf8");
  const { source } = await world.crawl({ steps: ["embed"], vectorStoreId: other });
  assert.equal(source.embed.added, 3);
  assert.equal((await idsIn(other)).length, 3);
  assert.deepEqual(await world.storeFileIds(), own);
  assert.equal(await readFile(world.folder("vectorstore_map.csv"), "utf8"), map);
  assert.ok(existsSync(world.folder(`vectorstore_map_${other}.csv`)));
  assert.equal(await readFile(`${world.storage}/domains/${DOMAIN}/files_metadata.json`, "utf8"), metadata);
  assert.equal((await world.app.domains.get(DOMAIN)).vectorStoreId === other, false);
  const again = await world.crawl({ steps: ["embed"], vectorStoreId: other });
  assert.deepEqual([again.source.embed.added, again.source.embed.unchanged], [0, 3]);
  await world.change("update", { path: "a/owl.txt", text: "The owl shift begins at dusk, after all." });
  await world.crawl();
  const changed = await world.crawl({ steps: ["embed"], vectorStoreId: other });
  assert.equal(changed.source.embed.changed, 1, "what the own store has already is still new to this one");
});

test("a file in 03_failed stays there until it changes, or somebody asks for another try", async () => {
  await world.change("add", { path: "broken.pdf", text: "no PDF at all" });
  await world.crawl();
  assert.deepEqual(await world.disk("03_failed"), ["broken.pdf"]);
  const { source } = await world.crawl();
  assert.deepEqual([source.embed.skipped, source.embed.failed], [1, 0]);
  const retried = await world.crawl({ retryFailed: true });
  assert.equal(retried.source.embed.failed, 1);
  assert.deepEqual(await world.disk("03_failed"), ["broken.pdf"]);
  await writeFile(world.folder("03_failed/broken.pdf"), "still none");
  await world.change("delete", { path: "broken.pdf" });
  await world.crawl();
  assert.deepEqual(await world.disk("03_failed"), []);
  assert.deepEqual(await world.contradictions(), []);
});

test("a file moved by hand goes back to its place, and is not fetched again", async () => {
  await world.crawl();
  await mkdir(world.folder("02_embedded/elsewhere"));
  await rename(world.folder("02_embedded/a/owl.txt"), world.folder("02_embedded/elsewhere/bird.txt"));
  await writeFile(world.folder("02_embedded/stranger.txt"), "nobody knows me");
  await world.control("DELETE", "log");
  const dry = await world.crawl({ dryRun: true });
  assert.match(dry.log, /MOVE BACK '.*elsewhere\/bird\.txt'/);
  assert.match(dry.log, /DELETE ORPHAN '.*stranger\.txt'/);
  const { source, log } = await world.crawl();
  assert.deepEqual(dry.source.download, source.download);
  assert.deepEqual(dry.source.embed, source.embed);
  assert.match(log, /Integrity check corrected: 0 missing, 1 orphans deleted, 1 moved/);
  assert.deepEqual([source.download.added, source.download.unchanged], [0, 3]);
  assert.deepEqual(
    (await world.requests()).filter((url) => url.includes("$value")),
    [],
  );
  assert.deepEqual(await world.disk(), ["a/hawk.txt", "a/owl.txt", "wren.txt"]);
  assert.deepEqual(await world.contradictions(), []);
});

test("dry runs of single steps tell the plan, also before there is a store", async () => {
  await world.crawl({ steps: ["download"] });
  const { source, log } = await world.crawl({ steps: ["embed"], dryRun: true });
  assert.equal(source.embed.added, 3);
  assert.match(log, /INDEX PUT '\/sites\/demo\/Shared Documents\/a\/owl\.txt'/);
  assert.equal((await world.app.domains.get(DOMAIN)).vectorStoreId, "");
  await world.change("delete", { path: "wren.txt" });
  const download = await world.crawl({ steps: ["download"], dryRun: true });
  assert.equal(download.source.download.removed, 1);
  assert.equal((await world.disk()).length, 3);
});

test("retry_batches=1 tries once; with two, a download that fails the first time is made good in the same run", async () => {
  await world.fault({ url: "\\$value", nth: 1, times: 1 }, { truncateAfterBytes: 3, ending: "clean" });
  const once = await world.crawl({ retryBatches: 1 });
  assert.equal(once.source.download.failed, 1);
  await world.change("update", { path: "wren.txt", text: "The wren shift is back." });
  await world.fault({ url: "\\$value", nth: 1, times: 2 }, { truncateAfterBytes: 3, ending: "clean" });
  const twice = await world.crawl();
  assert.deepEqual([twice.source.download.failed, twice.job.result?.error], [0, ""]);
  assert.deepEqual(await world.contradictions(), []);
});
