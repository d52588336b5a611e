// A blob container is listed and read as a tree.
import assert from "node:assert/strict";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { NotFoundError, RemoteError } from "../../src/contracts/errors.ts";
import type { FileTree } from "../../src/contracts/file-tree.ts";
import type { BlobSourceConfig } from "../../src/sources/blob/blob-source-codec.ts";
import { createBlobTree } from "../../src/sources/blob/create-blob-tree.ts";
import { type Azurite, startAzurite } from "../azurite.ts";
import { type BlobWorld, openBlobWorld, pathsOf, temporaryFolder, textOf, walk } from "./blob-world.ts";

let azurite: Azurite;
let world: BlobWorld;
let folder: string;
before(async () => {
  azurite = await startAzurite();
  world = await openBlobWorld(azurite.connectionString, "box");
  folder = await temporaryFolder();
});
after(async () => {
  await azurite.stop();
  await rm(folder, { recursive: true, force: true });
});

function treeOf(config: Partial<BlobSourceConfig> = {}, held = azurite.connectionString): FileTree {
  return createBlobTree(
    { ...world.config, ...config },
    { credential: (name) => (name === "BOX" ? held : undefined), folder },
  );
}

test("lists what the rules let in, with stamps that follow the content; folder marks are none of it", async () => {
  await world.put("notes/a.md", "alpha");
  await world.put("notes/b.txt", "beta");
  await world.put("notes/.hidden/c.md", "gamma");
  await world.put("notes/large.md", "x".repeat(2000));
  await world.put("notes", "", { hdi_isfolder: "true" });
  await world.put("notes/sub/", "");
  const config = { prefix: "notes/", maxFileBytes: 1000 };
  const first = await walk(treeOf({ ...config, exclude: ["*.txt"] }));
  const why = (path: string) => treeOf(config).sayLeftOut?.(path, new AbortController().signal);
  assert.equal(await why("large.md"), "It has 2000 bytes; the limit is 1000.");
  assert.deepEqual([await why("a.md"), await why("none.md"), await why("large")], [undefined, undefined, undefined]);
  assert.deepEqual(pathsOf(first.files), ["a.md"]);
  assert.deepEqual(first.skipped, [
    { path: "large.md", reason: "It has 2000 bytes; the limit is 1000.", isTooLarge: true },
  ]);
  assert.ok((first.files[0]?.modifiedAtMs ?? 0) > Date.parse("2024-01-01"));
  await world.put("notes/a.md", "ALPHA");
  const second = await walk(treeOf(config));
  assert.deepEqual(pathsOf(second.files), ["a.md", "b.txt"]);
  assert.notEqual(second.files[0]?.stamp, first.files[0]?.stamp);
  assert.deepEqual(pathsOf((await walk(treeOf({ prefix: "not", include: ["notes/sub", "b.txt"] }))).files), [
    "notes/b.txt",
  ]);
});

test("is read up to the limit, whatever the list said", async () => {
  await world.put("grown/a.md", "x".repeat(1000));
  const tree = treeOf({ prefix: "grown/", maxFileBytes: 1000 });
  assert.equal((await textOf(tree, "a.md")).length, 1000);
  await world.put("grown/a.md", "x".repeat(1001));
  await assert.rejects(textOf(tree, "a.md"), /larger than the limit of 1000 bytes/);
});

test("what was read to be hashed is given again without asking the service, once", async () => {
  await world.put("twice/a.md", "first words");
  const tree = treeOf({ prefix: "twice/" });
  const [file] = (await walk(tree)).files;
  assert.equal(await textOf(tree, "a.md", file?.stamp), "first words");
  await world.container.deleteBlob("twice/a.md");
  assert.equal(await textOf(tree, "a.md", file?.stamp), "first words");
  assert.deepEqual(await readdir(folder), []);
  await assert.rejects(textOf(tree, "a.md"), NotFoundError);
});

test("a look clears away what an earlier one left, and a copy that was cut is not believed", async () => {
  await world.put("left/a.md", "whole words");
  await writeFile(join(folder, "left-behind"), "of a run that was killed");
  const tree = treeOf({ prefix: "left/" });
  const [file] = (await walk(tree)).files;
  assert.deepEqual(await readdir(folder), []);
  await textOf(tree, "a.md", file?.stamp);
  const [copy] = await readdir(folder);
  await writeFile(join(folder, copy ?? ""), "who");
  assert.equal(await textOf(tree, "a.md", file?.stamp), "whole words");
});

test("a blob that was changed since it was listed is an error of now, not other bytes", async () => {
  await world.put("race/a.md", "before");
  const tree = treeOf({ prefix: "race/" });
  const [file] = (await walk(tree)).files;
  await world.put("race/a.md", "after");
  await assert.rejects(textOf(tree, "a.md", file?.stamp), /changed while it was read/);
  assert.equal(await textOf(tree, "a.md"), "after");
});

test("archived blobs cannot be read, and are not gone", async () => {
  await world.put("cold/a.md", "frozen");
  await world.container.getBlobClient("cold/a.md").setAccessTier("Archive");
  const { files, unreadable } = await walk(treeOf({ prefix: "cold/" }));
  assert.deepEqual([files, unreadable.map(({ path }) => path)], [[], ["a.md"]]);
  assert.match(unreadable[0]?.reason ?? "", /archive tier/);
  await assert.rejects(
    textOf(treeOf({ prefix: "cold/" }), "a.md"),
    (error) => error instanceof RemoteError && /archive tier/.test(error.message),
  );
});

const HOSTILE = [
  ...["../up.md", "a/../../up.md", "./a.md", "a/..", "a//b.md", "/root.md", "b\\..\\c.md", "what?#%2e%2F.md"],
  ...["x".repeat(1000), "du\u0308 \u{1f980} '\"<&>.md", "tab\tand\nline.md", "end. "],
];

test("names are taken as they are, and no name leads to another blob", async () => {
  const odd = await openBlobWorld(azurite.connectionString, "odd");
  await odd.put("up.md", "the wrong one");
  for (const name of HOSTILE) await odd.put(name, `the text of ${name}`);
  const tree = treeOf({ containerUrl: odd.container.url, hidden: true });
  const { files } = await walk(tree);
  // The service makes slashes of backslashes.
  const spelt = HOSTILE.map((name) => name.replaceAll("\\", "/"));
  assert.deepEqual(pathsOf(files).toSorted(), [...spelt, "up.md"].toSorted());
  for (const name of HOSTILE) {
    assert.equal(await textOf(tree, name), `the text of ${name}`);
    const { url } = tree.addressOf(name);
    assert.ok(new URL(url).href.startsWith(`${odd.container.url}/`), url);
  }
});
