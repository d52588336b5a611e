import pg from "pg";
import { describePostgres, explainTrouble } from "./postgres-trouble.ts";

/** What a connection runs before statements of one set of tables: it says which tables they mean. */
export interface Setting {
  readonly sql: string;
}

/** Connections of this process to one database. Each remembers the last setting it was given. */
export interface PostgresPool {
  /** The address without the password. */
  readonly where: string;
  /** With a connection for itself. One that broke, or was left in a transaction, is not used again. */
  use<T>(setting: Setting, work: (client: pg.PoolClient) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A machine that vanished in the middle of a transaction must not hold its locks for hours. */
const IDLE_TRANSACTION_MS = 5 * 60_000;

const BOOL = 16;
const BYTEA = 17;
const INT8 = 20;
const NUMERIC = 1700;

export function createPostgresPool(url: string, maxConnections: number): PostgresPool {
  const where = describePostgres(url);
  const settings = new WeakMap<pg.PoolClient, Setting>();
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: 15_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    application_name: "lockstep",
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    types: { getTypeParser },
  });
  // Without a listener a connection that breaks while nobody uses it would end the process. Whoever uses it next is told.
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

/** Whoever got a connection in the middle of a transaction would fail, or write what is never committed. */
function isIdle(client: pg.PoolClient): boolean {
  return client.getTransactionStatus() === "I";
}

/** Numbers come back as numbers: nothing of ours is beyond 2^53. Of this pool only, not of all of `pg`. */
function getTypeParser(type: number, format?: unknown): (value: string) => unknown {
  if (format === "binary") return pg.types.getTypeParser(type, "binary") as (value: string) => unknown;
  if (type === INT8 || type === NUMERIC) return Number;
  if (type === BOOL) return (value) => (value === "t" ? 1 : 0);
  if (type === BYTEA) return readBytes;
  return pg.types.getTypeParser(type, "text");
}

/** With memory of its own, so that it may be looked at as an array of numbers. */
function readBytes(hex: string): Uint8Array {
  const bytes = new Uint8Array((hex.length - 2) / 2);
  Buffer.from(bytes.buffer).write(hex.slice(2), "hex");
  return bytes;
}
