/** Lines about single items, which are worked on side by side: those of a kind come in any order, and so do their numbers. */
const KINDS = [
  /^\[ #/,
  /^('|ERROR: (index|read) )/,
  /^Removed '/,
  /^Moved '/,
  /^Deleted orphan '/,
  /^Skipped '/,
  /^ {2}[A-Z]+ [A-Z]* ?'/,
];
/** Of files whose ids are random, each run reads some, other ones each time. */
const SAMPLED = /^Read \d+ files? to the last byte/;

/** Which shortcut a look at a source took: the change log, a digest, or none. */
const LOOKED = /^(Listed \d+ items?( by [a-z ]+)?|Nothing changed since the last crawl, [a-z ]+):/;

export function linesInOrder(lines: readonly string[]): string[] {
  const runs: { kind: number; lines: string[] }[] = [];
  for (const line of lines.map((one) => one.replace(/^\[ \d+ \//, "[ # /").replace(LOOKED, "Listed:"))) {
    if (SAMPLED.test(line)) continue;
    const kind = KINDS.findIndex((one) => one.test(line));
    const run = runs.at(-1);
    if (run && kind >= 0 && run.kind === kind) run.lines.push(line);
    else runs.push({ kind, lines: [line] });
  }
  return runs.flatMap((run) => run.lines.sort());
}

export function streamInOrder(text: string): string {
  const isLog = (event: string): boolean => event.startsWith("event: log");
  const events = text.split("\n\n").filter((event) => !(isLog(event) && SAMPLED.test(dataOf(event))));
  const lines = linesInOrder(events.map((event, i) => (isLog(event) ? dataOf(event) : `event ${i}`)));
  const ordered = events.map((event, i) =>
    isLog(event) ? event.replace(/data: [\s\S]*/, `data: ${lines[i]}`) : event,
  );
  return ordered.join("\n\n").trimEnd();
}

export function csvInOrder(text: string): string {
  const [header = "", ...rows] = text.split("\r\n").filter(Boolean);
  return [header, ...rows.sort()].join("\n");
}

/** What an event of a stream says. */
export function dataOf(event: string): string {
  return event
    .split("\n")
    .flatMap((line) => (line.startsWith("data: ") ? line.slice("data: ".length) : []))
    .join("\n");
}
