import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const CLI = fileURLToPath(new URL("../../bin/lockstep.mjs", import.meta.url));

/** `lockstep worker` as a process of its own. */
export class WorkerProcess {
  /** As the logs of its jobs call it. */
  readonly name: string;
  readonly #child: ChildProcessWithoutNullStreams;

  private constructor(name: string, child: ChildProcessWithoutNullStreams) {
    this.name = name;
    this.#child = child;
  }

  static async start(settings: Readonly<Record<string, string>>): Promise<WorkerProcess> {
    const child = spawn(process.execPath, [CLI, "worker"], {
      env: { PATH: process.env["PATH"] ?? "", ...settings },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (bytes: Buffer) => {
        output += bytes.toString();
      });
    }
    while (!/^Worker \S+ waits/m.test(output)) {
      if (child.exitCode !== null) throw new Error(`the worker did not start: ${output}`);
      await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
    }
    return new WorkerProcess(/^Worker (\S+) waits/m.exec(output)?.[1] ?? "", child);
  }

  /** Resolves with the exit code, or the signal's name; at once when it has ended before. */
  async end(signal: NodeJS.Signals): Promise<number | string> {
    const child = this.#child;
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      child.kill(signal);
      await exited;
    }
    return child.exitCode ?? child.signalCode ?? "";
  }
}
