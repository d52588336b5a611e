import { getDocumentProxy } from "unpdf";
import { ExtractError } from "../contracts/document.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { firstHeading } from "./markdown.ts";

export async function extractPdf(bytes: Buffer, { maxPages }: ExtractLimits): Promise<ReadText> {
  const { title, pages, leftOut } = await readPdf(bytes, maxPages);
  const lines = pages.map(pageLines);
  if (lines.length === 0) throw new ExtractError("invalid_file", "The PDF has no pages.");
  if (!lines.some((page) => page.length > 0)) {
    throw new ExtractError("invalid_file", "The PDF has no text: its pages are probably scanned images.");
  }
  const note = leftOut > 0 ? `\n\n(${leftOut} more pages are left out: the document is too long.)` : "";
  const markdown = pdfMarkdown(lines) + note;
  return { title: isTelling(title) ? title : firstHeading(markdown), markdown };
}

/** Printer drivers put file names there: "Microsoft Word - Brief.doc", "untitled". */
function isTelling(title: string): boolean {
  return title !== "" && title.length <= 300 && !/^(?:microsoft \w+ - |untitled|unbenannt)|\.\w{2,4}$/i.test(title);
}

/** One run of text as the page draws it. `y` grows upwards. */
interface PdfRun {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly size: number;
}

interface PdfText {
  readonly title: string;
  /** Runs by page, in drawing order. */
  readonly pages: readonly (readonly PdfRun[])[];
  /** Pages behind those that were left out. */
  readonly leftOut: number;
}

/** Warnings of the library would go to the console. */
const ERRORS_ONLY = 0;

async function readPdf(bytes: Buffer, maxPages: number): Promise<PdfText> {
  try {
    const pdf = await getDocumentProxy(ownBytes(bytes), {
      verbosity: ERRORS_ONLY,
      useSystemFonts: false,
      disableFontFace: true,
    });
    try {
      const pages: PdfRun[][] = [];
      const count = Math.min(pdf.numPages, maxPages);
      for (let number = 1; number <= count; number += 1) pages.push(await readPage(pdf, number));
      return { title: await readTitle(pdf), pages, leftOut: pdf.numPages - count };
    } finally {
      await pdf.loadingTask.destroy();
    }
  } catch (error) {
    throw explainFailure(error);
  }
}

/** The library detaches the buffer it is given; shared memory would take unrelated bytes along. */
function ownBytes(bytes: Buffer): Uint8Array {
  const isWhole = bytes.byteOffset === 0 && bytes.length === bytes.buffer.byteLength;
  return isWhole ? new Uint8Array(bytes.buffer) : new Uint8Array(bytes);
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

async function readPage(pdf: Pdf, number: number): Promise<PdfRun[]> {
  const page = await pdf.getPage(number);
  const { items } = await page.getTextContent();
  const runs: PdfRun[] = [];
  for (const item of items) {
    if (!("str" in item) || item.str === "") continue;
    const [a = 0, b = 0, c = 0, d = 0, x = 0, y = 0] = item.transform as number[];
    runs.push({ text: item.str, x, y, width: item.width, size: Math.hypot(c, d) || Math.hypot(a, b) });
  }
  page.cleanup();
  return runs;
}

async function readTitle(pdf: Pdf): Promise<string> {
  const { info } = await pdf.getMetadata();
  const title: unknown = Reflect.get(info, "Title");
  return typeof title === "string" ? title.trim() : "";
}

function explainFailure(error: unknown): unknown {
  if (error instanceof ExtractError || !(error instanceof Error)) return error;
  if (error.name === "PasswordException") {
    return new ExtractError("invalid_file", "The PDF is protected by a password.", { cause: error });
  }
  if (/^(?:InvalidPDFException|FormatError|UnknownErrorException|XRefParseException)$/.test(error.name)) {
    return new ExtractError("invalid_file", "The PDF is damaged and cannot be read.", { cause: error });
  }
  return error;
}

const MIN_PAGES_FOR_REPEATS = 4;
const REPEATED_SHARE = 0.6;
const MIN_REPEATS_OF_NUMBER = 3;
const LIST_ITEM = /^(?:[•●▪◦‣–—*-]|\d{1,3}[.)]|[a-z]\))\s+\S/;

