// Requests are signed as an independent S3 server expects.
import assert from "node:assert/strict";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import type { FileTree } from "../../src/contracts/file-tree.ts";
import { createS3Tree } from "../../src/sources/s3/create-s3-tree.ts";
import { objectUrl } from "../../src/sources/tree/create-object-tree.ts";
import { leaveAlone, spawnWithUs } from "../spawn-with-us.ts";
import { pathsOf, temporaryFolder, textOf, walk } from "./blob-world.ts";

/** It knows this account, and works out signatures itself. Neither conditions nor encoded keys, so nothing else is tried with it. */
const HELD = "S3RVER:S3RVER";
const PROGRAM = `const S3rver = require(process.argv[1]);
const options = { directory: process.argv[2], address: "127.0.0.1", port: 0, silent: true, configureBuckets: [{ name: "box" }] };
new S3rver(options).run().then(({ port }) => console.log(port));`;

let folder: string;
let endpoint: string;
let child: ReturnType<typeof spawnWithUs>;
before(async () => {
  folder = await temporaryFolder();
  const library = createRequire(import.meta.url).resolve("@20minutes/s3rver");
  child = spawnWithUs(process.execPath, ["-e", PROGRAM, library, folder], { signal: "SIGKILL" });
  const [port] = await once(createInterface(child.stdout), "line");
  endpoint = `http://127.0.0.1:${port}`;
  leaveAlone(child);
});
after(async () => {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  child.ref();
  await exited;
  await rm(folder, { recursive: true, force: true });
});

function treeOf(held: string, prefix = ""): FileTree {
  const rules = { prefix, include: [], exclude: [], hidden: false, maxFileBytes: 1000 };
  const config = { bucket: "box", endpoint, region: "us-east-1", credential: "BOX", ...rules };
  return createS3Tree(config, { variable: (name) => (name === "BOX" ? held : undefined) });
}

test("another one's server works out the same signatures, whatever the key", async () => {
  const keys = ["a.md", "b c/ü+100%.md", "b c/(*)!~.md", "\u{1f980}.md"];
  for (const key of keys) {
    const stored = await fetch(objectUrl(`${endpoint}/box`, key), { method: "PUT", body: `the text of ${key}` });
    assert.equal(stored.status, 200);
  }
  const tree = treeOf(HELD);
  const { files } = await walk(tree);
  assert.deepEqual(pathsOf(files).toSorted(), keys.toSorted());
  for (const { path, stamp } of files) assert.equal(await textOf(tree, path, stamp), `the text of ${path}`);
  assert.deepEqual(pathsOf((await walk(treeOf(HELD, "b c/"))).files).toSorted(), ["(*)!~.md", "ü+100%.md"]);
  await assert.rejects(
    walk(treeOf(`${HELD}x`)),
    /S3 refuses \(403 SignatureDoesNotMatch\); check the key in BOX, and that it allows/,
  );
});
