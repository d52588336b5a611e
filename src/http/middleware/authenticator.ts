import { open, readFile } from "node:fs/promises";
import { isIPv4, type Socket } from "node:net";
import { endianness } from "node:os";
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import { CRAWLER_AGENT } from "../../contracts/web.ts";
import { createKeyedMutex } from "../../lib/concurrency.ts";
import type { Access, Credentials, Identity } from "../../security/access.ts";
import type { WithoutKeys } from "../../security/open-access.ts";
import type { HttpEnv } from "../http-env.ts";
import { type Buckets, createBuckets } from "./buckets.ts";
import { clientNetwork } from "./client-address.ts";

export const SESSION_COOKIE = "lockstep_session";

/** Failed attempts per network. */
const FAILURES = { perSecond: 1 / 3, burst: 20 };

/** The identity; or `slowed`: too many failed attempts from this network; or why a server without keys refuses this client. */
export type AuthenticationResult =
  | Identity
  | { readonly status: "slowed"; readonly waitMs: number }
  | { readonly status: "not let in"; readonly reason: string };

const OTHER_ACCOUNT =
  "This server has no keys, so it answers only to the account that runs it and to root; this connection belongs to another account, or nobody can tell whose it is. " +
  "Make a key with 'lockstep keys add NAME --role admin' and send it along, or set ALLOW_UNAUTHENTICATED_NETWORK_ACCESS=true to let everybody in who reaches the server.";

/** A link in a crawled page may lead here, and a crawl runs with the server's own account. */
const CRAWL = "A crawl of lockstep came here by a link or a redirect; this server answers to no crawl.";

export interface Authenticator {
  /**
   * Identifies the client of a request. All checks of secrets go through here, so that all attempts are counted. Rejects as
   * `Access.authenticate` does.
   */
  identify(c: Context<HttpEnv>): Promise<AuthenticationResult>;
  /** Failed attempts by network. Signing in shares them, so that guessing is slowed down both ways. */
  readonly failures: Buckets;
}

/**
 * A valid key is accepted however many attempts from the same network failed: many clients share an address, and keys cannot be
 * guessed. An ADMIN_API_KEY that could be guessed is not accepted then.
 */
export function createAuthenticator(access: Access, withoutKeys: WithoutKeys): Authenticator {
  const failures = createBuckets(FAILURES);
  const oneAtATime = createKeyedMutex();
  const isOwnAccount = createOwnAccountCheck();
  /**
   * Returns why a client without keys is refused. Only Linux tells which account owns a connection; a test that calls the app directly has
   * none.
   */
  const refusalReason = async (c: Context, identity: Identity): Promise<string | undefined> => {
    if (identity.status !== "known" || identity.principal.kind !== "local") return undefined;
    if (c.req.header("user-agent")?.startsWith(CRAWLER_AGENT)) return CRAWL;
    if (withoutKeys !== "own account" || process.platform !== "linux") return undefined;
    const socket = (c.env as Partial<HttpBindings> | undefined)?.incoming?.socket;
    return socket === undefined || (await isOwnAccount(socket)) ? undefined : OTHER_ACCOUNT;
  };
  const identify: Authenticator["identify"] = async (c) => {
    const credentials = credentialsOf(c);
    const { authorization, apiKey } = credentials;
    if (authorization === undefined && apiKey === undefined) return access.authenticate(credentials);
    const network = clientNetwork(c);
    // Taken before the check, and given back after a success: many requests may run at once.
    const waitMs = failures.take(network);
    let identity: Identity;
    try {
      const check = (): Promise<Identity> => access.authenticate(credentials, { onlyUnguessable: waitMs > 0 });
      // Valid keys are still accepted, but one at a time: a flood from one network must not slow down the others.
      identity = await (waitMs > 0 ? oneAtATime(network, check) : check());
    } catch (error) {
      if (waitMs > 0) return { status: "slowed", waitMs };
      throw error;
    }
    if (identity.status === "unproved") return waitMs > 0 ? { status: "slowed", waitMs } : identity;
    if (waitMs === 0) failures.giveBack(network);
    return identity;
  };
  return {
    failures,
    async identify(c) {
      const result = await identify(c);
      if (result.status === "slowed" || result.status === "not let in") return result;
      const reason = await refusalReason(c, result);
      return reason === undefined ? result : { status: "not let in", reason };
    },
  };
}

function credentialsOf(c: Context): Credentials {
  return {
    authorization: /^bearer /i.test(c.req.header("authorization") ?? "") ? c.req.header("authorization") : undefined,
    apiKey: c.req.header("x-api-key") ?? c.req.header("api-key"),
    session: getCookie(c, SESSION_COOKIE),
  };
}

