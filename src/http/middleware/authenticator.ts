import { open, readFile } from "node:fs/promises";
import { isIPv4, type Socket } from "node:net";
import { endianness } from "node:os";
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import { CRAWLER_AGENT } from "../../contracts/web.ts";
import { createOneAtATime } from "../../lib/one-at-a-time.ts";
import type { Access, Credentials, Identity } from "../../security/access.ts";
import type { WithoutKeys } from "../../security/open-access.ts";
import type { HttpEnv } from "../http-env.ts";
import { type Buckets, createBuckets } from "./buckets.ts";
import { clientNetwork } from "./client-address.ts";

export const SESSION_COOKIE = "lockstep_session";

/** How often one network may bring something that proves nothing. */
const FAILURES = { perSecond: 1 / 3, burst: 20 };

/** Who asks; or that too much came from there that proved nothing, of which this is more; or why not even a server without keys lets them in. */
export type AuthenticationResult =
  | Identity
  | { readonly status: "slowed"; readonly waitMs: number }
  | { readonly status: "not let in"; readonly reason: string };

const OTHER_ACCOUNT =
  "This server has no keys, so it answers only to the account that runs it and to root; this connection belongs to another account, or nobody can tell whose it is. " +
  "Make a key with 'lockstep keys add NAME --role admin' and send it along, or set ALLOW_UNAUTHENTICATED_NETWORK_ACCESS=true to let everybody in who reaches the server.";

/** A link in a crawled page may lead here, by whichever name or proxy, and the account is our own. */
const CRAWL = "A crawl of lockstep came here by a link or a redirect; this server answers to no crawl.";

export interface Authenticator {
  /** Everybody who tells right secrets from wrong ones asks here, so that all attempts are counted. Rejects as `Access.authenticate` does. */
  identify(c: Context<HttpEnv>): Promise<AuthenticationResult>;
  /** By network. Signing in counts here, too: who guessed by one way is slowed by the other. */
  readonly failures: Buckets;
}

/**
 * What is right is heard however often others at the same address were wrong: many share one, and the keys are not to be guessed.
 * What could be guessed, an ADMIN_API_KEY of words, is not heard then.
 */
export function createAuthenticator(access: Access, withoutKeys: WithoutKeys): Authenticator {
  const failures = createBuckets(FAILURES);
  const oneAtATime = createOneAtATime();
  const isOwnAccount = createOwnAccountCheck();
  /** Elsewhere than on Linux nobody tells whose a connection is; without one, a test asks the app itself. */
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
    // EndpointArguments beforehand, and given back to who was right: many may be on their way at once.
    const waitMs = failures.take(network);
    let identity: Identity;
    try {
      const check = (): Promise<Identity> => access.authenticate(credentials, { onlyUnguessable: waitMs > 0 });
      // Right ones are still heard, but one after the other: a flood from one network must not slow down the others.
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

/** The kernel skips a line where its table changes between two reads, so one look that finds nothing proves nothing. */
const LOOKS = 3;
const CHUNK_BYTES = 256 * 1024;
/** Some 200,000 connections. */
const MAX_TABLE_BYTES = 32 * 1024 * 1024;
const ESTABLISHED = "01";
/** Stands for every account that this user namespace has no number for. */
const OVERFLOW_UID = 65_534;

/** Is the other end of a connection held by the account that runs this process, or by root? Asked once per connection. */
export function createOwnAccountCheck(): (socket: Socket) => Promise<boolean> {
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
  // A program may speak version 4 through a socket of version 6.
  const tables: [string, string][] = isMapped(peer) ? [["/proc/net/tcp", ends(12)]] : [];
  tables.push(["/proc/net/tcp6", ends(0)]);
  for (let look = 0; look < LOOKS; look++) {
    for (const [table, wanted] of tables) {
      const line = await lineIn(table, ` ${wanted} `);
      if (line !== undefined) return ownerIn(line);
    }
  }
  return undefined;
}

/** A socket that was closed while its request is on its way is shown as root's, with the inode 0. */
function ownerIn(line: string): number | undefined {
  const [, , , state, , , , uid, , inode] = line.trim().split(/\s+/);
  const isHeld = state === ESTABLISHED && /^[1-9]\d*$/.test(inode ?? "");
  return isHeld && /^\d+$/.test(uid ?? "") ? Number(uid) : undefined;
}

async function lineIn(table: string, wanted: string): Promise<string | undefined> {
  const file = await open(table).catch(() => undefined);
  if (!file) return undefined;
  try {
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
  } finally {
    await file.close();
  }
}

async function knowsAllAccounts(): Promise<boolean> {
  return /^\s*0\s+0\s+4294967295\s*$/.test(await readFile("/proc/self/uid_map", "utf8"));
}

/** As 16 bytes, version 4 as in `::ffff:127.0.0.1`; undefined for what is none. */
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

/** Words of 32 bits, each in the order of this machine's bytes. */
function inKernelWords(address: Buffer): string {
  const bytes = Buffer.from(address);
  return (endianness() === "LE" ? bytes.swap32() : bytes).toString("hex").toUpperCase();
}
