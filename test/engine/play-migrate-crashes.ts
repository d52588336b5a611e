import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** So many moments apart: a seed plays one part of them, as many seeds all. */
export const STEP = 23;

export async function playMigrateCrashes(seed: number): Promise<void> {
  const script = join(import.meta.dirname, "migrate-crashes.ts");
  const child = spawn(process.execPath, [script, String(STEP), String(seed % STEP)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = await once(child, "close");
  assert.equal(code, 0, `again: node test/engine/migrate-crashes.ts ${STEP} ${seed % STEP}`);
}
