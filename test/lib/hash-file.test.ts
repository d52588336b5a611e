// The hash of a file is that of all its bytes.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { hashFile } from "../../src/lib/hash.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lockstep-hash-"));
});
after(() => rm(folder, { recursive: true, force: true }));

for (const size of [0, 1, 16_383, 16_384, 16_385, 16_384 + 262_144, 1_000_003]) {
  test(`the hash of ${size} bytes is that of all of them`, async () => {
    const bytes = randomBytes(size);
    await writeFile(join(folder, "file"), bytes);
    assert.equal(await hashFile(join(folder, "file")), createHash("sha256").update(bytes).digest("hex"));
  });
}

test("what is not there, or is no file, has no hash", async () => {
  await assert.rejects(hashFile(join(folder, "none")), { code: "ENOENT" });
  await assert.rejects(hashFile(folder), { code: "EISDIR" });
});
