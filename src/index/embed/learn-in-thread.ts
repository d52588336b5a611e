import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { CancelledError } from "../../contracts/errors.ts";
import { moduleBeside } from "../../lib/module-beside.ts";
import type { LearnLimits } from "./learn-vectors.ts";

export interface LearnOrder {
  readonly limits: LearnLimits;
}

/** The last message has `lastChunkId`. */
export interface LearnMessage {
  readonly texts: readonly string[];
  readonly lastChunkId?: number;
}

/** Learning takes seconds of pure arithmetic, and meanwhile questions want answers. Returns what packLearnt made. */
export async function learnInThread(
  pages: AsyncIterable<readonly string[]>,
  lastChunkId: number,
  limits: LearnLimits,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const worker = new Worker(moduleBeside(import.meta.url, "learn-worker"), {
    workerData: { limits } satisfies LearnOrder,
    resourceLimits: { maxOldGenerationSizeMb: 1024, maxYoungGenerationSizeMb: 8 },
  });
  const stop = (): void => void worker.terminate();
  signal.addEventListener("abort", stop, { once: true });
  const learnt = once(worker, "message", { signal });
  learnt.catch(() => undefined);
  try {
    for await (const texts of pages) worker.postMessage({ texts } satisfies LearnMessage);
    worker.postMessage({ texts: [], lastChunkId } satisfies LearnMessage);
    const [packed] = (await learnt) as [Uint8Array];
    return packed;
  } catch (error) {
    if (signal.aborted) throw new CancelledError("learn vectors: cancelled");
    throw new Error("learn vectors: the thread that learns failed", { cause: error });
  } finally {
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}
