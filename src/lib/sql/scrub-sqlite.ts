import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { moduleBeside } from "../module-beside.ts";

export interface ScrubOrder {
  /** SQLite files. */
  readonly paths: readonly string[];
  /** What must not be in their free pages; none: every file is rewritten. */
  readonly words: readonly string[];
}

export interface Scrubbed {
  rewritten: number;
  /** Files whose log readers kept in use: deleted data may still be in it. */
  readonly left: string[];
}

/**
 * Empties the logs of SQLite files, and rewrites those that still have one of the words anywhere, also in pages that no row uses
 * any more. In a thread: rewriting a large file takes a while. Other writers wait meanwhile.
 */
export async function scrubSqlite(order: ScrubOrder): Promise<Scrubbed> {
  const worker = new Worker(moduleBeside(import.meta.url, "scrub-worker"), { workerData: order });
  try {
    const [scrubbed] = (await once(worker, "message")) as [Scrubbed];
    return scrubbed;
  } finally {
    await worker.terminate();
  }
}
