// Very many small files are read in order without blocking others.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { TreeFile } from "../../src/contracts/file-tree.ts";
import { ReadCache, readFiles } from "../../src/sources/tree/read-files.ts";
import { TreeWorld } from "./tree-world.ts";

test("very many small files are read in their order, and others get their turn meanwhile", async () => {
  const world = await TreeWorld.open();
  try {
    for (const name of ["a", "b"]) await world.write(`${name}.md`, `text of ${name}`);
    const tree = world.openTree();
    const signal = new AbortController().signal;
    const found: TreeFile[] = [];
    for await (const { files } of tree.walk(signal)) found.push(...files);
    const many = Array.from({ length: 1500 }, () => found).flat();
    let turns = 0;
    const others = setInterval(() => {
      turns += 1;
    }, 1);
    const outcomes = await readFiles(many, { tree, readCache: new ReadCache() }, signal);
    clearInterval(others);
    assert.ok(turns > 0);
    const hashes = outcomes.map((outcome) => ("contentHash" in outcome ? outcome.contentHash : outcome.reason));
    const expected = ["text of a", "text of b"].map((text) => createHash("sha256").update(text).digest("hex"));
    assert.deepEqual(hashes, Array.from({ length: 1500 }, () => expected).flat());
  } finally {
    await world.close();
  }
});
