import { lineDifference } from "../../src/lib/line-difference.ts";

const MOST_LINES = 60;

/** For people: of every file that differs the acts, and in them the lines that went (`-`) and came (`+`). */
export function differences(recorded: ReadonlyMap<string, string>, seen: ReadonlyMap<string, string>): string[] {
  return [...new Set([...recorded.keys(), ...seen.keys()])].sort().flatMap((file) => {
    const [before = "", now = ""] = [recorded.get(file), seen.get(file)];
    return before === now ? [] : [`\n${file}`, ...linesOf(before, now)];
  });
}

function linesOf(before: string, now: string): string[] {
  const acts = before.split("\n");
  const lines = lineDifference(before, now).flatMap((hunk) => {
    const act = acts.slice(0, hunk.fromLine).findLast((line) => line.startsWith("=====")) ?? "";
    const changed = hunk.lines.filter(({ kind }) => kind !== "same");
    return [
      `  line ${hunk.fromLine} ${act}`,
      ...changed.map(({ kind, text }) => `  ${kind === "added" ? "+" : "-"} ${text}`),
    ];
  });
  const rest = lines.length - MOST_LINES;
  return rest > 0 ? [...lines.slice(0, MOST_LINES), `  … and ${rest} more lines`] : lines;
}
