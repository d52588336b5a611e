import { type ChildProcessByStdio, type SpawnOptions, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

export interface WithUs extends Pick<SpawnOptions, "cwd" | "env" | "uid" | "gid"> {
  /** What ends it. */
  readonly signal: NodeJS.Signals;
}

/** Waits beside the program until our end of the pipe is closed, by whatever ended us, and then ends the program. */
const WATCHED = 'exec 3<&0; (cat; kill -s "$0" $$) <&3 >/dev/null 2>&1 & exec "$@" </dev/null 3<&-';

/** A program that ends when this process does, also when that is killed, and does not keep it alive. */
export function spawnWithUs(
  program: string,
  args: readonly string[],
  { signal, ...options }: WithUs,
): ChildProcessByStdio<Writable, Readable, Readable> {
  const isWindows = process.platform === "win32";
  const watched = ["-c", WATCHED, signal.slice("SIG".length), program, ...args];
  const child = spawn(isWindows ? program : "sh", isWindows ? args : watched, { ...options, stdio: "pipe" });
  child.stdin.on("error", () => undefined);
  return child;
}

/** Lets the process end though the program is still there, and goes on emptying what it prints. */
export function leaveAlone(child: ChildProcessByStdio<Writable, Readable, Readable>): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as Readable & { unref(): void }).unref();
  child.stdout.resume();
  child.stderr.resume();
}
