import type { App } from "../app/app.ts";
import type { JobId } from "../contracts/ids.ts";
import { parseSseEvents } from "../lib/sse.ts";
import { cutToWidth } from "./terminal-text.ts";

const BAR_WIDTH = 30;
const ROOM_FOR_NUMBERS = 20;
const ROOM_FOR_ECHO = 3;

/**
 * Shows a running job until it ends: a progress bar below the latest line on a terminal, plain lines in a pipe. The stream may come from
 * any process.
 */
export async function showJob(
  stream: AsyncIterable<Uint8Array>,
  out: NodeJS.WriteStream = process.stdout,
): Promise<void> {
  const view = out.isTTY ? new TerminalView(out) : new PlainView(out);
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const bytes of stream) {
      rest += decoder.decode(bytes, { stream: true });
      const end = rest.lastIndexOf("\n\n") + 2;
      if (end < 2) continue;
      for (const { event, data } of parseSseEvents(rest.slice(0, end))) {
        if (event === "log") for (const line of data.split("\n")) view.line(line);
      }
      view.draw();
      rest = rest.slice(end);
    }
  } finally {
    view.end();
  }
}

export function followJob(app: App, jobId: JobId): AsyncIterable<Uint8Array> {
  return app.jobs.follow(jobId, { signal: new AbortController().signal });
}

interface View {
  line(text: string): void;
  /** Called after all available lines. */
  draw(): void;
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
  draw(): void {}
  end(): void {}
}

const CLEAR_LINE = "\r\u001b[2K";

/** Lines of `[ i / n ]` move the bar, and only the last of a batch is drawn; all other lines stay. */
class TerminalView implements View {
  readonly #out: NodeJS.WriteStream;
  #step: { readonly done: number; readonly total: number; readonly text: string } | undefined;
  #barShown = false;
  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }

  line(text: string): void {
    const [, done, total, what = ""] = /^\[ (\d+) \/ (\d+) \] (.*)$/.exec(text) ?? [];
    const isStep = done !== undefined && !what.startsWith("ERROR");
    this.#step = isStep ? { done: Number(done), total: Number(total), text: what } : undefined;
    if (!isStep) this.#show(`${text}\n`);
  }

  draw(): void {
    if (!this.#step) return;
    this.#show(this.#bar(this.#step));
    this.#step = undefined;
    this.#barShown = true;
  }

  end(): void {
    this.#show("");
  }

  #bar({ done, total, text }: { readonly done: number; readonly total: number; readonly text: string }): string {
    const columns = this.#out.columns || 80;
    const width = Math.max(5, Math.min(BAR_WIDTH, columns - ROOM_FOR_NUMBERS));
    const part = total > 0 ? Math.min(1, done / total) : 0;
    const filled = Math.round(part * width);
    const bar = `${"█".repeat(filled)}${"░".repeat(width - filled)} ${String(Math.floor(part * 100)).padStart(3)} %`;
    // Leaves room for the "^C" that a terminal adds: a line that reaches the last column wraps and cannot be cleared.
    return cutToWidth(`${bar}  ${done}/${total}  ${text}`, columns - ROOM_FOR_ECHO);
  }

  /** Clears and writes in one call: separate calls flicker. */
  #show(text: string): void {
    if (this.#barShown || text !== "") this.#out.write((this.#barShown ? CLEAR_LINE : "") + text);
    this.#barShown = false;
  }
}
