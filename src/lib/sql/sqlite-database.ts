import { closeSync, mkdirSync, openSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { TimeSlice } from "../time-slice.ts";
import { type Schema, type Sql, type SqlDatabase, type SqlValue, stepsTo, type Values } from "./sql.ts";

const BEGIN_WRITE = "BEGIN IMMEDIATE";
/**
 * SQLite has no queue: waiting processes poll, and a process that writes without a gap would keep them waiting for ever. So after a long
 * transaction a writer rests for about as long as the others wait between two attempts.
 */
const REST_SHARE = 0.05;
const MAX_REST_MS = 25;
/** Filters come in any shape, each with its own SQL text. */
const MAX_STATEMENTS = 500;

/** secure_delete: overwrites deleted content, so that a purged text cannot be found in the file. */
const SETTINGS =
  "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000; PRAGMA secure_delete = ON";

/**
 * Opens two connections to one file: one writes, the other reads the last committed state meanwhile. Each does one thing at a time, so that
 * no statement ends up in another caller's transaction. Errors of SQLite are thrown with the path.
 */
export async function openSqlite(path: string, schema: Schema): Promise<SqlDatabase> {
  mkdirSync(dirname(path), { recursive: true });
  createSqliteFile(path);
  const connections: Connection[] = [];
  try {
    const writer = connect(path, connections);
    await waitForLock(path, () => writer.raw.exec(SETTINGS));
    await applySchema(writer.raw, path, schema);
    const reader = connect(path, connections);
    return createDatabase(writer, reader);
  } catch (error) {
    for (const { raw } of connections) raw.close();
    if (hasNoRoom(path, error)) {
      throw Object.assign(new Error(`open ${path}: the disk is full`, { cause: error }), { code: "ENOSPC" });
    }
    throw new Error(`open ${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** Opens a database of this process alone: in memory while it is small, otherwise in an unnamed file, and deleted when it is closed. */
export function openTemporary({ sql }: Pick<Schema, "sql">): SqlDatabase {
  const only = connect("", []);
  only.raw.exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000");
  only.raw.exec(sql);
  return createDatabase(only, only);
}

/** SQLite itself never allows group write; the files it creates beside this one get the same permissions. */
export function createSqliteFile(path: string): void {
  try {
    closeSync(openSync(path, "wx"));
  } catch {
    // The file exists already; SQLite reports any other problem.
  }
}

function createDatabase(writer: Connection, reader: Connection): SqlDatabase {
  return {
    dialect: "sqlite",
    all: (text, values) => reader.alone((sql) => sql.all(text, values)),
    rows: (text, values) => reader.alone((sql) => sql.rows(text, values)),
    get: (text, values) => reader.alone((sql) => sql.get(text, values)),
    run: (text, values) => writer.alone((sql) => sql.run(text, values)),
    // A single insert is a transaction of its own; of many, half must not be left.
    insert: (into, rows, suffix) => writer.transaction(BEGIN_WRITE, (sql) => sql.insert(into, rows, suffix)),
    // Takes the write lock at the start: a later upgrade could not wait for it, because what was read is outdated by then.
    write: (work) => writer.transaction(BEGIN_WRITE, work),
    read: (work) => reader.transaction("BEGIN", work),
    async close() {
      await Promise.all([writer.close(), reader.close()]);
    },
  };
}

interface Connection {
  readonly raw: DatabaseSync;
  /** Runs when no other caller uses the connection. */
  alone<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  transaction<T>(begin: string, work: (sql: Sql) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

function connect(path: string, connections: Connection[]): Connection {
  const raw = new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: true });
  const timeSlice = new TimeSlice();
  const sql = statementsOf(raw, path, timeSlice);
  const rest = new Rest();
  let last: Promise<unknown> = Promise.resolve();
  const alone = <T>(work: (sql: Sql) => Promise<T>): Promise<T> => {
    // The statements are synchronous: a caller that awaits nothing else would block the process.
    const begin = async (): Promise<T> => {
      if (timeSlice.isOver()) await timeSlice.next();
      return work(sql);
    };
    const mine = last.then(begin, begin);
    last = mine;
    return mine;
  };
  const transact = async <T>(begin: string, work: () => Promise<T>): Promise<T> => {
    if (begin === BEGIN_WRITE) await rest.over();
    await waitForLock(path, () => raw.exec(begin));
    return rest.after(() => inTransaction(raw, path, work));
  };
  const connection: Connection = {
    raw,
    alone,
    transaction: (begin, work) => alone(() => transact(begin, () => work(sql))),
    close: () => alone(async () => raw.isOpen && raw.close()).then(() => undefined),
  };
  connections.push(connection);
  return connection;
}

class Rest {
  #untilMs = 0;

  async over(): Promise<void> {
    const leftMs = this.#untilMs - performance.now();
    if (leftMs >= 1) await sleep(leftMs);
  }

  async after<T>(transaction: () => Promise<T>): Promise<T> {
    const begunAtMs = performance.now();
    try {
      return await transaction();
    } finally {
      const endedAtMs = performance.now();
      this.#untilMs = endedAtMs + Math.min((endedAtMs - begunAtMs) * REST_SHARE, MAX_REST_MS);
    }
  }
}

/** The transaction has begun already. */
async function inTransaction<T>(raw: DatabaseSync, path: string, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    await waitForLock(path, () => raw.exec("COMMIT"));
    return result;
  } catch (error) {
    // SQLite has already rolled back after some errors (disk full); the first error is the one to report.
    if (raw.isTransaction) raw.exec("ROLLBACK");
    throw error;
  }
}

function statementsOf(raw: DatabaseSync, path: string, timeSlice: TimeSlice): Sql {
  const statements = new Map<string, StatementSync>();
  const prepare = (text: string): StatementSync => {
    let statement = statements.get(text);
    if (!statement) {
      if (statements.size >= MAX_STATEMENTS) statements.clear();
      statement = raw.prepare(text.replaceAll(/\$(\d+)/g, "?$1"));
      statements.set(text, statement);
    }
    return statement;
  };
  const arraysOf = (text: string, values: Values): SqlValue[][] => {
    const statement = prepare(text);
    statement.setReturnArrays(true);
    try {
      return statement.all(...bound(values)) as unknown as SqlValue[][];
    } finally {
      statement.setReturnArrays(false);
    }
  };
  return {
    dialect: "sqlite",
    all: <Row>(text: string, values: Values = []) =>
      waitForLock(path, () => prepare(text).all(...bound(values)) as Row[]),
    rows: (text, values = []) => waitForLock(path, () => arraysOf(text, values)),
    get: <Row>(text: string, values: Values = []) =>
      waitForLock(path, () => prepare(text).get(...bound(values)) as Row | undefined),
    run: (text, values = []) => waitForLock(path, () => Number(prepare(text).run(...bound(values)).changes)),
    async insert(into, rows, suffix = "") {
      const [first] = rows;
      if (!first) return;
      const places = first.map((_, at) => `$${at + 1}`).join(", ");
      const statement = prepare(`INSERT INTO ${into} VALUES (${places}) ${suffix}`);
      for (const row of rows) {
        statement.run(...bound(row));
        if (timeSlice.isOver()) await timeSlice.next();
      }
    },
  };
}

function bound(values: Values): SqlValue[] {
  return values as SqlValue[];
}

/** The version is in `PRAGMA user_version`. */
async function applySchema(raw: DatabaseSync, path: string, schema: Schema): Promise<void> {
  const versionOf = (): number => Number(raw.prepare("PRAGMA user_version").get()?.["user_version"] ?? 0);
  if ((await waitForLock(path, versionOf)) === schema.version) return;
  await waitForLock(path, () => raw.exec(BEGIN_WRITE));
  try {
    for (const step of stepsTo(schema, versionOf(), path)) raw.exec(step);
    raw.exec(`PRAGMA user_version = ${schema.version}`);
    raw.exec("COMMIT");
  } catch (error) {
    if (raw.isTransaction) raw.exec("ROLLBACK");
    throw error;
  }
}

/** SQLITE_CORRUPT and SQLITE_NOTADB: the file does not contain what SQLite wrote. */
const DAMAGED = [11, 26];

/** Returns SQLite's message for a damaged file; undefined for every other error. */
export function findDamage(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (!("errcode" in at) || typeof at.errcode !== "number") continue;
    // For a damaged header SQLite has words, and no code of its own.
    if (DAMAGED.includes(at.errcode & 0xff) || at.message === "unsupported file format") return at.message;
  }
  return undefined;
}

/** SQLITE_IOERR: all that SQLite says where not even the file beside a database, which also readers need, has room. */
function hasNoRoom(path: string, error: unknown): boolean {
  if (!(error instanceof Error && "errcode" in error) || typeof error.errcode !== "number") return false;
  return (error.errcode & 0xff) === 10 && statfsSync(dirname(path)).bavail === 0;
}

/** A process that holds the lock longer has stopped or hangs: none of our transactions takes that long. */
const GIVE_UP_MS = 30_000;
/** Random wait between two attempts, so that waiting processes do not all come back at once. */
const MIN_WAIT_MS = 2;
const MAX_WAIT_MS = 10;

/**
 * Retries what SQLite refuses because another process has the lock. SQLite's own waiting would block the whole process. `act` must be a
 * single step that has no effect when it is refused.
 */
async function waitForLock<T>(path: string, act: () => T): Promise<T> {
  let giveUpAtMs: number | undefined;
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (!isBusy(error)) throw error;
      giveUpAtMs ??= performance.now() + GIVE_UP_MS;
      if (performance.now() >= giveUpAtMs) {
        const seconds = GIVE_UP_MS / 1000;
        throw new Error(`use ${path}: another process has kept it locked for more than ${seconds} s`, { cause: error });
      }
    }
    await sleep(MIN_WAIT_MS + Math.random() * (MAX_WAIT_MS - MIN_WAIT_MS));
  }
}

/** SQLITE_BUSY of any kind. */
export function isBusy(error: unknown): boolean {
  if (!(error instanceof Error && "errcode" in error) || typeof error.errcode !== "number") return false;
  return (error.errcode & 0xff) === 5;
}
