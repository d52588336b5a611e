import { isTableRule } from "../../../index/chunk/markdown-lines.ts";
import { segments } from "../../../index/chunk/segments.ts";
import type { Passage } from "./answerer.ts";

/** A sentence of a passage, readable on its own. */
export interface Quote {
  readonly text: string;
  readonly passage: Passage;
  /** Counts from 0 through the passage. */
  readonly position: number;
}

const MAX_LENGTH = 400;
const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^\s{0,3}#{1,6}(?:\s|$)/;
const BEGINS_BLOCK = /^\s*(?:[-*+>]\s|\d{1,9}[.)]\s)/;

/** The sentences, list items and table rows of a passage, without the marks of Markdown. Headings alone say too little. */
export function quotesOf(passage: Passage): Quote[] {
  return blocksOf(passage.text)
    .flatMap((block) => (block.row ? [block.text] : [...segments(block.text, "sentences")]))
    .map((text) => text.trim())
    .filter((text) => /\p{L}{2}/u.test(text))
    .map((text, position) => ({ text: shortened(text), passage, position }));
}

/** Paragraphs on one line, and rows of tables with the names of their columns. */
function blocksOf(text: string): { text: string; row: boolean }[] {
  const blocks: { text: string; row: boolean }[] = [];
  let columns: readonly string[] | undefined;
  let open = false;
  const lines = text.split("\n");
  for (const [at, line] of lines.entries()) {
    const tabular: boolean = line.includes("|") && (columns !== undefined || isTableRule(lines[at + 1] ?? ""));
    if (tabular) {
      if (columns) blocks.push({ text: namedCells(columns, cellsOf(line)), row: true });
      else columns = cellsOf(line);
    } else columns = undefined;
    const outside = tabular || line.trim() === "" || FENCE.test(line) || HEADING.test(line);
    const last = blocks.at(-1);
    if (!outside && open && last && !BEGINS_BLOCK.test(line)) last.text += ` ${withoutMarks(line)}`;
    else if (!outside) blocks.push({ text: withoutMarks(line), row: false });
    open = !outside;
  }
  return blocks;
}

function cellsOf(line: string): string[] {
  if (isTableRule(line)) return [];
  return line
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split("|")
    .map((cell) => withoutMarks(cell));
}

function namedCells(columns: readonly string[], cells: readonly string[]): string {
  return cells
    .map((cell, at) => (cell && columns[at] ? `${columns[at]}: ${cell}` : cell))
    .filter(Boolean)
    .join("; ");
}

function withoutMarks(line: string): string {
  return line
    .replace(/^\s*(?:(?:[-*+>]|\d{1,9}[.)])\s+)?/, "")
    .replaceAll(/!?\[([^[\]]*)\]\([^()\s]*\)/g, "$1")
    .replaceAll(/\*\*|__|`/g, "")
    .trim();
}

function shortened(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  const blank = text.lastIndexOf(" ", MAX_LENGTH);
  const cut = text.slice(0, blank > MAX_LENGTH / 2 ? blank : MAX_LENGTH);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)} …`;
}
