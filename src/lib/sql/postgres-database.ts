import type pg from "pg";
import { BadInputError, RemoteError } from "../../contracts/errors.ts";
import { createKeyedMutex } from "../concurrency.ts";
import { errorCode, explainNetwork } from "../explain-network.ts";
import { later } from "../later.ts";
import { backoffMs, jitter, type RetryLimits } from "../retry.ts";
import { slicesOf } from "../slices-of.ts";
import { sleep } from "../time.ts";
import { type Schema, type Sql, type SqlDatabase, type SqlValue, stepsTo, storableText, type Values } from "./sql.ts";

/** A PostgreSQL database, in which every set of tables has a PostgreSQL schema of its own. */
export interface Postgres {
  /** The address without the password. */
  readonly where: string;
  /**
   * Opens the tables in the schema `name`, created or upgraded to this version first; several processes may do so at once. Every connection
   * runs `session` before it uses these tables. Closing it closes no connection: other tables use them, too.
   */
  openTables(name: string, schema: Schema, session?: string): Promise<SqlDatabase>;
  /** Drops the schema `name` with everything in it, if it exists. */
  dropTables(name: string): Promise<void>;
  /** Returns the extension, created first if possible. undefined if the server does not have it, or the user may not create it. */
  findExtension(name: string): Promise<{ readonly schema: string; readonly version: string } | undefined>;
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 10;
const CONTENTION: RetryLimits = { attempts: 6, firstMs: 40, longestMs: 1000 };
/** Values per statement: enough to make the round trip negligible, few enough for memory. */
const VALUES_AT_ONCE = 10_000;
const NO_SETTING: Setting = { sql: "SET search_path = public" };

/** Connects with the first statement. BadInputError for an invalid address; connection errors are RemoteErrors. */
export function openPostgres(url: string, options: { readonly maxConnections?: number } = {}): Postgres {
  const pool = createPostgresPool(url, options.maxConnections ?? MAX_CONNECTIONS);
  const oneAtATime = createKeyedMutex();
  return {
    where: pool.where,
    async openTables(name, schema, session = "") {
      await pool.use(NO_SETTING, (client) => applySchema(client, name, schema, pool.where));
      const setting = { sql: `SET search_path = ${quote(name)}, public; ${session}` };
      return createDatabase(pool, name, setting, oneAtATime);
    },
    async dropTables(name) {
      await pool.use(NO_SETTING, (client) => client.query(`DROP SCHEMA IF EXISTS ${quote(name)} CASCADE`));
    },
    findExtension: (name) => pool.use(NO_SETTING, (client) => findExtension(client, name)),
    close: () => pool.close(),
  };
}

/** Frees the space of deleted rows in all schemas of ours. Rows that old transactions may still see stay. */
export async function vacuumPostgres(url: string): Promise<void> {
  const pool = createPostgresPool(url, 1);
  try {
    await pool.use(NO_SETTING, async (client) => {
      const { rows } = await client.query(
        "SELECT schemaname AS schema, relname AS name FROM pg_stat_user_tables WHERE schemaname LIKE 'lockstep\\_%'",
      );
      for (const { schema, name } of rows as readonly { schema: string; name: string }[]) {
        await client.query(`VACUUM ${quote(schema)}.${quote(name)}`);
      }
    });
  } finally {
    await pool.close();
  }
}

function createDatabase(
  pool: PostgresPool,
  name: string,
  setting: Setting,
  oneAtATime: ReturnType<typeof createKeyedMutex>,
): SqlDatabase {
  const types: ColumnTypes = new Map();
  const single = <T>(work: (sql: Sql) => Promise<T>): Promise<T> =>
    pool.use(setting, (client) => work(statementsOf(client, types)));
  const transaction = <T>(begin: string, work: (sql: Sql) => Promise<T>): Promise<T> =>
    pool.use(setting, (client) => inTransaction(client, begin, () => work(statementsOf(client, types))));
  // One writer per set of tables at a time, as in a SQLite file, so that reading and then writing is safe between two processes. Within a
  // process writers queue here, so that waiting ones need no connection.
  const begin = `BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('${name.replaceAll("'", "''")}', 0))`;
  const write = <T>(work: (sql: Sql) => Promise<T>): Promise<T> =>
    oneAtATime(name, () => withRetries(() => transaction(begin, work)));
  return {
    dialect: "postgres",
    all: (text, values) => single((sql) => sql.all(text, values)),
    rows: (text, values) => single((sql) => sql.rows(text, values)),
    get: (text, values) => single((sql) => sql.get(text, values)),
    run: (text, values) => single((sql) => sql.run(text, values)),
    insert: (into, rows, suffix) => write((sql) => sql.insert(into, rows, suffix)),
    write,
    read: (work) => transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", work),
    async close() {
      // Waits for running writes; the connections belong to all tables.
      await oneAtATime(name, async () => undefined);
    },
  };
}

async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === CONTENTION.attempts || !isContention(error)) throw error;
      await sleep(jitter(backoffMs(attempt, CONTENTION)));
    }
  }
}

