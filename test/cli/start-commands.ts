import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Called } from "./call-here.ts";

export interface Commands {
  /** One after the other, also when they are called at once. */
  call(args: readonly string[], settings?: Readonly<Record<string, string>>): Promise<Called>;
  end(): Promise<void>;
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  /** Rejects when it ends. */
  readonly failed: Promise<never>;
}

/**
 * A process that runs commands in a folder with an empty environment: each one's own would spend its time on loading. It starts with the
 * first command.
 */
export function startCommands(folder: () => string): Commands {
  let running: Running | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const callNext = async (args: readonly string[], settings: Readonly<Record<string, string>>): Promise<Called> => {
    running ??= start(folder());
    const answer = once(running.child, "message");
    running.child.send({ args, settings });
    const [called] = (await Promise.race([answer, running.failed])) as [Called];
    return called;
  };
  return {
    call(args, settings = {}) {
      const called = last.then(() => callNext(args, settings));
      last = called.catch(() => undefined);
      return called;
    },
    async end() {
      if (running?.child.connected) running.child.disconnect();
      await running?.ended;
    },
  };
}

function start(folder: string): Running {
  const { NODE_COMPILE_CACHE = "" } = process.env;
  const child = fork(fileURLToPath(new URL("commands-child.ts", import.meta.url)), {
    cwd: folder,
    env: { HOME: folder, NODE_COMPILE_CACHE },
    execArgv: [],
  });
  const ended = once(child, "exit");
  const failed = ended.then(([code, signal]) => {
    throw new Error(`call commands: the process ended early, with ${code ?? signal}`);
  });
  failed.catch(() => undefined);
  return { child, ended, failed };
}