interface Paragraph {
  text: string;
  level: number;
}

/**
 * Markdown from the lines of each page. Before the first block of a page stands `<!-- page 3 -->` on a line of its
 * own: what follows begins on page 3. A paragraph that runs across the border stays whole and the mark comes after it.
 */
function pdfMarkdown(pages: readonly (readonly PdfLine[])[]): string {
  const kept = withoutRepeats(pages);
  const all = kept.flat();
  const levelOf = headingLevels(all);
  const words = collectWords(all.map((line) => line.text));
  const spacing = usualSpacing(kept);
  const blocks: (Paragraph | string)[] = [];
  for (const [at, lines] of kept.entries()) {
    const mark = `<!-- page ${at + 1} -->`;
    const paragraphs = toParagraphs(lines, { levelOf, words, spacing });
    const last = blocks.at(-1);
    const [first] = paragraphs;
    if (first && typeof last === "object" && runsOn(last, first)) {
      last.text = joinLines(last.text, first.text, words);
      paragraphs.shift();
    }
    blocks.push(mark);
    for (const paragraph of paragraphs) blocks.push(paragraph);
  }
  return blocks.map(toBlock).join("\n\n");
}

function toBlock(block: Paragraph | string): string {
  if (typeof block === "string") return block;
  if (block.level > 0) return `${"#".repeat(block.level)} ${block.text}`;
  const bullet = /^[•●▪◦‣–—]\s+/.exec(block.text);
  if (bullet) return `- ${block.text.slice(bullet[0].length)}`;
  return /^(?:#{1,6}\s|>|`{3}|~{3}|[-=]+$|<!--)/.test(block.text) ? `\\${block.text}` : block.text;
}

/** A sentence that is not finished goes on with a small letter on the next page. */
function runsOn(last: Paragraph, first: Paragraph): boolean {
  return (
    last.level === 0 && first.level === 0 && /[\p{L}\p{N},;\u00ad-]$/u.test(last.text) && /^\p{Ll}/u.test(first.text)
  );
}

function toParagraphs(
  lines: readonly PdfLine[],
  { levelOf, words, spacing }: { levelOf: (line: PdfLine) => number; words: ReadonlySet<string>; spacing: number },
): Paragraph[] {
  const paragraphs: Paragraph[] = [];
  const right = lines.reduce((most, line) => Math.max(most, line.right), 0);
  for (const [at, line] of lines.entries()) {
    const level = levelOf(line);
    const previous = lines[at - 1];
    const open = paragraphs.at(-1);
    if (open && previous && open.level === level && continues(previous, line, { spacing, right, level })) {
      open.text = joinLines(open.text, line.text, words);
    } else {
      paragraphs.push({ text: line.text, level });
    }
  }
  return paragraphs;
}

function continues(
  previous: PdfLine,
  line: PdfLine,
  { spacing, right, level }: { spacing: number; right: number; level: number },
): boolean {
  const drop = previous.y - line.y;
  const sameSize = Math.abs(previous.size - line.size) <= 0.1 * Math.max(previous.size, line.size);
  if (level > 0) return sameSize && drop > 0 && drop < line.size * 1.8;
  if (LIST_ITEM.test(line.text) || / … \S{1,6}$/.test(previous.text)) return false;
  // Upwards is the next column: nothing can be told from the distance.
  if (drop > line.size * spacing * 1.35) return false;
  const short = previous.right < previous.x + (right - previous.x) * 0.8;
  return !(short && /[.!?:]["'”»)]?$/.test(previous.text));
}

/** How far lines usually are below the one before, as a multiple of their size, over the whole document. */
function usualSpacing(pages: readonly (readonly PdfLine[])[]): number {
  const drops: number[] = [];
  for (const lines of pages) {
    for (const [at, line] of lines.entries()) {
      const drop = ((lines[at - 1]?.y ?? line.y) - line.y) / (line.size || 1);
      if (drop > 0.8 && drop < 2.6) drops.push(drop);
    }
  }
  drops.sort((a, b) => a - b);
  return drops[Math.floor(drops.length / 2)] ?? 1.3;
}

/**
 * Running heads and page numbers: the same first or last line on most pages, numbers aside, or one with a number at the same
 * height on a few. The first one stays.
 */
function withoutRepeats(pages: readonly (readonly PdfLine[])[]): PdfLine[][] {
  if (pages.length < MIN_PAGES_FOR_REPEATS) return pages.map((lines) => [...lines]);
  const counts = new Map<string, number>();
  for (const lines of pages) {
    for (const key of new Set(edges(lines).flatMap(repeatKeys))) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const isRepeated = (line: PdfLine): boolean => {
    const [text = "", placed = ""] = repeatKeys(line);
    if ((counts.get(text) ?? 0) >= pages.length * REPEATED_SHARE) return true;
    return text.includes("#") && (counts.get(placed) ?? 0) >= MIN_REPEATS_OF_NUMBER;
  };
  const met = new Set<string>();
  return pages.map((lines) => {
    const onEdge = new Set(edges(lines));
    return lines.filter((line) => {
      if (!onEdge.has(line) || !isRepeated(line)) return true;
      const [key = ""] = repeatKeys(line);
      const isFirst = !met.has(key);
      met.add(key);
      return isFirst;
    });
  });
}

/** What stands above and below the text; a page of one or two lines has nothing between them. */
function edges(lines: readonly PdfLine[]): PdfLine[] {
  if (lines.length < 3) return [];
  const byHeight = lines.toSorted((a, b) => b.y - a.y);
  const [top, bottom] = [byHeight[0], byHeight.at(-1)];
  return [top, bottom].filter((line) => line !== undefined);
}

/** A line without its numbers, and the same with its place on the page. */
function repeatKeys({ text, y }: PdfLine): [text: string, placed: string] {
  const key = text.replaceAll(/\d+/g, "#").toLowerCase();
  return [key, `${key}@${Math.round(y)}`];
}

/** Runs on one baseline, left to right. */
interface PdfLine {
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
function pageLines(runs: readonly PdfRun[]): PdfLine[] {
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
function splitColumns(drawn: readonly PdfRun[][]): PdfRun[][] {
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

const LARGER_BY = 1.15;
const MAX_HEADING_LENGTH = 200;
/** Headings are few. When "large" is a third of the text, the size is a matter of taste, not of structure. */
const MAX_SHARE = 0.3;
const MAX_LEVELS = 4;

/** Level of a line by its size: the size most text has is the body, each larger one a level. 0 is no heading. */
function headingLevels(lines: readonly PdfLine[]): (line: PdfLine) => number {
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

const CONNECTS = /^(?:und|oder|bzw|and|or|et|ou|y|e|o)\b/;

/** Words that occur inside a line of the document: what a word divided at a line's end may be compared with. */
function collectWords(lines: Iterable<string>): Set<string> {
  const words = new Set<string>();
  for (const line of lines) {
    for (const [word] of line.matchAll(/[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*/gu)) words.add(word.toLowerCase());
  }
  return words;
}

/**
 * Puts two lines of a paragraph together. A hyphen at the end is dropped when it only divided a word: between
 * small letters, unless the document writes the word with a hyphen elsewhere (and not without). "Vor- und Nachteile" and
 * "SharePoint-Bibliothek" keep theirs.
 */
export function joinLines(before: string, after: string, words: ReadonlySet<string>): string {
  if (before.endsWith("\u00ad")) return before.slice(0, -1) + after;
  const head = /([\p{L}\p{N}-]*\p{L})[-\u2010]$/u.exec(before.slice(-100))?.[1];
  if (!head) return `${before} ${after}`;
  if (CONNECTS.test(after)) return `${before} ${after}`;
  const tail = /^[\p{L}\p{N}]+/u.exec(after.slice(0, 100))?.[0];
  if (!tail) return `${before} ${after}`;
  const divided = /\p{Ll}$/u.test(head) && /^\p{Ll}/u.test(tail) && !isWritten(head, tail, words);
  return divided ? before.slice(0, -1) + after : before + after;
}

function isWritten(head: string, tail: string, words: ReadonlySet<string>): boolean {
  const whole = `${head}${tail}`.toLowerCase();
  return words.has(`${head}-${tail}`.toLowerCase()) && !words.has(whole);
}
