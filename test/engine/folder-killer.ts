import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import type { ChildTask } from "./folder-child.ts";
import type { FolderStage } from "./folder-stage.ts";

const CHILD = join(import.meta.dirname, "folder-child.ts");

export interface Moment {
  /** So many lines of the log are waited for, then so long. */
  readonly lines: number;
  readonly ms: number;
}

/** A process of its own does it, and is killed at this moment, unless it is done before. Tells where it was. */
export async function killChild(stage: FolderStage, verb: ChildTask["verb"], { lines, ms }: Moment): Promise<string> {
  const task: ChildTask = { settings: stage.settings, nowMs: stage.now.getTime(), verb };
  const child = spawn(process.execPath, [CHILD, JSON.stringify(task)], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  let [seen, last] = [0, "nothing"];
  for await (const line of createInterface({ input: child.stdout })) {
    last = line;
    if (line === "End.") break;
    seen += 1;
    if (seen > lines) break;
  }
  if (last !== "End.") await setTimeout(ms);
  child.kill("SIGKILL");
  const [code] = await exited;
  if (code !== null && code !== 0) throw new Error(`the ${verb} ended by itself with code ${code} after '${last}'`);
  return code === 0 ? "ended before it was killed" : `killed ${ms} ms after '${last.slice(0, 80)}'`;
}
