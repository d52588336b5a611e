// A crawl by the change log ends as a full listing does, and any doubt about the log leads to one.
import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, test } from "node:test";
import { DOMAIN, World } from "./world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
  for (const name of ["aardvark", "bongo", "caracal", "dugong"]) {
    await world.change("add", { path: `animals/${name}.txt`, text: `The ${name} rule is number one.` });
  }
  await world.change("add", { path: "picture.png", text: "no text" });
  await world.crawl();
  await world.control("DELETE", "log");
});
afterEach(() => world.close());

async function listings(): Promise<number> {
  const requests = await world.requests();
  return requests.filter((url) => /\/items\?.*\$top=/.test(url) && !/\$filter=[^&]*\bId\b/.test(url)).length;
}

function ledger<T>(work: (ledger: DatabaseSync) => T): T {
  const opened = new DatabaseSync(join(world.storage, "crawler", DOMAIN, "ledger.sqlite"));
  try {
    return work(opened);
  } finally {
    opened.close();
  }
}

/** What the feed brought about must be what a listing finds already there, and a comparison of everything with the index. */
async function assertListingAgrees(): Promise<void> {
  const nothing = "policy = '', change_mark = '', listed_at = '', embedded_rules = '', embedded_rev = 0";
  ledger((opened) => opened.exec(`UPDATE source SET ${nothing}`));
  const { source, job } = await world.crawl();
  assert.equal(job.result?.error, "");
  const { unchanged, skipped, ...rest } = source.download;
  assert.deepEqual(rest, { added: 0, changed: 0, moved: 0, removed: 0, failed: 0, empty: 0, held: 0 });
  const { unchanged: _, ...done } = source.embed;
  assert.deepEqual(done, { added: 0, changed: 0, moved: 0, removed: 0, skipped: 0, failed: 0, empty: 0, held: 0 });
  assert.deepEqual(await world.contradictions(), []);
}

test("nothing changed: a handful of requests, no listing, and the same counts as a listing gives", async () => {
  const { source, log } = await world.crawl();
  assert.ok((await world.requests()).length < 8, `${(await world.requests()).join("\n")}`);
  assert.equal(await listings(), 0);
  assert.deepEqual(
    [source.complete, source.download.unchanged, source.download.skipped, source.embed.unchanged],
    [true, 4, 1, 4],
  );
  assert.match(log, /Integrity check passed: 4 files verified/);
  await assertListingAgrees();
});

test("added, edited, renamed, moved, deleted, restored: by the change log as by a listing", async () => {
  await world.change("add", { path: "animals/eland.txt", text: "The eland rule is new." });
  await world.change("update", { path: "animals/bongo.txt", text: "The bongo rule is number two hundred." });
  await world.change("rename", { path: "animals/caracal.txt", name: "lynx.txt" });
  await world.change("move", { path: "animals/dugong.txt", to: "sea/dugong.txt" });
  await world.change("delete", { path: "animals/aardvark.txt" });
  const { source, log, job } = await world.crawl();
  assert.equal(job.result?.error, "");
  assert.match(log, /by the change log/);
  assert.equal(await listings(), 0);
  const { added, changed, moved, removed } = source.download;
  assert.deepEqual({ added, changed, moved, removed }, { added: 1, changed: 1, moved: 2, removed: 1 });
  assert.deepEqual(await world.disk(), [
    "animals/bongo.txt",
    "animals/eland.txt",
    "animals/lynx.txt",
    "sea/dugong.txt",
  ]);
  assert.match((await world.search("bongo rule"))[0]?.text ?? "", /two hundred/);
  assert.ok(!(await world.found("aardvark rule")).includes("aardvark.txt"));
  await world.change("restore", { path: "/sites/demo/Shared Documents/animals/aardvark.txt" });
  await world.crawl();
  assert.ok((await world.found("aardvark rule")).includes("aardvark.txt"));
  assert.deepEqual(await world.contradictions(), []);
  await assertListingAgrees();
});

test("a renamed folder is one entry in the log and many new paths: everything is listed", async () => {
  await world.change("rename", { path: "animals", name: "beasts" });
  const { source, log } = await world.crawl();
  assert.ok((await listings()) > 0);
  assert.match(log, /Change feed unusable \(.+\): listing everything/);
  assert.equal(source.download.moved, 4);
  assert.deepEqual(await world.contradictions(), []);
});

test("a deleted folder takes its files along", async () => {
  await world.change("delete", { path: "animals" });
  const { source } = await world.crawl();
  assert.equal(source.download.removed, 4);
  assert.deepEqual(await world.disk(), []);
  assert.deepEqual(await world.contradictions(), []);
});

test("a change log that begins too late to tell: everything is listed", async () => {
  await world.change("delete", { path: "animals/bongo.txt" });
  await world.control("POST", "expire-change-log", {});
  const { source, job } = await world.crawl();
  assert.equal(job.result?.error, "");
  assert.ok((await listings()) > 0);
  assert.equal(source.download.removed, 1);
  assert.deepEqual(await world.contradictions(), []);
});

test("a row taken out of a map file by hand is not remembered away: everything is listed", async () => {
  const path = world.folder("sharepoint_map.csv");
  const rows = (await readFile(path, "utf8")).split("\r\n");
  await writeFile(path, rows.filter((row) => !row.includes("bongo.txt")).join("\r\n"));
  const { job } = await world.crawl();
  assert.equal(job.result?.error, "");
  assert.ok((await listings()) > 0);
  assert.deepEqual(await world.contradictions(), []);
  assert.ok((await world.names("sharepoint_map")).includes("bongo.txt"));
});

