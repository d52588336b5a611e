import { type StructuredPatchHunk, structuredPatch } from "diff";

/** One line of a difference: in both texts, only in the earlier one, or only in the later one. */
export interface DifferentLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Lines that differ, with a few around them. Lines are counted from 1. */
export interface Hunk {
  readonly fromLine: number;
  readonly toLine: number;
  readonly lines: readonly DifferentLine[];
}

/** Texts that differ in more lines, or in longer parts, are shown as one replaced by the other: the time grows with both. */
const MAX_EDITS = 1000;
const MAX_LINES = 20_000;
const CONTEXT = 3;

/** Returns the line differences between two texts, with the fewest edits. */
export function lineDifference(before: string, after: string): readonly Hunk[] {
  const [from, to] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < from.length && head < to.length && from[head] === to[head]) head += 1;
  let tail = 0;
  const room = Math.min(from.length, to.length) - head;
  while (tail < room && from[from.length - 1 - tail] === to[to.length - 1 - tail]) tail += 1;
  // The common beginning and end are cut down to the context lines.
  const first = Math.max(0, head - CONTEXT);
  const isShort = from.length + to.length - 2 * (head + tail) <= MAX_LINES;
  const limits = { context: CONTEXT, maxEditLength: MAX_EDITS };
  // Every line ends with a line feed, so that none is reported to lack one.
  const part = (lines: readonly string[]): string =>
    lines
      .slice(first, lines.length - tail + CONTEXT)
      .map((line) => `${line}\n`)
      .join("");
  const patch = isShort ? structuredPatch("", "", part(from), part(to), "", "", limits) : undefined;
  return patch ? patch.hunks.map((hunk) => readHunk(hunk, first)) : [replaceAll(from, to, head, tail)];
}

const KINDS: Readonly<Record<string, DifferentLine["kind"]>> = { "-": "removed", "+": "added" };

function readHunk({ oldStart, newStart, lines }: StructuredPatchHunk, before: number): Hunk {
  return {
    fromLine: oldStart + before,
    toLine: newStart + before,
    lines: lines.map((line) => ({ kind: KINDS[line.charAt(0)] ?? "same", text: line.slice(1) })),
  };
}

function replaceAll(from: readonly string[], to: readonly string[], head: number, tail: number): Hunk {
  const first = Math.max(0, head - CONTEXT);
  const last = from.length - tail;
  const toLines = (kind: DifferentLine["kind"], lines: readonly string[]): DifferentLine[] =>
    lines.map((text) => ({ kind, text }));
  return {
    fromLine: first + 1,
    toLine: first + 1,
    lines: [
      ...toLines("same", from.slice(first, head)),
      ...toLines("removed", from.slice(head, last)),
      ...toLines("added", to.slice(head, to.length - tail)),
      ...toLines("same", from.slice(last, last + CONTEXT)),
    ],
  };
}
