import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Called } from "./call-here.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/lockstep.mjs", import.meta.url));

type Settings = Readonly<Record<string, string>>;

/** Starts `lockstep` in a process of its own, in a folder with an empty environment, as on a fresh machine. */
export function startCommand(
  folder: string,
  args: readonly string[],
  settings: Settings = {},
): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [PROGRAM, ...args], { cwd: folder, env: { HOME: folder, ...settings } });
}

/** Waits for its end, and for all that it printed. */
export async function runCommand(folder: string, args: readonly string[], settings: Settings = {}): Promise<Called> {
  const child = startCommand(folder, args, settings);
  const [[code], out, err] = await Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)]);
  return { code: code as number, out, err };
}
