import type { PdfRun } from "./read-pdf.ts";

/** Fewer rows with a gap at the same place may be a table. */
const MIN_ROWS = 8;
/** Prose fills its column; the cells of a table seldom do. */
const MIN_FILLED = 0.75;
const MIN_GAP = 1.2;

interface Gap {
  readonly from: number;
  readonly to: number;
}

/**
 * Some producers draw two columns together, row by row. Where most rows have a gap at the same place and the text on both
 * sides fills its column, the left one is read first, then the right one; a row across both ends a pair of columns.
 */
export function splitColumns(drawn: readonly PdfRun[][]): PdfRun[][] {
  // Blanks may be as wide as the gap itself.
  const rows = drawn.map((row) => row.filter((run) => run.text.trim() !== ""));
  const gutter = findGutter(rows);
  if (gutter === undefined) return [...drawn];
  const ordered: PdfRun[][] = [];
  let right: PdfRun[][] = [];
  for (const row of rows) {
    const [before, after] = [row.filter((run) => run.x < gutter), row.filter((run) => run.x >= gutter)];
    const crosses = before.some((run) => run.x + run.width > gutter + run.size * MIN_GAP);
    if (crosses) {
      ordered.push(...right, row);
      right = [];
      continue;
    }
    if (before.length > 0) ordered.push(before);
    if (after.length > 0) right.push(after);
  }
  return [...ordered, ...right];
}

/** Where the right column begins. */
function findGutter(rows: readonly PdfRun[][]): number | undefined {
  const gaps = rows.map(widestGap);
  const found = gaps.filter((gap) => gap !== undefined);
  if (found.length < MIN_ROWS || found.length * 2 < rows.length) return undefined;
  const starts = found.map((gap) => gap.to).toSorted((a, b) => a - b);
  const start = starts[Math.floor(starts.length / 2)] ?? 0;
  const alike = rows.filter((_, at) => Math.abs((gaps[at]?.to ?? Number.NaN) - start) < 3);
  if (alike.length < MIN_ROWS || alike.length * 2 < rows.length) return undefined;
  return sidesAreFilled(alike, start) ? start - 1 : undefined;
}

function widestGap(row: readonly PdfRun[]): Gap | undefined {
  let widest: Gap | undefined;
  for (const [at, run] of row.entries()) {
    const last = row[at - 1];
    if (!last) continue;
    const gap = { from: last.x + last.width, to: run.x };
    const isWide = gap.to - gap.from > MIN_GAP * run.size;
    if (isWide && (!widest || gap.to - gap.from > widest.to - widest.from)) widest = gap;
  }
  return widest;
}

function sidesAreFilled(rows: readonly (readonly PdfRun[])[], start: number): boolean {
  const left = rows.map((row) => extent(row.filter((run) => run.x < start - 1)));
  const right = rows.map((row) => extent(row.filter((run) => run.x >= start - 1)));
  return isFilled(left) && isFilled(right);
}

/** Whether most lines reach nearly as far as the longest. */
function isFilled(widths: readonly number[]): boolean {
  const widest = widths.reduce((most, width) => Math.max(most, width), 0);
  return widths.filter((width) => width >= widest * MIN_FILLED).length * 3 >= widths.length * 2;
}

function extent(runs: readonly PdfRun[]): number {
  const first = runs[0];
  const last = runs.at(-1);
  return first && last ? last.x + last.width - first.x : 0;
}
