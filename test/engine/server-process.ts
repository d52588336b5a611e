import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const CLI = fileURLToPath(new URL("../../bin/lockstep.mjs", import.meta.url));

/** `lockstep serve` as a process of its own: what a kill -9 hits. */
export class ServerProcess {
  readonly url: string;
  readonly #child: ChildProcessWithoutNullStreams;

  private constructor(url: string, child: ChildProcessWithoutNullStreams) {
    this.url = url;
    this.#child = child;
  }

  static async start(settings: Readonly<Record<string, string>>): Promise<ServerProcess> {
    const child = spawn(process.execPath, [CLI, "serve", "--port", "0"], {
      env: { PATH: process.env["PATH"] ?? "", ...settings },
    });
    let output = "";
    child.stdout.on("data", (bytes: Buffer) => {
      output += bytes.toString();
    });
    child.stderr.on("data", (bytes: Buffer) => {
      output += bytes.toString();
    });
    while (!/listens on \S+/.test(output)) {
      if (child.exitCode !== null) throw new Error(`the server did not start: ${output}`);
      await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
    }
    return new ServerProcess(/listens on (\S+)/.exec(output)?.[1] ?? "", child);
  }

  /** Resolves with the exit code, or the signal's name. */
  async end(signal: NodeJS.Signals): Promise<number | string> {
    const exited = once(this.#child, "exit") as Promise<[number | null, string | null]>;
    this.#child.kill(signal);
    const [code, by] = await exited;
    return code ?? by ?? "";
  }

  async getJson(path: string): Promise<{ ok: boolean; error: string; data: unknown }> {
    return (await (await fetch(this.url + path)).json()) as { ok: boolean; error: string; data: unknown };
  }

  /** Reads the job's stream until it matches, or the job ends; then hangs up. */
  async crawlUntil(domain: string, line: Pick<RegExp, "test">): Promise<string> {
    const response = await fetch(`${this.url}/v2/crawler/crawl?domain_id=${domain}&mode=incremental&format=stream`);
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (line.test(text)) break;
    }
    return text;
  }
}
