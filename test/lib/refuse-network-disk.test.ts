// Databases are refused on a network file system.
import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { refuseNetworkDisk } from "../../src/lib/network-disk.ts";

test("a folder for SQLite files is made on a disk of this machine, and refused on a network file system", async (t) => {
  const root = await mkdtemp(join(tmpdir(), "lockstep-disk-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  const folder = join(root, "index");
  refuseNetworkDisk(folder);
  assert.ok((await stat(folder)).isDirectory());
  for (const type of [0x6969, 0x517b, 0xff534d42, 0xfe534d42]) {
    assert.throws(
      () => refuseNetworkDisk(folder, () => type),
      /network file system.*use a local disk \(DATABASE_FOLDER\), or PostgreSQL/,
    );
  }
});
