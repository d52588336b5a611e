// A file at which readers fail three times is left alone until something changes.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { ComposePace } from "../../src/app/compose.ts";
import { makeDocx, paragraph } from "../extract/make-docx.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";
import { World } from "./world.ts";

const docx = (text: string): string =>
  makeDocx({ body: Array.from({ length: 3000 }, () => paragraph(text)).join(""), title: "Report" }).toString("base64");

test("a file at which readers fail three times is left, until it, the reader or somebody says otherwise", async () => {
  const pace: { -readonly [K in keyof ComposePace]: ComposePace[K] } = {};
  const world = await World.open({ pace });
  const limit = async (timeoutMs?: number): Promise<void> => {
    pace.extract = timeoutMs === undefined ? {} : { timeoutMs };
    await world.reopen();
  };
  const reasonOf = async (): Promise<string> => (await world.map("vectorstore_map"))[0]?.["embedding_error"] ?? "";
  try {
    await world.change("add", { path: "report.docx", base64: docx("Herons nest in trees.") });
    await world.crawl();
    await limit(0);
    await world.change("update", { path: "report.docx", base64: docx("Storks nest on roofs.") });
    for (const tries of [1, 2]) {
      const { source } = await world.crawl();
      assert.deepEqual([source.embed.failed, source.embed.changed], [1, 0]);
      assert.match(await reasonOf(), new RegExp(`takes too long to read.* \\(try ${tries} of 3, reader `));
      assert.deepEqual(await world.found("herons"), ["report.docx"], "the old version is better than none");
    }
    assert.equal((await world.crawl()).source.embed.failed, 1);
    assert.match(await reasonOf(), /try 3 of 3/);
    assert.deepEqual(await world.found("herons"), [], "nothing outdated is served for good");

    // Readable by now, and left all the same.
    await limit();
    const left = await world.crawl();
    assert.deepEqual([left.job.result?.error, left.source.embed.skipped, left.source.embed.added], ["", 1, 0]);
    // Another reader gave it up.
    const path = world.folder("vectorstore_map.csv");
    await writeFile(path, (await readFile(path, "utf8")).replace(/of 3, reader \S+,/, "of 3, reader earlier,"));
    assert.equal((await world.crawl()).source.embed.added, 1);
    assert.deepEqual(await world.found("storks"), ["report.docx"]);

    // Other bytes are judged anew.
    await limit(0);
    await world.change("update", { path: "report.docx", base64: docx("Cranes dance.") });
    for (let i = 0; i < 3; i++) await world.crawl();
    await limit();
    await world.change("update", { path: "report.docx", base64: docx("Cranes dance at dawn.") });
    await world.crawl();
    assert.deepEqual(await world.found("dawn"), ["report.docx"]);

    // Or somebody asks.
    await limit(0);
    await world.change("update", { path: "report.docx", base64: docx("Gulls scream.") });
    for (let i = 0; i < 3; i++) await world.crawl();
    await limit();
    await world.crawl({ retryFailed: true });
    assert.deepEqual(await world.found("gulls"), ["report.docx"]);
  } finally {
    await world.close();
  }
});

const MATTER = "---\ntitle: Only front giraffefront\ndescription: It nibbles acacias\n---";
const BLANK = " \n".repeat(30);

/** What an earlier release wrote: that it found no text, not which reader it had. */
function earlierWords(text: string): string {
  return text.replaceAll(/The file is too large: [^"\r\n]* MB\./g, "The file contains no text.");
}

async function asEarlier(map: string): Promise<void> {
  await writeFile(map, earlierWords(await readFile(map, "utf8")));
}

test("what an earlier reader found no text in is read once more", async () => {
  const pace: { -readonly [K in keyof ComposePace]: ComposePace[K] } = { extract: { maxTextBytes: 50 } };
  const world = await World.open({ pace });
  const stage = await FolderStage.open({ pace });
  try {
    for (const [name, text] of Object.entries({ "fm.md": MATTER, "blank.md": BLANK })) {
      await world.change("add", { path: name, text });
      await stage.write(name, text);
    }
    await world.crawl();
    await stage.tryCrawl();
    assert.equal((await stage.below("03_failed")).length, 2);
    await asEarlier(world.folder("vectorstore_map.csv"));
    const ledgers = openTestLedgers(join(stage.storage, "crawler"));
    const ledger = await ledgers.open({ domainId: FOLDERS, config: stage.config }, { readOnly: false });
    for await (const page of ledger.entries()) {
      for (const { itemId, indexed } of page) {
        if (indexed)
          ledger.put(itemId, { indexed: { ...indexed, embeddingError: earlierWords(indexed.embeddingError) } });
      }
    }
    await ledger.close();
    await ledgers.close();
    pace.extract = {};
    await world.reopen();
    await stage.reopen();
    for (const [title, crawl] of [
      ["library", () => world.crawl()],
      ["folder", () => stage.tryCrawl()],
    ] as const) {
      const { embed } = (await crawl()).source;
      assert.deepEqual([title, embed.added, embed.empty, embed.failed], [title, 1, 1, 0]);
    }
    assert.deepEqual(await world.found("giraffefront"), ["fm.md"]);
    assert.deepEqual(await stage.found("acacias"), ["fm.md"]);
    const { source, log } = await stage.tryCrawl();
    assert.deepEqual([source.embed.added, source.embed.empty, source.embed.unchanged], [0, 1, 1]);
    assert.doesNotMatch(log, /has nothing to index/, "by this reader it was read");
  } finally {
    await world.close();
    await stage.close();
  }
});
