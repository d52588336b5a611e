import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import type { TaskQueue } from "../../src/contracts/queue.ts";
import { openPostgres } from "../../src/lib/sql/postgres-database.ts";
import type { Schema, SqlDatabase } from "../../src/lib/sql/sql.ts";
import { openSqlite } from "../../src/lib/sql/sqlite-database.ts";
import { queueTables } from "../../src/queue/queue-tables.ts";
import { createTaskQueue } from "../../src/queue/task-queue.ts";
import { type PostgresServer, startPostgres } from "../postgres/start-postgres.ts";

const LONG = 60_000;

/** A queue with nothing in it, and where another process finds it. */
interface Opened {
  readonly queue: TaskQueue;
  readonly db: SqlDatabase;
  readonly where: string;
}

let server: PostgresServer;
let folder = "";
before(async () => {
  server = await startPostgres();
  folder = await mkdtemp(join(tmpdir(), "lockstep-queue-"));
});
after(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Fills tables as the first release made them, which are then opened by this one. */
type Before = (db: SqlDatabase) => Promise<void>;

function firstTables(dialect: "sqlite" | "postgres"): Schema {
  const { sql } = queueTables(dialect);
  const withKey = sql.replace("payload ", "key text, payload ").replace("'running')", "'running', 'failed')");
  return { version: 1, sql: `${withKey} CREATE UNIQUE INDEX tasks_key ON tasks (kind, key) WHERE lease = '';` };
}

let files = 0;
async function openInSqlite(t: TestContext, before?: Before): Promise<Opened> {
  const where = join(folder, `${++files}.sqlite`);
  if (before) {
    const earlier = await openSqlite(where, firstTables("sqlite"));
    await before(earlier);
    await earlier.close();
  }
  const db = await openSqlite(where, queueTables("sqlite"));
  t.after(() => db.close());
  return { queue: createTaskQueue(async () => db), db, where };
}

async function openInPostgres(t: TestContext, before?: Before): Promise<Opened> {
  const where = await server.createDatabase();
  const postgres = openPostgres(where);
  if (before) await before(await postgres.openTables("queue", firstTables("postgres")));
  const db = await postgres.openTables("queue", queueTables("postgres"));
  t.after(() => postgres.close());
  return { queue: createTaskQueue(async () => db), db, where };
}

function child(t: TestContext, verb: string, where: string): ChildProcess {
  const started = fork(join(import.meta.dirname, "queue-child.ts"), [verb, where]);
  t.after(() => started.kill("SIGKILL"));
  return started;
}

for (const [name, open] of [
  ["SQLite", openInSqlite],
  ["PostgreSQL", openInPostgres],
] as const) {
  describe(`the queue in ${name}`, () => {
    test("hands each task to one claimer, oldest first, and forgets what was completed", async (t) => {
      const { queue, db } = await open(t);
      assert.equal(await queue.claim(["count"], "me", LONG), undefined);
      for (const payload of [{ n: 1 }, { n: 2 }]) await queue.enqueue({ kind: "count", payload });
      await queue.enqueue({ kind: "other", payload: null });
      const first = await queue.claim(["count"], "me", LONG);
      const second = await queue.claim(["count", "nothing"], "you", LONG);
      assert.deepEqual([first?.payload, second?.payload], [{ n: 1 }, { n: 2 }]);
      assert.equal(await queue.claim(["count"], "me", LONG), undefined);
      assert.ok(first && (await queue.complete(first)));
      assert.equal(await queue.complete(first), false);
      assert.deepEqual(
        (await queue.list()).map(({ kind, payload, attempts }) => [kind, payload, attempts]),
        [
          ["count", { n: 2 }, 1],
          ["other", null, 0],
        ],
      );
      const rows = await db.all<{ state: string; worker: string }>("SELECT state, worker FROM tasks ORDER BY id");
      assert.deepEqual(
        rows.map(({ state, worker }) => `${state} ${worker}`),
        ["running you", "waiting "],
      );
    });

    test("tables of the first release are opened, and what had failed for good is claimed once more", async (t) => {
      const { queue } = await open(t, (db) =>
        db.insert(
          "tasks (kind, key, payload, state, attempts, created_at, due_at, lease, lease_ends_at, worker, process, error)",
          [["count", "DEMO", "7", "failed", 5, 1, 1, "x", 1, "w", "{}", "no luck"]],
        ),
      );
      const claimed = await queue.claim(["count"], "me", LONG);
      assert.deepEqual([claimed?.payload, claimed?.attempts, claimed?.error], [7, 6, "no luck"]);
      await queue.enqueue({ kind: "count", payload: 8 });
      assert.equal((await queue.list()).length, 2);
    });

    test("a lease that ended goes to the next one, and its first holder can do nothing more", async (t) => {
      const { queue } = await open(t);
      await queue.enqueue({ kind: "count", payload: {} });
      const lost = await queue.claim(["count"], "first", 0);
      const taken = await queue.claim(["count"], "second", LONG);
      assert.ok(lost && taken);
      assert.deepEqual([taken.id, taken.attempts], [lost.id, 2]);
      assert.equal(await queue.renew(lost, LONG), false);
      assert.equal(await queue.complete(lost), false);
      assert.equal(await queue.handBack(lost), false);
      assert.equal(await queue.fail(lost, { error: "late", delayMs: 0 }), false);
      assert.equal(await queue.renew(taken, LONG), true);
      assert.equal(await queue.complete(taken), true);
    });

    test("a renewed lease does not end", async (t) => {
      const { queue } = await open(t);
      await queue.enqueue({ kind: "count", payload: {} });
      const claimed = await queue.claim(["count"], "me", 0);
      assert.ok(claimed && (await queue.renew(claimed, LONG)));
      assert.equal(await queue.claim(["count"], "you", LONG), undefined);
    });

    test("a failed task comes back after its delay, with the reason", async (t) => {
      const { queue, db } = await open(t);
      await queue.enqueue({ kind: "count", payload: {} });
      const first = await queue.claim(["count"], "me", LONG);
      assert.ok(first && (await queue.fail(first, { error: "no luck", delayMs: LONG })));
      assert.equal(await queue.claim(["count"], "me", LONG), undefined);
      await db.run("UPDATE tasks SET due_at = 0");
      const again = await queue.claim(["count"], "me", LONG);
      assert.deepEqual([again?.attempts, again?.error], [2, "no luck"]);
    });

    test("a task that was handed back counts as never claimed", async (t) => {
      const { queue } = await open(t);
      await queue.enqueue({ kind: "count", payload: {} });
      const claimed = await queue.claim(["count"], "me", LONG);
      assert.ok(claimed && (await queue.handBack(claimed)));
      assert.equal((await queue.list())[0]?.attempts, 0);
      assert.equal((await queue.claim(["count"], "you", LONG))?.attempts, 1);
    });

    test("three processes share the tasks: each is done once", async (t) => {
      const { queue, where } = await open(t);
      const numbers = Array.from({ length: 60 }, (_, at) => at);
      for (const payload of numbers) await queue.enqueue({ kind: "count", payload });
      const children = [1, 2, 3].map(() => child(t, "take", where));
      const taken = (await Promise.all(children.map((one) => once(one, "message")))).flatMap(
        ([list]) => list as number[],
      );
      assert.deepEqual(
        taken.sort((a, b) => a - b),
        numbers,
      );
      assert.deepEqual(await queue.list(), []);
    });

    test("what a killed process had is claimed at once by another of the same machine", async (t) => {
      const { queue, where } = await open(t);
      await queue.enqueue({ kind: "count", payload: 7 });
      const holder = child(t, "hold", where);
      await once(holder, "message");
      assert.equal(await queue.claim(["count"], "me", LONG), undefined);
      holder.kill("SIGKILL");
      await once(holder, "exit");
      const claimed = await queue.claim(["count"], "me", LONG);
      assert.deepEqual([claimed?.payload, claimed?.attempts], [7, 2]);
    });
  });
}
