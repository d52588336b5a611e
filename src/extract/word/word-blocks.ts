import { escapeLine } from "../escape-line.ts";
import { gfmTable } from "../table-lines.ts";

const MAX_HEADING_LENGTH = 300;
const MAX_LEVEL = 8;
/** A longer cell is not repeated in the rows it spans: its text would be multiplied. */
const MAX_REPEATED_LENGTH = 200;

export interface WordParagraph {
  text: string;
  readonly heading: number;
  readonly isQuote: boolean;
  readonly list?: { readonly id: string; readonly level: number; readonly isCounted: boolean } | undefined;
}

/** Blocks of Markdown of a document, a note or a cell, as they come. */
export class WordBlocks {
  readonly #blocks: string[] = [];
  /** Of the list that is being written: widths of the marks above, and how far each level has counted. */
  #indents: number[] = [];
  readonly #counts = new Map<string, number>();
  #inList = false;

  get isEmpty(): boolean {
    return this.#blocks.length === 0;
  }

  get markdown(): string {
    return this.#blocks.join("\n\n");
  }

  add(paragraph: WordParagraph): void {
    const text = tidy(paragraph.text);
    if (!text) return;
    if (paragraph.list && paragraph.heading === 0) {
      this.#addItem(text, paragraph.list);
      return;
    }
    this.#inList = false;
    const line = text.replaceAll("\n", " ");
    if (paragraph.heading > 0 && line.length <= MAX_HEADING_LENGTH) {
      this.#blocks.push(`${"#".repeat(paragraph.heading)} ${line}`);
    } else {
      const lines = text.split("\n").map(escapeLine);
      this.#blocks.push(paragraph.isQuote ? `> ${lines.join("\n> ")}` : lines.join("\n"));
    }
  }

  addTable(rows: readonly (readonly string[])[]): void {
    this.#inList = false;
    if (rows.length > 0) this.#blocks.push(gfmTable(rows));
  }

  addBlocks(blocks: WordBlocks): void {
    this.#inList = false;
    this.#blocks.push(...blocks.#blocks);
  }

  #addItem(text: string, { id, level, isCounted }: NonNullable<WordParagraph["list"]>): void {
    const depth = Math.min(level, MAX_LEVEL, this.#inList ? this.#indents.length : 0);
    for (let deeper = level + 1; deeper <= MAX_LEVEL; deeper += 1) this.#counts.delete(`${id} ${deeper}`);
    const count = (this.#counts.get(`${id} ${level}`) ?? 0) + 1;
    this.#counts.set(`${id} ${level}`, count);
    const mark = isCounted ? `${count}. ` : "- ";
    this.#indents = [...(this.#inList ? this.#indents.slice(0, depth) : []), mark.length];
    const indent = " ".repeat(this.#indents.slice(0, -1).reduce((sum, width) => sum + width, 0));
    const item = indent + mark + text.replaceAll("\n", `\n${indent}${" ".repeat(mark.length)}`);
    if (this.#inList) this.#blocks.push(`${this.#blocks.pop()}\n${item}`);
    else this.#blocks.push(item);
    this.#inList = true;
  }
}

/** Text for the rows below a cell that spans them. */
export function repeatedText(text: string | undefined): string {
  return text !== undefined && text.length <= MAX_REPEATED_LENGTH ? text : "";
}

/** One blank at most, none at the ends of lines, no soft hyphens. */
function tidy(text: string): string {
  return text
    .replaceAll(/[\u00ad\u200b\ufeff]/g, "")
    .replaceAll(/[^\S\n]+/g, " ")
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .join("\n");
}
