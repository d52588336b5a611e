import type { PdfLine } from "./page-lines.ts";

const LARGER_BY = 1.15;
const MAX_HEADING_LENGTH = 200;
/** Headings are few. When "large" is a third of the text, the size is a matter of taste, not of structure. */
const MAX_SHARE = 0.3;
const MAX_LEVELS = 4;

/** Level of a line by its size: the size most text has is the body, each larger one a level. 0 is no heading. */
export function headingLevels(lines: readonly PdfLine[]): (line: PdfLine) => number {
  const lengths = new Map<number, number>();
  for (const line of lines) lengths.set(rounded(line.size), (lengths.get(rounded(line.size)) ?? 0) + line.text.length);
  const [body = 0] = [...lengths].reduce((best, each) => (each[1] > best[1] ? each : best), [0, 0]);
  const isLarge = (line: PdfLine): boolean => rounded(line.size) >= body * LARGER_BY && couldBeHeading(line.text);
  const large = lines.filter(isLarge);
  const total = lines.reduce((sum, line) => sum + line.text.length, 0);
  if (large.reduce((sum, line) => sum + line.text.length, 0) > total * MAX_SHARE && lines.length > 3) return () => 0;
  const sizes = [...new Set(large.map((line) => rounded(line.size)))].toSorted((a, b) => b - a);
  // The largest size is the document's title when it is used on one line only; otherwise all sizes are sections of it.
  const isTitle = large.filter((line) => rounded(line.size) === sizes[0]).length === 1 && sizes.length > 1;
  return (line) => {
    if (!isLarge(line)) return 0;
    return Math.min(MAX_LEVELS, sizes.indexOf(rounded(line.size)) + (isTitle ? 1 : 2));
  };
}

function rounded(size: number): number {
  return Math.round(size * 2) / 2;
}

/** A large initial, a page number, a line of a table of contents is no heading. */
function couldBeHeading(text: string): boolean {
  return text.length <= MAX_HEADING_LENGTH && !text.includes(" … ") && /\p{L}.*\p{L}|\p{Lo}/u.test(text);
}
