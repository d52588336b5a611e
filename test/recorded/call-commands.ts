import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Called as CalledHere } from "../cli/call-here.ts";
import { spawnWithUs } from "../spawn-with-us.ts";
import type { ActClock, ClockState } from "./act-clock.ts";

export interface Called extends CalledHere {
  readonly args: readonly string[];
}

const CHILD = fileURLToPath(new URL("command-child.ts", import.meta.url));

/** Calls commands one after the other in a process of their own, an act each. */
export async function callCommands(
  calls: readonly (readonly string[])[],
  options: { readonly clock: ActClock; readonly settings: Readonly<Record<string, string>>; readonly folder: string },
): Promise<readonly Called[]> {
  const { clock, settings, folder } = options;
  const input = JSON.stringify({ calls, clock: clock.state });
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, TMPDIR: process.env["TMPDIR"] ?? "/tmp", ...settings };
  const child = spawnWithUs(process.execPath, [CHILD, input], { cwd: folder, env, signal: "SIGKILL" });
  let [out, err] = ["", ""];
  child.stdout.on("data", (bytes: Buffer) => {
    out += bytes.toString();
  });
  child.stderr.on("data", (bytes: Buffer) => {
    err += bytes.toString();
  });
  await once(child, "close");
  if (!out.endsWith("}\n")) throw new Error(`call commands: the process ended early: ${err}${out}`);
  const answer = JSON.parse(out) as { called: Called[]; clock: ClockState };
  clock.adopt(answer.clock);
  return answer.called;
}
