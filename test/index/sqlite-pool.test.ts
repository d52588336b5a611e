// The pool closes the SQLite file that was unused for longest, and never one in use.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { sayDamage } from "../../src/index/sqlite/open-sqlite-stores.ts";
import { type PooledDatabase, SqlitePool } from "../../src/lib/sql/sqlite-pool.ts";

const SCHEMA = { version: 1, sql: "CREATE TABLE birds (name TEXT NOT NULL)" };

let folder: string;
let pool: SqlitePool;
/** Names of the files that were closed, in order. */
let closed: string[];
let databases: PooledDatabase[];

function open(name: string): PooledDatabase {
  const db = pool.database(join(folder, name), SCHEMA, () => closed.push(name));
  databases.push(db);
  return db;
}

async function birds(db: PooledDatabase): Promise<string[]> {
  return (await db.all<{ name: string }>("SELECT name FROM birds ORDER BY name")).map(({ name }) => name);
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sqlite-pool-"));
  pool = new SqlitePool(2, sayDamage);
  closed = [];
  databases = [];
});
afterEach(async () => {
  for (const db of databases) await db.close();
  await rm(folder, { recursive: true, force: true });
});

describe("a pool of SQLite files", () => {
  test("closes the one that was not used for longest, and opens it again with everything in it", async () => {
    const [a, b, c] = [open("a"), open("b"), open("c")];
    await a.run("INSERT INTO birds VALUES ('albatross')");
    await b.run("INSERT INTO birds VALUES ('buzzard')");
    await birds(a);
    await c.run("INSERT INTO birds VALUES ('cormorant')");
    assert.deepEqual(closed, ["b"]);
    assert.deepEqual(await birds(b), ["buzzard"]);
    assert.deepEqual(closed, ["b", "a"]);
    assert.deepEqual([await birds(a), await birds(c)], [["albatross"], ["cormorant"]]);
  });

  test("leaves one alone that is in use, however many others are", async () => {
    const a = open("a");
    await a.write(async (sql) => {
      await sql.run("INSERT INTO birds VALUES ('albatross')");
      for (const name of ["b", "c", "d"]) await open(name).create();
      assert.ok(!closed.includes("a"));
      await sql.run("INSERT INTO birds VALUES ('auk')");
    });
    assert.deepEqual(await birds(a), ["albatross", "auk"]);
  });

  test("opens more than it keeps when they are used at once, and then closes them", async () => {
    const all = Array.from({ length: 10 }, (_, i) => open(`${i}`));
    await Promise.all(all.map((db) => db.run("INSERT INTO birds VALUES ('auk')")));
    assert.equal(closed.length, 8);
    assert.deepEqual(await Promise.all(all.map(birds)), Array(10).fill(["auk"]));
  });

  test("makes no file anew that somebody deleted", async () => {
    const a = open("a");
    for (const db of [a, open("b"), open("c")]) await db.create();
    assert.deepEqual(closed, ["a"]);
    await rm(join(folder, "a"));
    await assert.rejects(birds(a), /it was deleted/);
    assert.ok(!existsSync(join(folder, "a")));
  });

  test("tries one again that could not be opened", async () => {
    await writeFile(join(folder, "a"), "This is no database, but it is long enough to be taken for one.".repeat(20));
    const a = open("a");
    await assert.rejects(a.create(), /'a' is damaged: file is not a database/);
    await rm(join(folder, "a"));
    await a.create();
    assert.deepEqual(await birds(a), []);
  });

  test("one that was closed for good stays so", async () => {
    const a = open("a");
    await a.create();
    await a.close();
    await assert.rejects(birds(a), /it is closed/);
    await a.close();
  });
});
