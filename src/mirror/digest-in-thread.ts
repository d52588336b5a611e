import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { DigestOrder } from "./digest-worker.ts";
import { type DigestSums, MirrorDigest } from "./mirror-digest.ts";

/** The names of the largest folder are all it holds at a time. */
const MAX_HEAP_MB = 128;
const MAX_YOUNG_MB = 4;

/** Fewer are looked at sooner than a thread has begun, or not much later. */
const WORTHWHILE_FILES = 20_000;

export function isThreadWorthwhile(files: number): boolean {
  return files >= WORTHWHILE_FILES;
}

/**
 * Looks through the folders while this thread does something else. undefined when the other one ends without an answer,
 * for whatever reason: who needs the digest then makes it here, and meets the reason.
 */
export async function digestInThread(order: DigestOrder, signal: AbortSignal): Promise<MirrorDigest | undefined> {
  const worker = start(order);
  if (!worker) return undefined;
  const { promise, resolve } = Promise.withResolvers<DigestSums | undefined>();
  worker.once("message", resolve);
  worker.once("error", () => resolve(undefined));
  worker.once("exit", () => resolve(undefined));
  const end = (): void => void worker.terminate();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  const sums = await promise.finally(() => signal.removeEventListener("abort", end));
  return sums && new MirrorDigest(sums);
}

/** undefined: not everybody may start threads. */
function start(workerData: DigestOrder): Worker | undefined {
  // The same folder has .ts files in development and .js files in the published package.
  const script = new URL(`./digest-worker${extname(fileURLToPath(import.meta.url))}`, import.meta.url);
  const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: MAX_YOUNG_MB };
  try {
    return new Worker(script, { workerData, resourceLimits });
  } catch {
    return undefined;
  }
}
