import { plural } from "./text.ts";

export interface RepeatCounter {
  /** Writes a line that is new; one that was written lately is counted. */
  readonly say: (line: string) => void;
  /** Writes what was counted. */
  readonly end: () => void;
}

/** Beyond so many different lines at a time each is written as it comes. */
const MAX_LINES = 1000;

/** The same sentence is written once, and when its time is over, or at the end, how often it came again: in its first line, without the stack below. */
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