/** The kernel skips lines if its table changes between two reads, so one search without a result proves nothing. */
const ATTEMPTS = 3;
const CHUNK_BYTES = 256 * 1024;
/** Some 200,000 connections. */
const MAX_TABLE_BYTES = 32 * 1024 * 1024;
const ESTABLISHED = "01";
/** The uid of all accounts that this user namespace has no number for. */
const OVERFLOW_UID = 65_534;

/**
 * Returns a check whether the other end of a connection belongs to the account that runs this process, or to root. Cached per
 * connection.
 */
function createOwnAccountCheck(): (socket: Socket) => Promise<boolean> {
  const known = new WeakMap<Socket, Promise<boolean>>();
  return (socket) => {
    const found = known.get(socket) ?? isOwn(socket).catch(() => false);
    known.set(socket, found);
    return found;
  };
}

async function isOwn(socket: Socket): Promise<boolean> {
  const uid = await peerAccount(socket);
  if (uid === OVERFLOW_UID && !(await knowsAllAccounts())) return false;
  return uid !== undefined && (uid === 0 || uid === process.geteuid?.());
}

/** undefined: the other end is not on this machine, has closed, or cannot be found. Linux only. */
async function peerAccount({
  remoteAddress,
  remotePort,
  localAddress,
  localPort,
}: Socket): Promise<number | undefined> {
  if (!remoteAddress || !localAddress || !remotePort || !localPort) return undefined;
  const [peer, own] = [bytesOfAddress(remoteAddress), bytesOfAddress(localAddress)];
  if (!peer || !own) return undefined;
  const port = (number: number): string => number.toString(16).toUpperCase().padStart(4, "0");
  const ends = (from: number): string =>
    `${inKernelWords(peer.subarray(from))}:${port(remotePort)} ${inKernelWords(own.subarray(from))}:${port(localPort)}`;
  // A program may speak IPv4 through an IPv6 socket.
  const tables: [string, string][] = isMapped(peer) ? [["/proc/net/tcp", ends(12)]] : [];
  tables.push(["/proc/net/tcp6", ends(0)]);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    for (const [table, wanted] of tables) {
      const line = await lineIn(table, ` ${wanted} `);
      if (line !== undefined) return ownerIn(line);
    }
  }
  return undefined;
}

/** A socket that was closed while its request was on its way is shown as root's, with inode 0. */
function ownerIn(line: string): number | undefined {
  const [, , , state, , , , uid, , inode] = line.trim().split(/\s+/);
  const isHeld = state === ESTABLISHED && /^[1-9]\d*$/.test(inode ?? "");
  return isHeld && /^\d+$/.test(uid ?? "") ? Number(uid) : undefined;
}

async function lineIn(table: string, wanted: string): Promise<string | undefined> {
  await using file = await open(table).catch(() => undefined);
  if (!file) return undefined;
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let rest = "";
  for (let total = 0; total < MAX_TABLE_BYTES; ) {
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, null);
    if (bytesRead === 0) return undefined;
    total += bytesRead;
    const lines = (rest + chunk.toString("latin1", 0, bytesRead)).split("\n");
    rest = lines.pop() ?? "";
    const found = lines.find((line) => line.includes(wanted));
    if (found !== undefined) return found;
  }
  return undefined;
}

async function knowsAllAccounts(): Promise<boolean> {
  return /^\s*0\s+0\s+4294967295\s*$/.test(await readFile("/proc/self/uid_map", "utf8"));
}

/** Returns 16 bytes, IPv4 as in `::ffff:127.0.0.1`; undefined if it is no address. */
function bytesOfAddress(address: string): Buffer | undefined {
  const four = address.replace(/^::ffff:/i, "");
  if (isIPv4(four)) return Buffer.from([...MAPPED, ...four.split(".").map(Number)]);
  const host = URL.parse(`http://[${address.replace(/%.*$/, "")}]/`)?.hostname.slice(1, -1);
  if (host === undefined) return undefined;
  const [head = "", tail] = host.split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const [before, behind] = [groups(head), groups(tail ?? "")];
  const left = Array.from({ length: 8 - before.length - behind.length }, () => "0");
  return Buffer.from([...before, ...left, ...behind].map((group) => group.padStart(4, "0")).join(""), "hex");
}

const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

function isMapped(address: Buffer): boolean {
  return address.subarray(0, MAPPED.length).equals(Buffer.from(MAPPED));
}

/** 32-bit words in the byte order of this machine. */
function inKernelWords(address: Buffer): string {
  const bytes = Buffer.from(address);
  return (endianness() === "LE" ? bytes.swap32() : bytes).toString("hex").toUpperCase();
}
