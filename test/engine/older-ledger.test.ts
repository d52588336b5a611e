// With an older ledger put back, every file in the mirror has its own text.
import assert from "node:assert/strict";
import { copyFile, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FOLDERS, FolderStage } from "./folder-stage.ts";
import { DOMAIN, World } from "./world.ts";

const [ONE, TWO] = ["aaaa text one zebra\n", "bbbb text two zebra\n"];

/** Copies files aside, and gives back what puts them in their places again. */
async function backUp(t: TestContext, paths: readonly string[]): Promise<() => Promise<void>> {
  const aside = await mkdtemp(join(tmpdir(), "lockstep-backup-"));
  t.after(() => rm(aside, { recursive: true, force: true }));
  for (const [at, path] of paths.entries()) await copyFile(path, join(aside, String(at)));
  return async () => {
    for (const [at, path] of paths.entries()) {
      for (const end of ["-wal", "-shm"]) await rm(path + end, { force: true });
      await copyFile(join(aside, String(at)), path);
    }
  };
}

test("files of a library that swapped names since the ledger was backed up have their own text in the mirror", async (t) => {
  const world = await World.open();
  t.after(() => world.close());
  const at = "2026-01-05T10:00:00Z";
  await world.change("add", { path: "s1.txt", text: ONE, at });
  await world.change("add", { path: "s2.txt", text: TWO, at });
  await world.crawl();
  const maps = (await readdir(world.folder())).filter((name) => name.endsWith(".csv"));
  await world.app.close();
  const ledger = join(world.storage, "crawler", DOMAIN, "ledger.sqlite");
  const putBack = await backUp(t, [ledger, ...maps.map((name) => world.folder(name))]);
  await world.reopen();
  await world.change("rename", { path: "s1.txt", name: "t.txt" });
  await world.change("rename", { path: "s2.txt", name: "s1.txt" });
  await world.change("rename", { path: "t.txt", name: "s2.txt" });
  assert.equal((await world.crawl()).source.download.moved, 2);
  await world.app.close();
  await putBack();
  await world.reopen();
  const { log } = await world.crawl();
  assert.equal(await readFile(world.folder("02_embedded/s1.txt"), "utf8"), TWO, log);
  assert.equal(await readFile(world.folder("02_embedded/s2.txt"), "utf8"), ONE, log);
  assert.deepEqual((await world.disk()).sort(), ["s1.txt", "s2.txt"]);
  assert.deepEqual((await world.search("aaaa")).find(({ text }) => text.includes("aaaa"))?.name, "s2.txt");
  assert.match((await world.crawl()).log, /Integrity check passed/);
});

test("files of a folder that swapped names since the ledger was backed up have their own text in the mirror", async (t) => {
  const stage = await FolderStage.open();
  t.after(() => stage.close());
  const time = new Date("2026-01-05T10:00:00Z");
  for (const [path, text] of [
    ["s1.md", ONE],
    ["s2.md", TWO],
  ] as const) {
    await stage.write(path, text);
    await utimes(stage.at(path), time, time);
  }
  await stage.crawl();
  await stage.app.close();
  const putBack = await backUp(t, [join(stage.storage, "crawler", FOLDERS, "ledger.sqlite")]);
  await stage.reopen();
  await stage.rename("s1.md", "t");
  await stage.rename("s2.md", "s1.md");
  await stage.rename("t", "s2.md");
  assert.equal((await stage.crawl()).source.download.moved, 2);
  await stage.app.close();
  await putBack();
  await stage.reopen();
  const { log } = await stage.crawl();
  assert.equal(await readFile(join(stage.folder, "02_embedded/s1.md"), "utf8"), TWO, log);
  assert.equal(await readFile(join(stage.folder, "02_embedded/s2.md"), "utf8"), ONE, log);
  assert.deepEqual([await stage.found("aaaa"), await stage.found("bbbb")], [["s2.md"], ["s1.md"]]);
});

test("a mirrored file that has other bytes than were downloaded is not indexed, and fetched by the next run", async (t) => {
  const world = await World.open();
  t.after(() => world.close());
  await world.change("add", { path: "s1.txt", text: ONE });
  await world.crawl();
  const path = world.folder("02_embedded/s1.txt");
  const { mtime } = await stat(path);
  await writeFile(path, TWO);
  await utimes(path, mtime, mtime);
  const domain = await world.app.domains.get(DOMAIN);
  await world.openai().vectorStores.delete(domain.vectorStoreId);
  await world.app.domains.update({ ...domain, vectorStoreId: "" }, domain);
  const { log } = await world.crawl();
  assert.match(log, /ERROR: index '.*s1\.txt': .*it was changed since it came here/);
  const next = await world.crawl();
  assert.equal(next.job.result?.error, "", next.log);
  assert.equal(await readFile(path, "utf8"), ONE);
  assert.deepEqual(await world.found("aaaa"), ["s1.txt"]);
});
