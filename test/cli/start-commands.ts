import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Called } from "./call-here.ts";

export interface Commands {
  call(args: readonly string[], settings?: Readonly<Record<string, string>>): Promise<Called>;
  end(): Promise<void>;
}

/** A process that runs commands one after the other, in a folder with an empty environment: each one's own would spend its time on loading. */
export function startCommands(folder: string): Commands {
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
  return {
    async call(args, settings = {}) {
      const answer = once(child, "message");
      child.send({ args, settings });
      const [called] = (await Promise.race([answer, failed])) as [Called];
      return called;
    },
    async end() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}
