// Waiting for another process's lock does not stop this process.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { openSqlite } from "../../src/lib/sql/sqlite-database.ts";

const NOTES = { version: 1, sql: "CREATE TABLE notes (text TEXT NOT NULL) STRICT" };

test("whoever waits for another process's lock goes on working, and writes when it is free", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lock-"));
  const path = join(folder, "notes.sqlite");
  const db = await openSqlite(path, NOTES);
  t.after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  const child = spawn(process.execPath, [join(import.meta.dirname, "lock-child.ts"), path], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  await once(child.stdout, "data");
  let written = 0;
  const writes = [
    db.write((sql) => sql.insert("notes (text)", [["transaction"]])),
    db.run("INSERT INTO notes VALUES ('statement')"),
    db.insert("notes (text)", [["insert"]]),
  ].map((write) => write.then(() => (written += 1)));
  for (let round = 0; round < 200; round++) {
    await nextRound();
    assert.deepEqual(await db.all("SELECT text FROM notes"), []);
  }
  assert.equal(written, 0);
  child.stdin.end("go\n");
  await Promise.all(writes);
  assert.deepEqual(
    (await db.all<{ text: string }>("SELECT text FROM notes ORDER BY rowid")).map(({ text }) => text),
    ["child", "transaction", "statement", "insert"],
  );
  assert.deepEqual(await ended, [0, null]);
});
