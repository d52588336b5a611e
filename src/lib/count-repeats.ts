import { plural } from "./text.ts";

export interface RepeatCounter {
  /** Writes a new line; counts one that was written recently. */
  readonly say: (line: string) => void;
  /** Writes the counts. */
  readonly end: () => void;
}

/** With more different lines than this at a time, each is written as it comes. */
const MAX_LINES = 1000;

/** Writes the same line once, and after `everyMs` or at the end how often it was repeated: only its first line, without the stack. */
export function countRepeats(write: (line: string) => void, { everyMs }: { readonly everyMs: number }): RepeatCounter {
  const known = new Map<string, { more: number; timer: NodeJS.Timeout }>();
  const forget = (line: string): void => {
    const { more = 0, timer } = known.get(line) ?? {};
    clearTimeout(timer);
    known.delete(line);
    if (more > 0) write(`${line.split("\n", 1)[0]} (${plural(more, "more time")})`);
  };
  return {
    say(line) {
      const found = known.get(line);
      if (found) {
        found.more += 1;
        return;
      }
      write(line);
      if (known.size >= MAX_LINES) return;
      const timer = setTimeout(forget, everyMs, line);
      timer.unref();
      known.set(line, { more: 0, timer });
    },
    end() {
      for (const line of [...known.keys()]) forget(line);
    },
  };
}
