import { setImmediate as nextRound } from "node:timers/promises";
import { sleep } from "../time.ts";
import type { Sql, SqlDatabase } from "./sql.ts";

/** Where several write at once, the next ones are likely to come within this time: waiting costs less than the disk. */
const GATHER_MS = 4;

/** Does `work`, which is one statement, and resolves when it is on disk. It may be done again when another one failed. */
export type GatheredWrite = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;

interface Waiting {
  run(sql: Sql): Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * For many small writes by many at once. SQLite waits for the disk with every transaction, and everybody with it, so those
 * that come together share one. PostgreSQL does the same by itself, for statements that come over several connections.
 */
export function gatherWrites(db: SqlDatabase): GatheredWrite {
  if (db.dialect === "postgres") return (work) => work(db);
  let waiting: Waiting[] = [];
  let busy = false;
  /** Several came at once the last time. */
  let crowded = false;
  const writeAll = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      await db.write(async (sql) => {
        for (const { run } of batch) await run(sql);
      });
      for (const { resolve } of batch) resolve();
    } catch (error) {
      // Nobody is to fail because of another.
      if (batch.length > 1) for (const one of batch) await writeAll([one]);
      else batch[0]?.reject(error);
    }
  };
  const drain = async (): Promise<void> => {
    busy = true;
    while (waiting.length > 0) {
      // Those who are woken by the same round of the event loop come along in any case.
      await (crowded ? sleep(GATHER_MS) : nextRound());
      const batch = waiting;
      waiting = [];
      crowded = batch.length > 1;
      await writeAll(batch);
    }
    busy = false;
  };
  return <T>(work: (sql: Sql) => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      let result: T;
      waiting.push({
        async run(sql) {
          result = await work(sql);
        },
        resolve: () => resolve(result),
        reject,
      });
      if (!busy) void drain();
    });
}
