import { randomBytes } from "node:crypto";
import { readFile, rename, stat, utimes } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Lease, LeaseOptions } from "../contracts/lease.ts";
import { ifMissing, isErrno } from "./atomic-file.ts";
import { createKeyedMutex } from "./concurrency.ts";
import { parseJsonObject } from "./json-object.ts";
import { claimNumber, highestClaim } from "./numbered-claim.ts";
import { isProcessGone, type ProcessIdentity, thisProcess } from "./process-identity.ts";
import { sleep } from "./time.ts";

/**
 * Takes an exclusive right among all processes that see the folder `path`. The holder has the highest number in it. A new holder takes the
 * next number, which only one can, and only after the highest was released, was not renewed for `staleMs`, or belongs to a process that
 * ended. After a crash the next one takes over without help.
 */
export async function acquireLease(path: string, options: LeaseOptions): Promise<Lease> {
  const staleMs = options.staleMs ?? 60_000;
  const holder = { owner: options.owner, nonce: randomBytes(6).toString("hex"), ...thisProcess() };
  const claim = { content: JSON.stringify(holder), retain: 0 };
  let waited = false;
  for (;;) {
    options.signal?.throwIfAborted();
    const top = await highestClaim(path);
    const current = top && !top.free ? await readHolder(join(path, String(top.number)), staleMs) : undefined;
    if (!current) {
      const number = (top?.number ?? 0) + 1;
      if (await claimNumber(path, number, claim)) return holdLease(path, number, staleMs);
      continue;
    }
    if (!waited) options.onWait?.(current.owner);
    waited = true;
    await sleep(options.pollMs ?? 200, options.signal);
  }
}

const oneAtATime = createKeyedMutex();

/** Runs a short exclusive section among processes, and in order within this one. A crashed holder delays others by at most 10 s. */
export function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  return oneAtATime(resolve(path), () => runLocked(path, work));
}

async function runLocked<T>(path: string, work: () => Promise<T>): Promise<T> {
  await using _lease = await acquireLease(path, { owner: `process ${process.pid}`, staleMs: 10_000, pollMs: 5 });
  return await work();
}

function holdLease(path: string, number: number, staleMs: number): Lease {
  const file = join(path, String(number));
  const renewal = setInterval(() => {
    const now = new Date();
    // The next renewal makes up for a failed one; stillHeld() detects a loss.
    utimes(file, now, now).catch(() => undefined);
  }, staleMs / 4);
  renewal.unref();
  const release = async (): Promise<void> => {
    clearInterval(renewal);
    await rename(file, `${file}.free`).catch(ifMissing(undefined));
  };
  return {
    release,
    [Symbol.asyncDispose]: release,
    async stillHeld() {
      const top = await highestClaim(path);
      return top?.number === number && !top.free;
    },
  };
}

/** Returns undefined if the claim was removed meanwhile, is stale, or its process ended. */
async function readHolder(file: string, staleMs: number): Promise<{ readonly owner: string } | undefined> {
  try {
    const { mtimeMs } = await stat(file);
    if (Date.now() - mtimeMs > staleMs) return undefined;
    const holder = parseHolder(await readFile(file, "utf8"));
    // Created but not written yet: another process is just taking it.
    if (!holder) return { owner: "another process" };
    return isProcessGone(holder) ? undefined : holder;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

function parseHolder(text: string): (ProcessIdentity & { readonly owner: string }) | undefined {
  const { owner, pid, host, birth } = parseJsonObject(text) ?? {};
  if (typeof owner !== "string" || typeof pid !== "number") return undefined;
  return { owner, pid, host: String(host), birth: String(birth) };
}
