import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

/** A SQLite file that several processes may have open. Everything is synchronous, so no transaction spans an await. */
export interface Database {
  /** The folder the file is in. */
  readonly folder: string;
  /** Prepared once per text and kept. Do not iterate lazily over it: the next caller would reset the cursor. */
  statement(sql: string): StatementSync;
  /** Takes the write lock at the start: a transaction that upgrades later fails at once, whatever the timeout. */
  write<T>(work: () => T): T;
  /** Everything read inside sees the same moment. */
  read<T>(work: () => T): T;
  close(): void;
}

export interface Schema {
  /** Kept in `PRAGMA user_version`. */
  readonly version: number;
  readonly sql: string;
  /** By the format they start from: what makes it the next one. */
  readonly upgrades?: ReadonlyMap<number, string>;
}

const BUSY_TIMEOUT_MS = 5000;
/** Filters come in any shape, each with its own text. */
const MAX_STATEMENTS = 500;

export function openDatabase(path: string, schema: Schema): Database {
  mkdirSync(dirname(path), { recursive: true });
  const connection = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
  try {
    enableWal(connection);
    const database = wrap(connection, dirname(path));
    applySchema(connection, database, path, schema);
    return database;
  } catch (error) {
    connection.close();
    throw new Error(`open ${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** Two processes that open a new file at once: SQLite answers "locked" to one without waiting, so we wait. */
function enableWal(connection: DatabaseSync): void {
  const giveUpAt = Date.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      connection.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000");
      return;
    } catch (error) {
      if (Date.now() > giveUpAt || !/locked|busy/i.test(String(error))) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

function applySchema(connection: DatabaseSync, database: Database, path: string, schema: Schema): void {
  if (versionOf(connection) === schema.version) return;
  database.write(() => {
    const version = versionOf(connection);
    if (version === schema.version) return;
    if (version > schema.version) {
      throw new Error(
        `${path} was written by a newer release (format ${version}, this one knows ${schema.version}); update lockstep`,
      );
    }
    for (const sql of version === 0 ? [schema.sql] : upgradesFrom(version, schema)) connection.exec(sql);
    connection.exec(`PRAGMA user_version = ${schema.version}`);
  });
}

function upgradesFrom(version: number, schema: Schema): string[] {
  const steps: string[] = [];
  for (let from = version; from < schema.version; from++) {
    const sql = schema.upgrades?.get(from);
    if (sql === undefined) throw new Error(`format ${version} is not known to this release (${schema.version})`);
    steps.push(sql);
  }
  return steps;
}

function versionOf(connection: DatabaseSync): number {
  return Number(connection.prepare("PRAGMA user_version").get()?.["user_version"] ?? 0);
}

function wrap(connection: DatabaseSync, folder: string): Database {
  const statements = new Map<string, StatementSync>();
  const transaction = <T>(begin: string, work: () => T): T => {
    connection.exec(begin);
    try {
      const result = work();
      connection.exec("COMMIT");
      return result;
    } catch (error) {
      // SQLite has already rolled back after some errors (disk full); the first error is the one to tell.
      if (connection.isTransaction) connection.exec("ROLLBACK");
      throw error;
    }
  };
  return {
    folder,
    statement(sql) {
      let statement = statements.get(sql);
      if (!statement) {
        if (statements.size >= MAX_STATEMENTS) statements.clear();
        statement = connection.prepare(sql);
        statements.set(sql, statement);
      }
      return statement;
    },
    write: (work) => transaction("BEGIN IMMEDIATE", work),
    read: (work) => transaction("BEGIN", work),
    close() {
      statements.clear();
      if (connection.isOpen) connection.close();
    },
  };
}
