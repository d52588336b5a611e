import { attribute } from "../office/scan-xml.ts";
import { repeatedText, WordBlocks, type WordParagraph } from "./word-blocks.ts";
import type { WordNumbering } from "./word-numbering.ts";
import type { WordStyle } from "./word-styles.ts";

/** What was there before a change, copies for old programs, and how Japanese is pronounced. */
const SKIPPED = new Set(["del", "moveFrom", "pPrChange", "Fallback", "rt", "sdtPr"]);
const MAX_COLUMNS = 100;

export interface WordContext {
  readonly styles: ReadonlyMap<string, WordStyle>;
  readonly numbering: WordNumbering;
  /** Addresses of links by id. */
  readonly links: ReadonlyMap<string, string>;
  /** The number of a note, in the order they are met. */
  note(kind: "footnote" | "endnote", id: string): number;
}

interface OpenParagraph {
  text: string;
  style: string;
  numberingId: string;
  level: number;
  linkStart: number;
  linkTarget: string;
}

interface OpenTable {
  readonly rows: string[][];
  /** Cells in their order, in case the table only arranges the page. */
  readonly cells: WordBlocks[];
  isLayout: boolean;
  spansRows: boolean;
  span: number;
}

/** Puts the text of a document together while its XML is walked through. `depth` is 0 again where the XML is whole. */
export class WordReader {
  depth = 0;
  readonly #context: WordContext;
  readonly #containers: WordBlocks[] = [new WordBlocks()];
  readonly #paragraphs: OpenParagraph[] = [];
  readonly #tables: OpenTable[] = [];
  #skipping = 0;
  #inText = false;
  #inRun = false;

  constructor(context: WordContext) {
    this.#context = context;
  }

  /** What has come so far, and begins anew: a note of several. */
  take(): WordBlocks {
    const [blocks = new WordBlocks()] = this.#containers.splice(0, this.#containers.length, new WordBlocks());
    return blocks;
  }

  open(name: string, attributes: string): void {
    this.depth += 1;
    if (this.#skipping > 0 || SKIPPED.has(name)) {
      this.#skipping += 1;
      return;
    }
    const paragraph = this.#paragraphs.at(-1);
    if (name === "p") this.#paragraphs.push(newParagraph());
    else if (name === "tbl" || name === "tc") this.#openCell(name);
    else if (name === "tr") this.#tables.at(-1)?.rows.push([]);
    else if (name === "gridSpan") this.#spanColumns(Number(attribute(attributes, "w:val")));
    else if (name === "vMerge") this.#spanRows(attribute(attributes, "w:val"));
    else if (name === "r") this.#inRun = true;
    else if (name === "t") this.#inText = true;
    else if (paragraph) this.#inParagraph(paragraph, name, attributes);
  }

  close(name: string): void {
    this.depth -= 1;
    if (this.#skipping > 0) {
      this.#skipping -= 1;
      return;
    }
    if (name === "t") this.#inText = false;
    else if (name === "r") this.#inRun = false;
    else if (name === "p") this.#closeParagraph();
    else if (name === "hyperlink") this.#closeLink();
    else if (name === "tc") this.#closeCell();
    else if (name === "tbl") this.#closeTable();
  }

