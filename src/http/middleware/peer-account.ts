import { open, readFile } from "node:fs/promises";
import { isIPv4, type Socket } from "node:net";
import { endianness } from "node:os";

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
