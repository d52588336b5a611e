import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { report } from "./measure.ts";

/** The least a program on this runtime can do to see whether anything changed: list every folder, ask for every file. */
await report(async () => {
  let files = 0;
  const waiting = [process.env["BENCH_ROOT"] ?? ""];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const found: Promise<unknown>[] = [];
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) waiting.push(join(folder, entry.name));
      else found.push(lstat(join(folder, entry.name)));
    }
    files += (await Promise.all(found)).length;
  }
  return { files };
});