test("a file lost or altered on disk is fetched again although nothing changed at the source", async () => {
  await rm(world.folder("02_embedded/animals/bongo.txt"));
  await writeFile(world.folder("02_embedded/animals/dugong.txt"), "The dugong rule is a lie.");
  const { source, log } = await world.crawl();
  assert.equal(await listings(), 0);
  assert.deepEqual([source.download.added, source.download.changed], [1, 1]);
  assert.match(log, /Integrity check corrected: 2 missing, 0 orphans deleted, 0 moved/);
  assert.match(await readFile(world.folder("02_embedded/animals/dugong.txt"), "utf8"), /number one/);
  assert.deepEqual(await world.contradictions(), []);
});

test("a listing of everything finds what was edited in ledger and mirror, although the source lists it as before", async () => {
  const edits: Readonly<Record<string, string>> = {
    aardvark: "UPDATE file SET modified_at = '2001-01-01T00:00:00.000000Z'",
    bongo: "UPDATE file SET content_version = '999'",
    caracal: "UPDATE file SET source_error = 'refused'",
  };
  ledger((opened) => {
    opened.exec("UPDATE source SET change_mark = ''");
    for (const [name, edit] of Object.entries(edits)) opened.exec(`${edit} WHERE name = '${name}.txt'`);
  });
  await writeFile(world.folder("02_embedded/animals/dugong.txt"), "The dugong rule is a lie.");
  await world.change("add", { path: "animals/eland.txt", text: "The eland rule is new." });
  const { source } = await world.crawl();
  assert.ok((await listings()) > 0);
  const { added, changed, unchanged } = source.download;
  assert.deepEqual({ added, changed, unchanged }, { added: 1, changed: 4, unchanged: 0 });
  assert.match(await readFile(world.folder("02_embedded/animals/dugong.txt"), "utf8"), /number one/);
  assert.deepEqual(await world.contradictions(), []);
  await assertListingAgrees();
});

test("a file that was away when it was to be embedded is embedded when it is back", async () => {
  const path = world.folder("02_embedded/animals/bongo.txt");
  await world.change("update", { path: "animals/bongo.txt", text: "The bongo rule is number two hundred." });
  await world.crawlUntil((line) => {
    if (line.startsWith("Integrity check")) renameSync(path, `${world.storage}/away.txt`);
    return false;
  });
  assert.doesNotMatch((await world.search("bongo rule"))[0]?.text ?? "", /two hundred/);
  await rename(`${world.storage}/away.txt`, path);
  await world.crawl();
  assert.match((await world.search("bongo rule"))[0]?.text ?? "", /two hundred/);
  await assertListingAgrees();
});

test("a file whose item the last listing missed, and that run was cut off: everything is listed before it goes", async () => {
  ledger((opened) => opened.exec("UPDATE item SET listed = 0 WHERE name = 'bongo.txt'"));
  const { source } = await world.crawl();
  assert.ok((await listings()) > 0);
  assert.equal(source.download.removed, 0);
  await assertListingAgrees();
});

test("what is owed to the integrity check is not paid by a run that judges only what changed", async () => {
  const owed = (): unknown =>
    ledger((opened) => opened.prepare("SELECT hashes_owed, hash_next FROM source WHERE source_id = 'docs'").get());
  const before = owed() as { hashes_owed: number; hash_next: number };
  await world.change("update", { path: "animals/bongo.txt", text: "The bongo rule is number two." });
  assert.match((await world.crawl()).log, /by the change log/);
  assert.deepEqual({ ...(owed() as object) }, { ...before, hashes_owed: before.hashes_owed + 1 });
});

test("now and then everything is listed, however quiet the change log", async () => {
  let listed = 0;
  for (let run = 1; run <= 10; run++) {
    await world.control("DELETE", "log");
    await world.crawl();
    if ((await listings()) > 0) listed += 1;
  }
  assert.equal(listed, 1);
});

test("same size, same time, other bytes: found when its turn to be hashed has come, at once when asked", async () => {
  const path = world.folder("02_embedded/animals/bongo.txt");
  const before = await readFile(path, "utf8");
  const { mtimeMs } = await stat(path);
  await writeFile(path, before.replace("one", "two"));
  await utimes(path, mtimeMs / 1000, mtimeMs / 1000);
  const { source, log } = await world.crawl({ checksum: true });
  assert.equal(source.download.changed, 1);
  assert.match(log, /Read 4 files to the last byte/);
  assert.equal(await readFile(path, "utf8"), before);
});

test("a filter that changed is another question: everything is listed with it", async () => {
  const domain = await world.app.domains.get(DOMAIN);
  const [config] = domain.sources;
  assert.ok(config?.sourceType === "file_sources");
  await world.change("set-columns", { path: "animals/bongo.txt", columns: { Keep: "yes" } });
  await world.app.domains.update(
    { ...domain, sources: [Object.assign({}, config, { filter: "Keep eq 'yes'" })] },
    domain,
  );
  const { source } = await world.crawl();
  assert.ok((await listings()) > 0);
  assert.equal(source.download.removed, 4, "three texts and the picture");
  assert.deepEqual(await world.disk(), ["animals/bongo.txt"]);
});
