import { openPostgres } from "../../src/lib/sql/postgres-database.ts";
import { openSqlite } from "../../src/lib/sql/sqlite-database.ts";
import { queueTables } from "../../src/queue/queue-tables.ts";
import { createTaskQueue } from "../../src/queue/task-queue.ts";

// Run as a process of its own: `take <where>` takes tasks until there are none and tells which; `hold <where>` claims one
// and keeps it.
const [verb = "", where = ""] = process.argv.slice(2);
const postgres = where.startsWith("postgres:") ? openPostgres(where, { maxConnections: 2 }) : undefined;
const db = await (postgres?.openTables("queue", queueTables("postgres")) ?? openSqlite(where, queueTables("sqlite")));
const queue = createTaskQueue(async () => db);
const taken: unknown[] = [];
for (;;) {
  const task = await queue.claim(["count"], `child ${process.pid}`, 60_000);
  if (!task) break;
  taken.push(task.payload);
  if (verb === "hold") {
    process.send?.(taken);
    await new Promise(() => setInterval(() => undefined, 60_000));
  }
  await queue.complete(task);
}
process.send?.(taken);
process.disconnect?.();
await db.close();
await postgres?.close();
