import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** Files by name in a folder of their own that goes with the test; returns the way to each. */
export async function writeFiles(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<(name: string) => string> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-extract-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
  return (name) => join(folder, name);
}
