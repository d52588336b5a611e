import type { PdfRun } from "./read-pdf.ts";
import { splitColumns } from "./split-columns.ts";

/** Runs on one baseline, left to right. */
export interface PdfLine {
  readonly text: string;
  readonly x: number;
  readonly right: number;
  readonly y: number;
  readonly size: number;
}

/**
 * Lines in reading order. Most producers draw in reading order, column by column, so that order is kept, also when
 * a running head comes last; a page that keeps jumping back up within a column is sorted from top to bottom.
 */
export function pageLines(runs: readonly PdfRun[]): PdfLine[] {
  const lines = splitColumns(groupByBaseline(runs))
    .map(joinRuns)
    .filter((line) => line.text !== "");
  return isDrawnInOrder(lines) ? lines : lines.toSorted((a, b) => b.y - a.y || a.x - b.x);
}

function groupByBaseline(runs: readonly PdfRun[]): PdfRun[][] {
  const groups: PdfRun[][] = [];
  for (const run of runs) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    if (group && last && isSameLine(last, run)) group.push(run);
    else groups.push([run]);
  }
  return groups;
}

/** Raised and lowered figures belong to their line; a run far to the left begins a new one, even at the same height. */
function isSameLine(last: PdfRun, run: PdfRun): boolean {
  const size = Math.max(last.size, run.size) || 1;
  return Math.abs(last.y - run.y) < size * 0.5 && run.x > last.x - size;
}

function joinRuns(runs: readonly PdfRun[]): PdfLine {
  let text = "";
  let left = Number.POSITIVE_INFINITY;
  let right = Number.NEGATIVE_INFINITY;
  const sizes = new Map<number, number>();
  for (const run of runs) {
    const gap = run.x - right;
    const touches = text === "" || /\s$/.test(text) || /^\s/.test(run.text);
    text += touches || gap < run.size * 0.15 ? run.text : ` ${run.text}`;
    left = Math.min(left, run.x);
    right = Math.max(right, run.x + run.width);
    if (run.text.trim()) sizes.set(run.size, (sizes.get(run.size) ?? 0) + run.text.length);
  }
  const [size = 0] = [...sizes].reduce((best, each) => (each[1] > best[1] ? each : best), [0, 0]);
  const baseline = runs.find((run) => run.size === size) ?? runs[0];
  return {
    text: tidy(text),
    x: left,
    right,
    y: baseline?.y ?? 0,
    size,
  };
}

/** The rows of dots in a table of contents become one ellipsis. */
function tidy(text: string): string {
  return text
    .normalize("NFC")
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .replaceAll(/(?: ?\.){5,} ?/g, " … ")
    .trim();
}

function isDrawnInOrder(lines: readonly PdfLine[]): boolean {
  let jumps = 0;
  for (const [at, line] of lines.entries()) {
    const last = lines[at - 1];
    if (!last) continue;
    const upwards = line.y > last.y + 0.8 * Math.max(line.size, last.size);
    if (upwards && line.x < last.right && last.x < line.right) jumps += 1;
  }
  return jumps * 4 <= lines.length;
}
