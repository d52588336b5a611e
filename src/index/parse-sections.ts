import { ExtractError, type Section } from "../contracts/document.ts";
import {
  closesFence,
  type Fence,
  indentOf,
  isBlank,
  LINES_PER_PAUSE,
  lineEnd,
  linePrefix,
  openingFence,
  type Pause,
  runLength,
  startsListItem,
} from "./markdown-lines.ts";

/** A longer line is text, whatever marks it: it would be repeated in the path of every chunk below it. */
const MAX_HEADING_LENGTH = 500;

interface OpenSection {
  readonly heading: string;
  readonly level: number;
  content: string;
  readonly children: OpenSection[];
}

interface Heading {
  readonly text: string;
  readonly level: number;
  /** Where the heading begins: for an underlined one this is before the line that was just read. */
  readonly start: number;
}

/**
 * The tree of headings, ATX (`## A`) and Setext (underlined), outside code fences. A section hangs below the
 * nearest earlier one of a lower level, so skipped levels are fine and the tree is at most six deep.
 * Linear in the length of the text. Throws ExtractError when there are more headings than `maxHeadings`: each of them takes memory.
 */
export function* sectionSteps(markdown: string, maxHeadings = Number.POSITIVE_INFINITY): Generator<Pause, Section> {
  const root: OpenSection = { heading: "", level: 0, content: "", children: [] };
  const open = [root];
  const lines = new HeadingScanner(markdown);
  let contentStart = 0;
  let read = 0;
  let headings = 0;
  for (let start = 0; start < markdown.length; ) {
    read += 1;
    if (read % LINES_PER_PAUSE === 0) yield;
    const end = lineEnd(markdown, start);
    const heading = lines.read(start, end);
    if (heading) {
      headings += 1;
      if (headings > maxHeadings) {
        throw new ExtractError("invalid_file", `The document is too long: it has more than ${maxHeadings} headings.`);
      }
      const section: OpenSection = { heading: heading.text, level: heading.level, content: "", children: [] };
      const current = open.at(-1) ?? root;
      current.content = trimBlankLines(markdown.slice(contentStart, heading.start));
      while ((open.at(-1) ?? root).level >= heading.level) open.pop();
      (open.at(-1) ?? root).children.push(section);
      open.push(section);
      contentStart = end + 1;
    }
    start = end + 1;
  }
  (open.at(-1) ?? root).content = trimBlankLines(markdown.slice(contentStart));
  return root;
}

/** Reads lines in order and says which of them complete a heading. */
class HeadingScanner {
  readonly #text: string;
  #fence: Fence | undefined;
  /** Start of the paragraph being read, -1 outside one: only a paragraph can be underlined. */
  #paragraph = -1;
  /** Inside a list, quote or table until the next blank line; `---` there is no underline. */
  #contained = false;

  constructor(text: string) {
    this.#text = text;
  }

  read(start: number, end: number): Heading | undefined {
    const prefix = linePrefix(this.#text, start, end);
    if (this.#fence) {
      if (closesFence(this.#line(start, end), this.#fence)) this.#fence = undefined;
      return undefined;
    }
    this.#fence = /^ {0,3}(?:```|~~~)/.test(prefix) ? openingFence(this.#line(start, end), 3) : undefined;
    if (this.#fence) return this.#leaveParagraph(false);
    if (isBlank(this.#text, start, end)) return this.#leaveParagraph(false);
    const atx = this.#atx(start, end, prefix);
    if (atx) {
      this.#leaveParagraph(false);
      return atx;
    }
    const setext = this.#setext(start, end);
    if (setext) {
      this.#leaveParagraph(false);
      return setext;
    }
    this.#follow(start, prefix);
    return undefined;
  }

  #follow(start: number, prefix: string): void {
    if (startsListItem(prefix) || /^[ \t]*(?:[>|]|<!--)/.test(prefix)) this.#leaveParagraph(true);
    else if (this.#paragraph === -1 && !this.#contained && indentOf(prefix) < 2) this.#paragraph = start;
  }

  #leaveParagraph(contained: boolean): undefined {
    this.#paragraph = -1;
    this.#contained = contained;
  }

  #atx(start: number, end: number, prefix: string): Heading | undefined {
    const match = /^ {0,3}(#{1,6})(?=[ \t\r]|$)/.exec(prefix);
    if (!match || end - start > MAX_HEADING_LENGTH) return undefined;
    const text = withoutClosingMarks(this.#line(start + match[0].length, end).trim());
    return { text, level: match[1]?.length ?? 1, start };
  }

  #setext(start: number, end: number): Heading | undefined {
    const from = this.#paragraph;
    if (from === -1 || start - from > MAX_HEADING_LENGTH || end - start > MAX_HEADING_LENGTH) return undefined;
    const line = this.#line(start, end);
    const indent = indentOf(line);
    const mark = line[indent];
    if ((mark !== "=" && mark !== "-") || indent > 3) return undefined;
    if (!isBlank(line, indent + runLength(line, indent, mark), line.length)) return undefined;
    const text = this.#text.slice(from, start).trim().replaceAll(/\s+/g, " ");
    return { text, level: mark === "=" ? 1 : 2, start: from };
  }

  #line(start: number, end: number): string {
    return this.#text.slice(start, end);
  }
}

/** `Title ##` is `Title`; `C#` stays. */
function withoutClosingMarks(text: string): string {
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  if (end === 0) return "";
  return text[end - 1] === " " || text[end - 1] === "\t" ? text.slice(0, end).trimEnd() : text;
}

function trimBlankLines(text: string): string {
  let start = 0;
  while (start < text.length) {
    const end = lineEnd(text, start);
    if (!isBlank(text, start, end)) break;
    start = end + 1;
  }
  return text.slice(start).trimEnd();
}
