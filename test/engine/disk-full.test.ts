// A full disk stops a run with everything valid, and the next run goes on where it stopped.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { stopWhenFull } from "../../src/engine/disk-full.ts";
import { openSqlite } from "../../src/lib/sql/sqlite-database.ts";
import { World } from "./world.ts";

const folder = await mkdtemp(join(tmpdir(), "lockstep-full-"));
after(() => rm(folder, { recursive: true, force: true }));

/** Only who may mount can have a disk of a certain size; "" when that works. */
function mount(...options: string[]): string {
  try {
    execFileSync("mount", ["-t", "tmpfs", ...options, "tmpfs", folder], { stdio: "pipe" });
    return "";
  } catch {
    return "no right to mount a small disk";
  }
}

const reason = mount("-o", "size=4m");
if (!reason) await mkdir(join(folder, "storage"));

test("a full disk stops the run with everything valid; with space again the next run goes on where it stopped", {
  skip: reason || false,
}, async () => {
  const world = await World.open({ storage: join(folder, "storage") });
  try {
    await world.change("fill", { path: "Bulk", count: 60, bytes: 100_000 });
    const full = await world.runToEnd();
    assert.match(full.result?.error ?? "", /is full; free some space|no space left/);
    const kept = await world.map("files_map").catch(() => []);
    mount("-o", "remount,size=64m");
    await world.control("DELETE", "log");
    const { job, log } = await world.crawl();
    assert.equal(job.result?.error, "");
    // What the run that failed held could not be given back in the table.
    assert.doesNotMatch(log, /Waiting for/);
    const fetched = (await world.requests()).filter((url) => url.includes("$value")).length;
    assert.ok(fetched <= 60 - kept.filter((row) => row["file_relative_path"]).length, `${fetched} fetched again`);
    assert.deepEqual(await world.contradictions(), []);
  } finally {
    await world.close();
    execFileSync("umount", [folder]);
  }
});

test("a database that a full disk keeps from being opened says so, and opens again once there is room", {
  skip: reason || false,
}, async () => {
  mount("-o", "size=1m");
  try {
    const path = join(folder, "notes.sqlite");
    const schema = { version: 1, sql: "CREATE TABLE notes (text TEXT)" };
    await (await openSqlite(path, schema)).close();
    const fill = join(folder, "fill");
    const { bavail, bsize } = await statfs(folder);
    await writeFile(fill, Buffer.alloc(bavail * bsize));
    await assert.rejects(openSqlite(path, schema), (error: Error) => {
      assert.equal(error.message, `open ${path}: the disk is full`);
      assert.throws(() => stopWhenFull(error), /is full; free some space and crawl again/);
      return true;
    });
    await rm(fill);
    await (await openSqlite(path, schema)).close();
  } finally {
    execFileSync("umount", [folder]);
  }
});
