import { headingLevels } from "./heading-sizes.ts";
import { collectWords, joinLines } from "./join-words.ts";
import type { PdfLine } from "./page-lines.ts";

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
export function pdfMarkdown(pages: readonly (readonly PdfLine[])[]): string {
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
