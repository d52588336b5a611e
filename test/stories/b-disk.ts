import assert from "node:assert/strict";
import { mkdir, readFile, rename, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Stage } from "./stage.ts";
import type { Story } from "./story.ts";

const at = (stage: Stage, ...path: string[]): string => join(stage.docs.folder, ...path);

/** The mirror healed, and the index did not notice: the documents are the same as before. */
async function crawlHealing(stage: Stage): Promise<string> {
  const before = await stage.fileIds();
  const { log } = await stage.crawl();
  await stage.inStep();
  assert.deepEqual(await stage.fileIds(), before, "nothing is embedded again");
  return log;
}

export const DISK_STORIES: readonly Story[] = [
  {
    id: "B1",
    title: "a file missing on disk is fetched again, alone",
    async play(stage) {
      await stage.plant();
      await rm(at(stage, "02_embedded/Travel/policy.txt"));
      await crawlHealing(stage);
      assert.equal(await stage.downloads(), 1);
    },
  },
  {
    id: "B2",
    title: "files nobody knows leave the disk; other people's folders beside ours do not",
    async play(stage) {
      await stage.plant();
      await mkdir(at(stage, "02_embedded/Nobody"), { recursive: true });
      await writeFile(at(stage, "02_embedded/Nobody/orphan.txt"), "The orphan speaks of dodos.");
      await writeFile(at(stage, "02_embedded/Travel/policy.txt.bak"), "Another orphan.");
      await writeFile(at(stage, "notes-of-the-administrator.txt"), "Do not delete.");
      const log = await crawlHealing(stage);
      assert.match(log, /Integrity check corrected: 0 missing, 2 orphans deleted, 0 moved/);
      assert.equal(await readFile(at(stage, "notes-of-the-administrator.txt"), "utf8"), "Do not delete.");
      assert.deepEqual(await stage.world.found("dodos"), []);
    },
  },
  {
    id: "B3",
    title: "a file that somebody moved on our disk is back in its place",
    async play(stage) {
      await stage.plant();
      await mkdir(at(stage, "02_embedded/Elsewhere"), { recursive: true });
      await rename(at(stage, "02_embedded/Travel/policy.txt"), at(stage, "02_embedded/Elsewhere/policy.txt"));
      await crawlHealing(stage);
      assert.ok((await stage.downloads()) <= 1);
    },
  },
  {
    id: "B3",
    title: "two files that somebody swapped on our disk are told apart",
    async play(stage) {
      await stage.plant();
      const [one, two] = [at(stage, "02_embedded/Travel/policy.txt"), at(stage, "02_embedded/Travel/old.md")];
      await rename(one, `${one}.tmp`);
      await rename(two, one);
      await rename(`${one}.tmp`, two);
      await crawlHealing(stage);
    },
  },
  {
    id: "B4",
    title: "emptied and cut files are fetched again",
    async play(stage) {
      await stage.plant();
      await truncate(at(stage, "02_embedded/Travel/policy.txt"), 0);
      await truncate(at(stage, "02_embedded/handbook.html"), 5);
      await crawlHealing(stage);
      assert.equal(await stage.downloads(), 2);
    },
  },
  {
    id: "B4",
    title: "other bytes of the same size and time are found when all hashes are checked",
    async play(stage) {
      await stage.plant();
      const file = at(stage, "02_embedded/Travel/policy.txt");
      const { atime, mtime } = await stat(file);
      const text = await readFile(file, "utf8");
      await writeFile(file, text.replace("zebra", "hyena"));
      await utimes(file, atime, mtime);
      const before = await stage.fileIds();
      await stage.crawl({ checksum: true });
      await stage.inStep();
      assert.deepEqual(await stage.fileIds(), before);
    },
  },
  {
    id: "B4",
    title: "a folder where a file should be does not stop the run",
    async play(stage) {
      await stage.plant();
      await rm(at(stage, "02_embedded/Travel/policy.txt"));
      await mkdir(at(stage, "02_embedded/Travel/policy.txt"));
      await stage.change("add", { path: "new.txt", text: "The ibex line." });
      await stage.tryCrawl();
      assert.deepEqual((await stage.world.found("ibex")).slice(0, 1), ["new.txt"]);
      await stage.crawl();
      await stage.inStep();
    },
  },
  {
    id: "B5",
    title: "a folder missing on disk comes back with all its files",
    async play(stage) {
      await stage.plant();
      await rm(at(stage, "02_embedded/Travel"), { recursive: true });
      await crawlHealing(stage);
      assert.equal(await stage.downloads(), 2);
    },
  },
  {
    id: "B5",
    title: "the whole mirror lost, the maps left: everything is fetched, nothing embedded",
    async play(stage) {
      await stage.plant();
      await rm(at(stage, "02_embedded"), { recursive: true });
      await crawlHealing(stage);
    },
  },
  {
    id: "B6",
    title: "without files_map.csv everything is looked at anew, and no document is lost or doubled",
    async play(stage) {
      await stage.plant();
      await stage.change("delete", { path: "Travel/old.md" });
      await rm(at(stage, "files_map.csv"));
      const { "Travel/old.md": _gone, ...left } = await stage.fileIds();
      await stage.crawl();
      await stage.inStep();
      assert.deepEqual(await stage.fileIds(), left);
    },
  },
  {
    id: "B6",
    title: "without vectorstore_map.csv the documents are found again in the store",
    async play(stage) {
      await stage.plant();
      const held = await stage.world.storeFileIds();
      await rm(at(stage, "vectorstore_map.csv"));
      await stage.crawl();
      await stage.inStep();
      assert.deepEqual(await stage.world.storeFileIds(), held);
    },
  },
  ...([undefined, "remote"] as const).map(
    (backend): Story => ({
      id: "B6",
      title: `without vectorstore_map.csv a document renamed to another type is still read anew (${backend ?? "embedded"})`,
      ...(backend && { backend }),
      async play(stage) {
        await stage.plant();
        await stage.change("rename", { path: "handbook.html", name: "handbook.txt" });
        await rm(at(stage, "vectorstore_map.csv"));
        await stage.crawl();
        await stage.inStep();
        assert.match((await stage.world.search("okapi"))[0]?.text ?? "", /<p>The okapi team/);
      },
    }),
  ),
  {
    id: "B6",
    title: "an emptied files_map.csv is as good as none",
    async play(stage) {
      await stage.plant();
      await truncate(at(stage, "files_map.csv"), 0);
      await crawlHealing(stage);
    },
  },
  ...["other columns", "a broken row", "binary rubbish", "cut in the middle"].map(
    (damage): Story => ({
      id: "B7",
      title: `files_map.csv is damaged (${damage}): a warning, and in the end everything as it was`,
      async play(stage) {
        await stage.plant();
        const path = at(stage, "files_map.csv");
        await writeFile(path, damaged(damage, await readFile(path)));
        const log = await crawlHealing(stage);
        assert.match(log, /WARNING: files_map\.csv/);
      },
    }),
  ),
];

function damaged(how: string, bytes: Buffer): Uint8Array {
  const text = bytes.toString();
  if (how === "other columns") return Buffer.from("corrupted,data\r\n1,2\r\n");
  if (how === "a broken row") return Buffer.from(`${text}1,"half a row\r\n`);
  if (how === "binary rubbish") return Buffer.from([0, 255, 254, 1, 2, 3, 0, 200]);
  return bytes.subarray(0, bytes.length - 60);
}
