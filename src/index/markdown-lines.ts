/** How far into a line markers are looked for. Lines of many megabytes exist; nothing below reads them twice. */
const PREFIX_LENGTH = 200;
/** Longer rules come from tables with too many columns to read. */
const MAX_RULE_LENGTH = 20_000;

export interface Fence {
  readonly mark: "`" | "~";
  readonly length: number;
}

/** Where the line that begins at `start` ends, without its line feed. */
export function lineEnd(text: string, start: number): number {
  const at = text.indexOf("\n", start);
  return at === -1 ? text.length : at;
}

export function linePrefix(text: string, start: number, end: number): string {
  return text.slice(start, Math.min(end, start + PREFIX_LENGTH));
}

export function isBlank(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== 32 && code !== 9 && code !== 13) return false;
  }
  return true;
}

/** The fence this line opens, if it opens one. `maxIndent` is 3 in running text; inside lists fences sit deeper. */
export function openingFence(line: string, maxIndent: number): Fence | undefined {
  const indent = indentOf(line);
  if (indent > maxIndent) return undefined;
  const mark = line[indent];
  if (mark !== "`" && mark !== "~") return undefined;
  const length = runLength(line, indent, mark);
  if (length < 3) return undefined;
  if (mark === "`" && line.includes("`", indent + length)) return undefined;
  return { mark, length };
}

export function closesFence(line: string, fence: Fence): boolean {
  const indent = indentOf(line);
  const length = runLength(line, indent, fence.mark);
  return length >= fence.length && isBlank(line, indent + length, line.length);
}

export function indentOf(line: string): number {
  let indent = 0;
  while (line[indent] === " " || line[indent] === "\t") indent += 1;
  return indent;
}

export function runLength(line: string, start: number, mark: string): number {
  let at = start;
  while (line[at] === mark) at += 1;
  return at - start;
}

export function startsListItem(prefix: string): boolean {
  return /^[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/.test(prefix);
}

/** The row of dashes below a table's header: nothing but `|`, `:`, `-` and blanks, at least one dash and one bar. */
export function isTableRule(line: string): boolean {
  if (line.length > MAX_RULE_LENGTH) return false;
  let dashes = 0;
  let bars = 0;
  for (const character of line) {
    if (character === "-") dashes += 1;
    else if (character === "|") bars += 1;
    else if (character !== ":" && character !== " " && character !== "\t" && character !== "\r") return false;
  }
  return dashes > 0 && bars > 0;
}

/** `<!-- page 3 -->` alone on a line: what follows begins on page 3. undefined for any other line. */
export function pageMark(prefix: string): number | undefined {
  if (prefix.length > 60) return undefined;
  const match = /^[ \t]*<!-- page (\d{1,7}) -->\s*$/.exec(prefix);
  return match ? Number(match[1]) : undefined;
}

/**
 * What a generator yields when it has worked for a while and has no result yet: a text of fifty megabytes may be one line, and
 * whoever drives the generator may let the rest of the process work first.
 */
export type Pause = undefined;

/** Lines that are read between two pauses. */
export const LINES_PER_PAUSE = 128;

/** The result, without a pause. */
export function finish<T>(steps: Generator<Pause, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
