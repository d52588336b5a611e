import type { ListedTaskQueue } from "../contracts/queue.ts";
import { type DatabasePlace, openDatabase } from "../lib/sql/open-database.ts";
import { queueTables } from "./queue-tables.ts";
import { createTaskQueue } from "./task-queue.ts";

/** It is asked seldom, and answers at once. */
const CONNECTIONS = 2;

/** In a SQLite file of this folder for the processes of one machine, or in a PostgreSQL database for those of many. */
export function openTaskQueue(where: DatabasePlace): ListedTaskQueue {
  return createTaskQueue(() =>
    openDatabase(where, {
      file: "queue.sqlite",
      schema: "lockstep_queue",
      tables: queueTables,
      connections: CONNECTIONS,
    }),
  );
}
