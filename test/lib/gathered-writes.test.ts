// Writes that come together share a transaction, and one failure harms no other.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gatherWrites } from "../../src/lib/sql/gathered-writes.ts";
import type { SqlDatabase } from "../../src/lib/sql/sql.ts";
import { openSqlite } from "../../src/lib/sql/sqlite-database.ts";

test("writes that come together share transactions, all are on disk, and one that fails takes no other along", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-gathered-"));
  const db = await openSqlite(join(folder, "a.sqlite"), { version: 1, sql: "CREATE TABLE n (n INTEGER PRIMARY KEY)" });
  t.after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  let transactions = 0;
  const counted: SqlDatabase = {
    ...db,
    write(work) {
      transactions += 1;
      return db.write(work);
    },
  };
  const write = gatherWrites(counted);
  const put = (n: number): Promise<number> => write((sql) => sql.run("INSERT INTO n VALUES ($1)", [n]));
  assert.deepEqual(await Promise.all([1, 2, 3, 4, 5].map(put)), [1, 1, 1, 1, 1]);
  assert.equal(transactions, 1);
  const outcomes = await Promise.allSettled([put(6), put(3), put(7)]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  const rows = await db.all<{ n: number }>("SELECT n FROM n ORDER BY n");
  assert.deepEqual(
    rows.map(({ n }) => n),
    [1, 2, 3, 4, 5, 6, 7],
  );
});
