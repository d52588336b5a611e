// What people write into files_metadata.json reaches the search, and survives losses of ledger or file.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { DOMAIN, World } from "./world.ts";

type Entry = Record<string, unknown>;

let world: World;
before(async () => {
  world = await World.open();
  await world.change("add", { path: "a.txt", text: "The axolotl budget is 12 euros." });
  await world.change("add", { path: "b.txt", text: "Badgers sleep in winter." });
  await crawl();
});
after(() => world.close());

const path = (): string => join(world.storage, "domains", DOMAIN, "files_metadata.json");
const entries = async (): Promise<Entry[]> => JSON.parse(await readFile(path(), "utf8")) as Entry[];
const topics = async (): Promise<unknown[]> => (await entries()).map(({ filename, topic }) => [filename, topic]);
const shown = async (text: string): Promise<unknown> => (await world.search(text))[0]?.metadata?.["topic"];

async function crawl(): Promise<void> {
  assert.equal((await world.crawl()).job.result?.error, "");
}

async function annotate(name: string, topic: string): Promise<void> {
  const edited = (await entries()).map((entry) => (entry["filename"] === name ? { ...entry, topic } : entry));
  await writeFile(path(), JSON.stringify(edited));
}

async function loseLedger(): Promise<void> {
  await world.app.close();
  for (const end of ["", "-wal", "-shm"]) {
    await rm(join(world.storage, "crawler", DOMAIN, `ledger.sqlite${end}`), { force: true });
  }
  await world.reopen();
}

test("what somebody writes into the file is shown by the next search, and by those of the next version", async () => {
  await annotate("a.txt", "pets");
  assert.equal(await shown("axolotl budget"), "pets");
  await world.change("update", { path: "a.txt", text: "The axolotl budget is 13 euros." });
  await crawl();
  assert.equal(await shown("axolotl budget"), "pets");
  assert.deepEqual(
    (await topics()).filter((topic) => String(topic).startsWith("a.txt")),
    [
      ["a.txt", "pets"],
      ["a.txt", "pets"],
    ],
  );
});

test("a file that was deleted is back, as it was, after a crawl that has nothing else to do", async () => {
  const text = await readFile(path(), "utf8");
  await rm(path());
  assert.equal(await shown("axolotl budget"), "pets");
  await crawl();
  assert.equal(await readFile(path(), "utf8"), text);
});

test("a ledger that was lost in the middle of a history costs no property and no embedding", async () => {
  const before = await entries();
  await loseLedger();
  assert.equal(await shown("axolotl budget"), "pets", "from the file, before the ledger is made again");
  await crawl();
  assert.deepEqual(await entries(), before);
  await world.change("update", { path: "a.txt", text: "The axolotl budget is 14 euros." });
  await world.change("rename", { path: "b.txt", name: "c.txt" });
  await crawl();
  assert.deepEqual((await topics()).sort(), [
    ["a.txt", "pets"],
    ["a.txt", "pets"],
    ["a.txt", "pets"],
    ["c.txt", undefined],
  ]);
});

test("lost with the ledger, the file is back with what is indexed", async () => {
  const last = new Map((await entries()).map((entry) => [entry["filename"], entry]));
  await rm(path());
  await loseLedger();
  await crawl();
  const now = new Map((await entries()).map((entry) => [entry["filename"], entry]));
  const { topic, ...a } = last.get("a.txt") ?? {};
  assert.deepEqual([topic, now.get("a.txt"), now.get("c.txt")], ["pets", a, last.get("c.txt")]);
  assert.equal((await entries()).length, 2);
});

test("what somebody writes while the step embeds is taken, also of files that it renames or replaces", async () => {
  await world.change("update", { path: "a.txt", text: "The axolotl budget is 15 euros." });
  await world.change("rename", { path: "c.txt", name: "b.txt" });
  const before = await entries();
  const annotated = JSON.stringify(before.map((entry) => ({ ...entry, topic: "meanwhile" })));
  let isSaved = false;
  const { result } = await world.crawlUntil((line) => {
    if (line.startsWith("Index: ") && !isSaved) {
      assert.deepEqual(JSON.parse(readFileSync(path(), "utf8")), before, "the file is not written yet");
      writeFileSync(path(), annotated);
      isSaved = true;
    }
    return false;
  });
  assert.deepEqual([result?.error, isSaved], ["", true]);
  const now = await entries();
  assert.equal(now.length, before.length + 1);
  assert.deepEqual(new Set(now.map(({ topic }) => topic)), new Set(["meanwhile"]));
  assert.equal(await shown("axolotl budget"), "meanwhile");
});