  text(text: string): void {
    const paragraph = this.#paragraphs.at(-1);
    if (this.#inText && this.#skipping === 0 && paragraph) paragraph.text += text;
  }

  #inParagraph(paragraph: OpenParagraph, name: string, attributes: string): void {
    if (name === "pStyle") paragraph.style = attribute(attributes, "w:val");
    else if (name === "numId") paragraph.numberingId = attribute(attributes, "w:val");
    else if (name === "ilvl") paragraph.level = Number(attribute(attributes, "w:val")) || 0;
    else if (name === "hyperlink") this.#openLink(paragraph, attribute(attributes, "r:id"));
    else if (name === "docPr") paragraph.text += attribute(attributes, "descr");
    else if (!this.#inRun) return;
    else if (name === "br" || name === "cr") paragraph.text += "\n";
    else if (name === "tab" || name === "ptab") paragraph.text += " ";
    else if (name === "noBreakHyphen") paragraph.text += "\u2011";
    else if (name === "footnoteReference" || name === "endnoteReference") {
      const kind = name === "footnoteReference" ? "footnote" : "endnote";
      paragraph.text += `[${this.#context.note(kind, attribute(attributes, "w:id"))}]`;
    }
  }

  #closeParagraph(): void {
    const paragraph = this.#paragraphs.pop();
    if (paragraph) this.#containers.at(-1)?.add(this.#styled(paragraph));
  }

  #styled({ text, style, numberingId, level }: OpenParagraph): WordParagraph {
    const known = this.#context.styles.get(style);
    const id = numberingId || known?.numberingId || "";
    const isCounted = id ? this.#context.numbering(id, level) : undefined;
    const inTable = this.#tables.length > 0;
    return {
      text,
      heading: inTable ? 0 : (known?.heading ?? 0),
      isQuote: known?.isQuote ?? false,
      list: isCounted === undefined || inTable ? undefined : { id, level, isCounted },
    };
  }

  #openLink(paragraph: OpenParagraph, id: string): void {
    paragraph.linkStart = paragraph.text.length;
    paragraph.linkTarget = this.#context.links.get(id) ?? "";
  }

  #closeLink(): void {
    const paragraph = this.#paragraphs.at(-1);
    if (!paragraph || paragraph.linkTarget === "") return;
    const label = paragraph.text.slice(paragraph.linkStart);
    const target = paragraph.linkTarget.replaceAll(/[\s()<>]/g, percentEncode);
    paragraph.linkTarget = "";
    if (label.trim() === "" || label === target) return;
    paragraph.text = `${paragraph.text.slice(0, paragraph.linkStart)}[${label.replaceAll(/[[\]]/g, "\\$&")}](${target})`;
  }

  #openCell(name: "tbl" | "tc"): void {
    const around = this.#tables.at(-1);
    if (name === "tc") {
      this.#containers.push(new WordBlocks());
      return;
    }
    if (around) around.isLayout = true;
    this.#tables.push({ rows: [], cells: [], isLayout: false, spansRows: false, span: 1 });
  }

  #spanColumns(count: number): void {
    const table = this.#tables.at(-1);
    if (table) table.span = Math.max(1, Math.min(count || 1, MAX_COLUMNS));
  }

  #spanRows(value: string): void {
    const table = this.#tables.at(-1);
    if (table) table.spansRows = value !== "restart";
  }

  #closeCell(): void {
    const table = this.#tables.at(-1);
    const row = table?.rows.at(-1);
    const blocks = this.#containers.length > 1 ? this.#containers.pop() : undefined;
    if (!table || !row || !blocks) return;
    const above = table.rows.at(-2)?.[row.length];
    row.push(table.spansRows ? repeatedText(above) : blocks.markdown.replaceAll(/\s*\n\s*/g, " "));
    for (let filled = 1; filled < table.span && row.length < MAX_COLUMNS; filled += 1) row.push("");
    table.cells.push(blocks);
    table.spansRows = false;
    table.span = 1;
  }

  /** A table with tables inside, or with a single column, arranges the page: its cells are read one after the other. */
  #closeTable(): void {
    const table = this.#tables.pop();
    const container = this.#containers.at(-1);
    if (!table || !container) return;
    const rows = table.rows.filter((row) => row.some(Boolean));
    const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
    if (columns > 1 && !table.isLayout) container.addTable(rows);
    else for (const cell of table.cells) container.addBlocks(cell);
  }
}

function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`;
}

function newParagraph(): OpenParagraph {
  return { text: "", style: "", numberingId: "", level: 0, linkStart: 0, linkTarget: "" };
}
