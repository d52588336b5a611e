// A source with more documents than a draft is told at once: none is lost between two parts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FolderStage } from "./folder-stage.ts";

const DOCUMENTS = 2100;

test("what fails first and last among thousands of documents is recorded; the others are found, and nothing is done twice", async () => {
  const stage = await FolderStage.open();
  try {
    for (let n = 0; n < DOCUMENTS; n++) await stage.write(`m/${n}.md`, `Heron ${n} wades.`);
    await stage.write("a/first.docx", "no document at all");
    await stage.write("z/last.docx", "no document at all");
    const { source } = await stage.tryCrawl();
    assert.deepEqual([source.embed.added, source.embed.failed], [DOCUMENTS, 2]);
    assert.deepEqual(await stage.found("2099"), ["m/2099.md"]);
    const again = await stage.tryCrawl();
    const { added, changed, moved, removed, unchanged, skipped } = again.source.embed;
    assert.deepEqual([added, changed, moved, removed, unchanged, skipped], [0, 0, 0, 0, DOCUMENTS, 2]);
  } finally {
    await stage.close();
  }
});
