import { Worker } from "node:worker_threads";
import { moduleBeside } from "../lib/module-beside.ts";
import { FilesOnDisk } from "./files-on-disk.ts";
import type { ScannedFiles, ScanOrder } from "./scan-worker.ts";

/** The names of the largest folder are all it holds at a time. */
const MAX_HEAP_MB = 128;
const MAX_YOUNG_MB = 4;

/**
 * Looks through the folders while this thread does something else. undefined when the other one ends without an answer,
 * for whatever reason: who needs the files then looks here, and meets the reason.
 */
export async function scanInThread(order: ScanOrder, signal: AbortSignal): Promise<FilesOnDisk | undefined> {
  const worker = start(order);
  if (!worker) return undefined;
  const found = new FilesOnDisk();
  const { promise: isWhole, resolve } = Promise.withResolvers<boolean>();
  worker.on("message", (files: ScannedFiles | "done") => {
    if (files === "done") resolve(true);
    else add(files, found);
  });
  worker.once("error", () => resolve(false));
  worker.once("exit", () => resolve(false));
  const end = (): void => void worker.terminate();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  return (await isWhole.finally(() => signal.removeEventListener("abort", end))) ? found : undefined;
}

function add({ paths, numbers }: ScannedFiles, found: FilesOnDisk): void {
  let at = 0;
  for (const path of paths.split("\0")) {
    found.add(path, numbers[at] ?? 0, numbers[at + 1] ?? 0, numbers[at + 2] ?? 0);
    at += 3;
  }
}

/** undefined: not everybody may start threads. */
function start(workerData: ScanOrder): Worker | undefined {
  const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: MAX_YOUNG_MB };
  try {
    return new Worker(moduleBeside(import.meta.url, "scan-worker"), { workerData, resourceLimits });
  } catch {
    return undefined;
  }
}
