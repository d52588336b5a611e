import { setImmediate as nextRound } from "node:timers/promises";
import { sleep } from "../time.ts";
import type { Sql, SqlDatabase } from "./sql.ts";

/** With several writers at once, the next ones probably come within this time: waiting costs less than the disk. */
const GATHER_MS = 4;

/** Runs `work`, a single statement, and resolves when it is on disk. It may run again if another one failed. */
export type GatheredWrite = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;

interface Waiting {
  run(sql: Sql): Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Groups small concurrent writes. SQLite syncs the disk with every transaction, so writes that come together share one. PostgreSQL does
 * that by itself for statements over several connections.
 */
export function gatherWrites(db: SqlDatabase): GatheredWrite {
  if (db.dialect === "postgres") return (work) => work(db);
  let waiting: Waiting[] = [];
  let busy = false;
  /** true if several came at once the last time. */
  let crowded = false;
  const writeAll = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      await db.write(async (sql) => {
        for (const { run } of batch) await run(sql);
      });
      for (const { resolve } of batch) resolve();
    } catch (error) {
      // One failure must not fail the others.
      if (batch.length > 1) for (const one of batch) await writeAll([one]);
      else batch[0]?.reject(error);
    }
  };
  const drain = async (): Promise<void> => {
    busy = true;
    while (waiting.length > 0) {
      // Writers woken in the same round of the event loop are included in any case.
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
