// The wrapper of PostgreSQL keeps values, transactions and connections right.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { BadInputError, RemoteError } from "../../src/contracts/errors.ts";
import { openPostgres, type Postgres } from "../../src/lib/sql/postgres-database.ts";
import type { Schema } from "../../src/lib/sql/sql.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

const THINGS: Schema = {
  version: 1,
  sql: `CREATE TABLE things (id bigint PRIMARY KEY, name text NOT NULL, size double precision, bytes bytea);`,
};

let server: PostgresServer;
let url = "";
let postgres: Postgres;
before(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
  postgres = openPostgres(url);
});
after(async () => {
  await postgres.close();
  await server.stop();
});

test("values come back as they went in: numbers as numbers, bytes as bytes, whatever text", async () => {
  const db = await postgres.openTables("values", THINGS);
  const bytes = new Uint8Array([0, 1, 254, 255, 92, 34]);
  const names = ["plain", 'quo"te', "back\\slash", "{a,b}", "NULL", "", "Käse 日本語 🧀", "it's"];
  await db.insert(
    "things (id, name, size, bytes)",
    names.map((name, at) => [2 ** 40 + at, name, at / 4, at % 2 ? null : bytes]),
  );
  const rows = await db.all<{ id: number; name: string; size: number; bytes: Uint8Array | null }>(
    "SELECT * FROM things ORDER BY id",
  );
  assert.deepEqual(
    rows.map(({ id, name, size }) => [id, name, size]),
    names.map((name, at) => [2 ** 40 + at, name, at / 4]),
  );
  assert.deepEqual(rows[0]?.bytes, bytes);
  assert.equal(rows[1]?.bytes, null);
  const sums = await db.get<{ n: number; total: number; some: number }>(
    "SELECT count(*) AS n, sum(id) AS total, count(*) > $1 AS some FROM things WHERE id > $1",
    [0],
  );
  assert.deepEqual(
    [sums?.n, sums?.total, sums?.some],
    [names.length, names.reduce((sum, _, at) => sum + 2 ** 40 + at, 0), 1],
  );
  assert.equal(await db.run("UPDATE things SET bytes = $2 WHERE name = $1", ["plain", new Uint8Array([7])]), 1);
  assert.deepEqual(
    (await db.get<{ bytes: Uint8Array }>("SELECT bytes FROM things WHERE name = $1", ["plain"]))?.bytes,
    new Uint8Array([7]),
  );
  await db.run("UPDATE things SET name = $1 WHERE name = 'plain'", ["a\0b"]);
  assert.deepEqual(await db.get("SELECT name FROM things WHERE id = $1", [2 ** 40]), { name: "a\uFFFDb" });
});

test("more rows than one statement takes are inserted all or not at all", async () => {
  const db = await postgres.openTables("many", THINGS);
  const rows = Array.from({ length: 12_500 }, (_, id) => [id, `thing ${id}`]);
  await db.insert("things (id, name)", rows);
  const clash = [...Array.from({ length: 7_500 }, (_, at) => [100_000 + at, "new"]), [7, "there already"]];
  await assert.rejects(db.insert("things (id, name)", clash), /duplicate key/);
  assert.deepEqual(await db.get("SELECT count(*) AS n FROM things"), { n: 12_500 });
  await db.insert("things (id, name)", clash, "ON CONFLICT (id) DO NOTHING");
  assert.deepEqual(await db.get("SELECT count(*) AS n FROM things"), { n: 20_000 });
});

test("tables of two schemas do not mix, although they share connections", async () => {
  const [one, two] = [await postgres.openTables("left", THINGS), await postgres.openTables("right", THINGS)];
  await Promise.all(
    Array.from({ length: 40 }, (_, id) =>
      id % 2 ? one.insert("things (id, name)", [[id, "one"]]) : two.insert("things (id, name)", [[id, "two"]]),
    ),
  );
  assert.deepEqual(await one.all("SELECT name, count(*) AS n FROM things GROUP BY name"), [{ name: "one", n: 20 }]);
  assert.deepEqual(await two.all("SELECT name, count(*) AS n FROM things GROUP BY name"), [{ name: "two", n: 20 }]);
  await postgres.dropTables("left");
  await postgres.dropTables("left");
  await assert.rejects(one.all("SELECT * FROM things"), /does not exist/);
  assert.equal((await two.all("SELECT * FROM things")).length, 20);
});

test("writers take turns, within a process and between two: nothing read before writing is lost", async () => {
  const other = openPostgres(url, { maxConnections: 3 });
  const dbs = [await postgres.openTables("turns", THINGS), await other.openTables("turns", THINGS)];
  await dbs[0]?.insert("things (id, name, size)", [[1, "counter", 0]]);
  const increments = dbs.flatMap((db) =>
    Array.from({ length: 30 }, () =>
      db.write(async (sql) => {
        const row = await sql.get<{ size: number }>("SELECT size FROM things WHERE id = 1");
        await sql.run("UPDATE things SET size = $1 WHERE id = 1", [(row?.size ?? 0) + 1]);
      }),
    ),
  );
  await Promise.all(increments);
  assert.deepEqual(await dbs[1]?.get("SELECT size FROM things"), { size: 60 });
  await other.close();
});

