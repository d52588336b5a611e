import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { forEachConcurrent } from "../src/lib/concurrency.ts";

/** One stat for every file below the folder; returns how many there are. */
export async function statAll(folder: string): Promise<number> {
  let files = 0;
  const names: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) files += await statAll(join(folder, entry.name));
    else names.push(join(folder, entry.name));
  }
  await forEachConcurrent(names, 32, async (name) => {
    await stat(name);
    files += 1;
  });
  return files;
}
