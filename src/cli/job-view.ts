import type { App } from "../app/app.ts";
import type { JobId } from "../contracts/ids.ts";
import { parseSseEvents } from "../lib/sse.ts";

const BAR_WIDTH = 30;

/**
 * Shows a running job until it ends: a progress bar below the latest line on a terminal, plain lines in a pipe.
 * Bytes of the job's stream come from wherever the job runs.
 */
export async function showJob(
  stream: AsyncIterable<Uint8Array>,
  out: NodeJS.WriteStream = process.stdout,
): Promise<void> {
  const view = out.isTTY ? new TerminalView(out) : new PlainView(out);
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    rest += decoder.decode(bytes, { stream: true });
    const end = rest.lastIndexOf("\n\n") + 2;
    if (end < 2) continue;
    for (const { event, data } of parseSseEvents(rest.slice(0, end))) {
      if (event === "log") for (const line of data.split("\n")) view.line(line);
    }
    rest = rest.slice(end);
  }
  view.end();
}

export function followJob(app: App, jobId: JobId): AsyncIterable<Uint8Array> {
  return app.jobs.follow(jobId, { signal: new AbortController().signal });
}

interface View {
  line(text: string): void;
  end(): void;
}

class PlainView implements View {
  readonly #out: NodeJS.WriteStream;
  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }
  line(text: string): void {
    this.#out.write(`${text}\n`);
  }
  end(): void {}
}

/** Steps of `[ i / n ]` move the bar and are overwritten by the next; everything else stays. */
class TerminalView implements View {
  readonly #out: NodeJS.WriteStream;
  #barShown = false;
  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }

  line(text: string): void {
    const step = /^\[ (\d+) \/ (\d+) \] (.*)$/.exec(text);
    this.#clear();
    if (step && !step[3]?.startsWith("ERROR")) {
      this.#out.write(this.#bar(Number(step[1]), Number(step[2]), step[3] ?? ""));
      this.#barShown = true;
    } else {
      this.#out.write(`${text}\n`);
    }
  }

  end(): void {
    this.#clear();
  }

  #bar(done: number, total: number, text: string): string {
    const filled = total > 0 ? Math.round((done / total) * BAR_WIDTH) : 0;
    const percent = total > 0 ? Math.floor((done / total) * 100) : 0;
    const bar = `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)} ${String(percent).padStart(3)} %  ${done}/${total}  `;
    return bar + text.slice(0, Math.max(0, (this.#out.columns || 80) - bar.length - 1));
  }

  #clear(): void {
    if (this.#barShown) this.#out.write("\r\u001b[2K");
    this.#barShown = false;
  }
}