test("a write that throws leaves nothing, and the connection is fit for the next", async () => {
  const db = await postgres.openTables("failing", THINGS);
  const failing = db.write(async (sql) => {
    await sql.insert("things (id, name)", [[1, "half"]]);
    throw new Error("enough");
  });
  await assert.rejects(failing, /enough/);
  assert.deepEqual(await db.all("SELECT * FROM things"), []);
});

test("a writer that gives up waiting for its turn spoils no connection", async () => {
  const hasty = openPostgres(`${url}?options=-c%20lock_timeout%3D50`, { maxConnections: 1 });
  const others = await postgres.openTables("hasty", THINGS);
  const db = await hasty.openTables("hasty", THINGS);
  await others.write(async (sql) => {
    await sql.insert("things (id, name)", [[1, "slow"]]);
    await assert.rejects(db.insert("things (id, name)", [[2, "hasty"]]), { code: "55P03" });
    assert.deepEqual(await db.all("SELECT * FROM things"), []);
  });
  await db.insert("things (id, name)", [[3, "patient"]]);
  assert.deepEqual(await db.all("SELECT name FROM things ORDER BY id"), [{ name: "slow" }, { name: "patient" }]);
  await hasty.close();
});

test("a connection that is still in a transaction is not used again", async () => {
  const other = openPostgres(url, { maxConnections: 1 });
  const db = await other.openTables("left_open", THINGS);
  await db.run("BEGIN");
  await db.run("INSERT INTO things (id, name) VALUES (1, 'kept')");
  const elsewhere = await postgres.openTables("left_open", THINGS);
  assert.deepEqual(await elsewhere.all("SELECT name FROM things"), [{ name: "kept" }]);
  await other.close();
});

test("a read sees one moment, whoever commits meanwhile, and cannot write", async () => {
  const db = await postgres.openTables("moments", THINGS);
  const count = "SELECT count(*) AS n FROM things";
  await db.read(async (sql) => {
    assert.deepEqual(await sql.get(count), { n: 0 });
    await db.insert("things (id, name)", [[1, "late"]]);
    assert.deepEqual(await sql.get(count), { n: 0 });
  });
  assert.deepEqual(await db.get(count), { n: 1 });
  await assert.rejects(
    db.read((sql) => sql.run("DELETE FROM things")),
    /read-only/,
  );
});

test("several that open the same tables at once make them once, and an upgrade keeps what is there", async () => {
  const others = [openPostgres(url), openPostgres(url), postgres];
  await Promise.all(others.map((one) => one.openTables("upgraded", THINGS)));
  const old = await postgres.openTables("upgraded", THINGS);
  await old.insert("things (id, name)", [[1, "kept"]]);
  const newer: Schema = {
    version: 2,
    sql: "unused",
    upgrades: new Map([[1, "ALTER TABLE things ADD COLUMN colour text NOT NULL DEFAULT 'grey'"]]),
  };
  const [db] = await Promise.all(others.map((one) => one.openTables("upgraded", newer)));
  assert.deepEqual(await db?.all("SELECT id, name, colour FROM things"), [{ id: 1, name: "kept", colour: "grey" }]);
  await assert.rejects(postgres.openTables("upgraded", THINGS), /written by a newer release/);
  for (const one of others.slice(0, 2)) await one.close();
});

test("trouble with the connection is told in a sentence without the password", async () => {
  const address = new URL(url);
  const wrong = (change: (address: URL) => void): string => {
    const copy = new URL(address);
    change(copy);
    return copy.href;
  };
  const cases: [url: string, says: RegExp][] = [
    [wrong((at) => (at.password = "guessed-word")), /reach PostgreSQL at 127\.0\.0\.1:\d+\/test1: .*password is wrong/],
    [wrong((at) => (at.pathname = "/elsewhere")), /there is no such database/],
    [wrong((at) => (at.port = "1")), /127\.0\.0\.1:1\/test1: connection refused/],
  ];
  for (const [bad, says] of cases) {
    const broken = openPostgres(bad);
    await assert.rejects(broken.openTables("x", THINGS), (error: unknown) => {
      assert.ok(error instanceof RemoteError);
      assert.match(error.message, says);
      assert.doesNotMatch(error.message, /secret-word|guessed-word/);
      return true;
    });
    await broken.close();
  }
  assert.throws(() => openPostgres("mysql://lockstep:secret-word@db/x"), BadInputError);
});

test("a connection that the server cut is told, and the next statement gets another", async () => {
  const other = openPostgres(url, { maxConnections: 1 });
  const db = await other.openTables("cut", THINGS);
  const killers = await postgres.openTables("killers", THINGS);
  const { pid } = (await db.get<{ pid: number }>("SELECT pg_backend_pid() AS pid")) ?? { pid: 0 };
  const cut = db.write(async (sql) => {
    await killers.get("SELECT pg_terminate_backend($1)", [pid]);
    await sql.all("SELECT * FROM things");
  });
  await assert.rejects(cut, (error: unknown) => error instanceof RemoteError && /stopped|closed/.test(error.message));
  assert.deepEqual(await db.all("SELECT * FROM things"), []);
  await other.close();
});