async function inTransaction<T>(client: pg.PoolClient, begin: string, work: () => Promise<T>): Promise<T> {
  try {
    // It can fail half-way: the transaction has begun, and waiting for the lock took too long.
    await client.query(begin);
    const result = await work();
    await client.query("COMMIT");
    return result;
  } catch (error) {
    // A broken connection cannot roll back, and need not: the pool closes it. The first error is the one to report.
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

/** Keyed by `table (columns)`: the array types of the columns. */
type ColumnTypes = Map<string, readonly string[]>;

function statementsOf(client: pg.PoolClient, types: ColumnTypes): Sql {
  const query = (text: string, values: readonly unknown[] = []): Promise<pg.QueryResult> =>
    client.query(text, values.map(toParameter));
  return {
    dialect: "postgres",
    all: async <Row>(text: string, values?: Values) => (await query(text, values)).rows as Row[],
    rows: async (text, values = []) =>
      (await client.query({ text, values: values.map(toParameter), rowMode: "array" })).rows as SqlValue[][],
    get: async <Row>(text: string, values?: Values) => (await query(text, values)).rows[0] as Row | undefined,
    run: async (text, values) => (await query(text, values)).rowCount ?? 0,
    async insert(into, rows, suffix = "") {
      const columns = types.get(into) ?? (await readTypes(client, into));
      types.set(into, columns);
      const arrays = columns.map((type, at) => `$${at + 1}::${type}[]`).join(", ");
      const count = Math.ceil(VALUES_AT_ONCE / columns.length);
      for (const slice of slicesOf(rows, count)) {
        const values = columns.map((_, at) => slice.map((row) => toParameter(row[at])));
        await client.query(`INSERT INTO ${into} SELECT * FROM unnest(${arrays}) ${suffix}`, values);
      }
    },
  };
}

function toParameter(value: unknown): unknown {
  return typeof value === "string" ? storableText(value) : value;
}

async function readTypes(client: pg.PoolClient, into: string): Promise<readonly string[]> {
  const [, table = "", list = ""] = /^\s*([\w".]+)\s*\(([^)]*)\)\s*$/.exec(into) ?? [];
  const { rows } = await client.query(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
    [table],
  );
  const types = new Map((rows as { name: string; type: string }[]).map(({ name, type }) => [name, type]));
  return list.split(",").map((column) => {
    const type = types.get(column.trim());
    if (type === undefined) throw new Error(`insert into ${into}: there is no column '${column.trim()}'`);
    return type;
  });
}

/** The version is in the table `format` of the schema. All upgrades wait for each other. */
async function applySchema(client: pg.PoolClient, name: string, schema: Schema, where: string): Promise<void> {
  const path = `SET LOCAL search_path = ${quote(name)}, public`;
  const begin = "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('lockstep formats', 0))";
  if ((await versionOf(client, name)) === schema.version) return;
  await inTransaction(client, begin, async () => {
    const version = await versionOf(client, name);
    if (version === 0) await client.query(`CREATE SCHEMA IF NOT EXISTS ${quote(name)}`);
    await client.query(path);
    for (const step of stepsTo(schema, version, `${name} in ${where}`)) await client.query(step);
    await client.query("CREATE TABLE IF NOT EXISTS format (id int PRIMARY KEY CHECK (id = 1), version int NOT NULL)");
    await client.query(
      `INSERT INTO format VALUES (1, ${schema.version}) ON CONFLICT (id) DO UPDATE SET version = excluded.version`,
    );
  });
}

async function versionOf(client: pg.PoolClient, name: string): Promise<number> {
  // Not to_regclass: it caches that there is no such table, even after another process has created it.
  const there = await client.query(
    "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'format'",
    [name],
  );
  if (there.rows.length === 0) return 0;
  const found = await client.query(`SELECT version FROM ${quote(name)}.format`);
  return (found.rows[0] as { version: number } | undefined)?.version ?? 0;
}

async function findExtension(
  client: pg.PoolClient,
  name: string,
): Promise<{ readonly schema: string; readonly version: string } | undefined> {
  // If two processes create it at once, one gets a duplicate error, and finds it then.
  await client.query(`CREATE EXTENSION IF NOT EXISTS ${quote(name)} SCHEMA public`).catch(() => undefined);
  const { rows } = await client.query(
    `SELECT n.nspname AS schema, e.extversion AS version FROM pg_extension e
     JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = $1`,
    [name],
  );
  return rows[0] as { schema: string; version: string } | undefined;
}

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const postgres = later<typeof pg>("pg");

/** Run by a connection before statements of one set of tables: selects the tables they mean. */
interface Setting {
  readonly sql: string;
}

/** Connections of this process to one database. Each remembers its last setting. */
interface PostgresPool {
  /** The address without the password. */
  readonly where: string;
  /** Runs work with an exclusive connection. One that broke, or was left in a transaction, is not used again. */
  use<T>(setting: Setting, work: (client: pg.PoolClient) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A machine that vanished in the middle of a transaction must not hold its locks for hours. */
const IDLE_TRANSACTION_MS = 5 * 60_000;

const BOOL = 16;
const BYTEA = 17;
const INT8 = 20;
const NUMERIC = 1700;

function createPostgresPool(url: string, maxConnections: number): PostgresPool {
  const where = describePostgres(url);
  const settings = new WeakMap<pg.PoolClient, Setting>();
  const pool = new (postgres().Pool)({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: 15_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    application_name: "lockstep",
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    types: { getTypeParser },
  });
  // Without a listener, a connection that breaks while idle would end the process. The next user gets the error.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  let closing: Promise<void> | undefined;

  return {
    where,
    async use(setting, work) {
      const client = await pool.connect().catch((error: unknown) => {
        throw explainTrouble(error, where);
      });
      try {
        if (settings.get(client) !== setting) {
          await client.query(setting.sql);
          settings.set(client, setting);
        }
        const result = await work(client);
        client.release(!isIdle(client));
        return result;
      } catch (error) {
        const explained = explainTrouble(error, where);
        client.release(explained !== error || !isIdle(client));
        throw explained;
      }
    },
    close() {
      closing ??= pool.end();
      return closing;
    },
  };
}

/** A connection in the middle of a transaction would fail, or write what is never committed. */
function isIdle(client: pg.PoolClient): boolean {
  return client.getTransactionStatus() === "I";
}

/** Numbers come back as numbers: none of ours is beyond 2^53. For this pool only, not for all of `pg`. */
function getTypeParser(type: number, format?: unknown): (value: string) => unknown {
  if (format === "binary") return postgres().types.getTypeParser(type, "binary") as (value: string) => unknown;
  if (type === INT8 || type === NUMERIC) return Number;
  if (type === BOOL) return (value) => (value === "t" ? 1 : 0);
  if (type === BYTEA) return readBytes;
  return postgres().types.getTypeParser(type, "text");
}

/** Copies into a buffer of its own, so that it can be viewed as an array of numbers. */
function readBytes(hex: string): Uint8Array {
  const bytes = new Uint8Array((hex.length - 2) / 2);
  Buffer.from(bytes.buffer).write(hex.slice(2), "hex");
  return bytes;
}

/** Returns `db.example:5432/lockstep`: an address without user and password. */
export function describePostgres(url: string): string {
  const { hostname, port, pathname } = parsePostgresUrl(url);
  return `${hostname || "localhost"}:${port || 5432}${pathname}`;
}

/** Throws a BadInputError that does not repeat the address: it contains a password. */
function parsePostgresUrl(url: string): URL {
  const parsed = URL.parse(url);
  if (parsed && /^postgres(ql)?:$/.test(parsed.protocol)) return parsed;
  throw new BadInputError(
    "DATABASE_URL must be the address of a PostgreSQL database: postgres://user:password@host:5432/database.",
  );
}

/** A retry may succeed: PostgreSQL aborted this transaction in favour of another. */
function isContention(error: unknown): boolean {
  const code = errorCode(error);
  return code === "40001" || code === "40P01";
}

/** Turns a connection error into a RemoteError with one clear sentence; any other error stays as it is. */
function explainTrouble(error: unknown, where: string): unknown {
  const reason = connectionTrouble(error);
  return reason === undefined ? error : new RemoteError(`reach PostgreSQL at ${where}: ${reason}`, { cause: error });
}

/** By SQLSTATE. */
const REASONS: Readonly<Record<string, string>> = {
  "28P01": "the user name or the password is wrong",
  "28000": "this user may not connect",
  "3D000": "there is no such database",
  "53300": "it has no connection left; raise max_connections, or start fewer processes",
  "57P01": "it is being stopped",
  "57P02": "it crashed and restarts",
  "57P03": "it is starting or stopping",
  "25P03": "a transaction did nothing for too long and was ended",
};

function connectionTrouble(error: unknown): string | undefined {
  const code = errorCode(error);
  const known = REASONS[code] ?? explainNetwork(code);
  if (known !== undefined) return known;
  if (code.startsWith("08")) return explainNetwork("EPIPE");
  const message = error instanceof Error ? error.message : "";
  if (/connection terminated|not queryable|Client was closed/i.test(message)) return explainNetwork("EPIPE");
  if (/timeout (exceeded )?when trying to connect|timeout expired/i.test(message)) return explainNetwork("ETIMEDOUT");
  return /does not support SSL/i.test(message) ? "it does not speak TLS; leave sslmode out of the address" : undefined;
}
