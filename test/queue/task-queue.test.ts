// The queue keeps its contract in every database, and opens the tables of the first release.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import type { ListedTaskQueue } from "../../src/contracts/queue.ts";
import { type DatabasePlace, openDatabase } from "../../src/lib/sql/open-database.ts";
import { openPostgres } from "../../src/lib/sql/postgres-database.ts";
import type { Schema, Sql, SqlDatabase } from "../../src/lib/sql/sql.ts";
import { openTaskQueue, queueTables } from "../../src/queue/open-task-queue.ts";
import { LONG, queueChild, queueSuite } from "../contracts/queue-suite.ts";
import { type PostgresServer, startPostgres } from "../postgres/start-postgres.ts";

let server: PostgresServer;
let url = "";
let folder = "";
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lockstep-queue-"));
  server = await startPostgres();
  url = await server.createDatabase();
});
after(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function placeInSqlite(): Promise<DatabasePlace> {
  return { folder: await mkdtemp(join(folder, "one-")) };
}

async function placeInPostgres(): Promise<DatabasePlace> {
  const postgres = openPostgres(url);
  await postgres.dropTables("lockstep_queue");
  await postgres.close();
  return { url };
}

function firstTables(dialect: Sql["dialect"]): Schema {
  const { sql } = queueTables(dialect);
  const withKey = sql.replace("payload ", "key text, payload ").replace("'running')", "'running', 'failed')");
  return { version: 1, sql: `${withKey} CREATE UNIQUE INDEX tasks_key ON tasks (kind, key) WHERE lease = '';` };
}

async function inTables(where: DatabasePlace, tables: typeof queueTables, work: (db: SqlDatabase) => Promise<void>) {
  const db = await openDatabase(where, { file: "queue.sqlite", schema: "lockstep_queue", tables, connections: 1 });
  await work(db);
  await db.close();
}

for (const [name, place] of [
  ["SQLite", placeInSqlite],
  ["PostgreSQL", placeInPostgres],
] as const) {
  const openIn = (
    t: TestContext,
    where: DatabasePlace,
  ): { readonly queue: ListedTaskQueue; readonly where: DatabasePlace } => {
    const queue = openTaskQueue(where);
    t.after(() => queue.close());
    return { queue, where };
  };
  queueSuite(name, async (t) => openIn(t, await place()));

  describe(`the tables of the queue in ${name}`, () => {
    test("can be looked through", async (t) => {
      const { queue, where } = openIn(t, await place());
      for (const kind of ["count", "other"]) await queue.enqueue({ kind, payload: { kind } });
      assert.ok(await queue.claim(["count"], "you", LONG));
      assert.deepEqual(
        (await queue.list()).map(({ kind, payload, attempts }) => [kind, payload, attempts]),
        [
          ["count", { kind: "count" }, 1],
          ["other", { kind: "other" }, 0],
        ],
      );
      await inTables(where, queueTables, async (db) => {
        const rows = await db.all<{ state: string; worker: string }>("SELECT state, worker FROM tasks ORDER BY id");
        assert.deepEqual(
          rows.map(({ state, worker }) => `${state} ${worker}`),
          ["running you", "waiting "],
        );
      });
    });

    test("of the first release are opened, and what had failed for good is claimed once more", async (t) => {
      const where = await place();
      await inTables(where, firstTables, (db) =>
        db.insert(
          "tasks (kind, key, payload, state, attempts, created_at, due_at, lease, lease_ends_at, worker, process, error)",
          [["count", "DEMO", "7", "failed", 5, 1, 1, "x", 1, "w", "{}", "no luck"]],
        ),
      );
      const { queue } = openIn(t, where);
      const claimed = await queue.claim(["count"], "me", LONG);
      assert.deepEqual([claimed?.payload, claimed?.attempts, claimed?.error], [7, 6, "no luck"]);
      await queue.enqueue({ kind: "count", payload: 8 });
      assert.equal((await queue.list()).length, 2);
    });

    test("tell that a process of this machine was killed: what it had is claimed at once", async (t) => {
      const { queue, where } = openIn(t, await place());
      await queue.enqueue({ kind: "count", payload: 7 });
      const holder = queueChild(t, "hold", where);
      await once(holder, "message");
      assert.equal(await queue.claim(["count"], "me", LONG), undefined);
      holder.kill("SIGKILL");
      await once(holder, "exit");
      const claimed = await queue.claim(["count"], "me", LONG);
      assert.deepEqual([claimed?.payload, claimed?.attempts], [7, 2]);
    });
  });
}
