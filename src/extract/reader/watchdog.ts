import { workerData } from "node:worker_threads";
import { ALLOWED_KILOBYTES, endWhenOver, NEVER_WOKEN } from "./messages.ts";

const LOOK_EVERY_MS = 20;

/**
 * The other thread of a reader. It works while the reader hangs in a loop or in native code, and it sees all memory,
 * not only the heap. It also ends a reader whose parent is gone and that would loop for ever.
 */
function watch(shared: Int32Array<SharedArrayBuffer>, parent: number): void {
  for (;;) {
    Atomics.wait(shared, ALLOWED_KILOBYTES, 0);
    Atomics.wait(shared, NEVER_WOKEN, 0, LOOK_EVERY_MS);
    endWhenOver(shared);
    if (process.ppid !== parent) process.kill(process.pid, "SIGKILL");
  }
}

const { shared, parent } = workerData as { shared: SharedArrayBuffer; parent: number };
watch(new Int32Array(shared), parent);
