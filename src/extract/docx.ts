import { ExtractError } from "../contracts/document.ts";
import type { ByteSource } from "./byte-source.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { escapeLine, firstHeading, gfmTable } from "./markdown.ts";
import { coreTitle, type OfficePackage, readLinks, readPackage, readRelationships } from "./office-package.ts";
import { attribute, scanXml } from "./scan-xml.ts";

/** Headings by style, lists, tables, links, and the notes behind the text. Headers, footers, comments and what was deleted are left out. */
export function extractDocx(source: ByteSource, { maxUnpackedBytes }: ExtractLimits): ReadText {
  const kind = {
    name: "a Word document",
    folders:
      /^word\/(?:_rels\/|document\d*\.xml$|styles\d*\.xml$|numbering\d*\.xml$|footnotes\d*\.xml$|endnotes\d*\.xml$)/i,
    maxBytes: maxUnpackedBytes,
  };
  const file = readPackage(source, kind);
  const notes: string[] = [];
  const context: WordContext = {
    styles: readWordStyles(partOf(file, "styles")),
    numbering: readWordNumbering(partOf(file, "numbering")),
    links: readLinks(file.parts, file.main),
    note: (type, id) => notes.push(`${type} ${id}`),
  };
  const text = readText(file.parts.get(file.main), context);
  const noteTexts = new Map([...readNotes(file, "footnote", context), ...readNotes(file, "endnote", context)]);
  const list = notes.map((note, at) => `${at + 1}. ${noteTexts.get(note) ?? ""}`).join("\n");
  const markdown = list ? `${text}\n\n${list}` : text;
  return { title: firstHeading(markdown) || coreTitle(file.parts.get("docProps/core.xml")), markdown };
}

function partOf({ parts, main }: OfficePackage, type: string): Buffer | undefined {
  const found = [...readRelationships(parts, main).values()].find((each) => each.type === type);
  return found && parts.get(found.target);
}

function readText(part: Buffer | undefined, context: WordContext): string {
  const reader = new WordReader(context);
  scanXml(part?.toString("utf8") ?? "", reader);
  if (reader.depth !== 0) throw new ExtractError("invalid_file", "The Word document is damaged and cannot be read.");
  return reader.take().markdown;
}

/** Texts of notes by kind and id. A note in a note is not followed. */
function readNotes(file: OfficePackage, kind: "footnote" | "endnote", context: WordContext): Map<string, string> {
  const notes = new Map<string, string>();
  const reader = new WordReader({ ...context, note: () => 0 });
  let id = "";
  scanXml(partOf(file, `${kind}s`)?.toString("utf8") ?? "", {
    open(name, attributes) {
      if (name === kind) id = attribute(attributes, "w:id");
      reader.open(name, attributes);
    },
    close(name) {
      reader.close(name);
      if (name === kind) notes.set(`${kind} ${id}`, reader.take().markdown.replaceAll(/\s*\n\s*/g, " "));
    },
    text: (text) => reader.text(text),
  });
  return notes;
}

/** What was there before a change, copies for old programs, and how Japanese is pronounced. */
const SKIPPED = new Set(["del", "moveFrom", "pPrChange", "Fallback", "rt", "sdtPr"]);
const MAX_COLUMNS = 100;

interface WordContext {
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
class WordReader {
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

const MAX_HEADING_LENGTH = 300;
const MAX_LEVEL = 8;
/** A longer cell is not repeated in the rows it spans: its text would be multiplied. */
const MAX_REPEATED_LENGTH = 200;

interface WordParagraph {
  text: string;
  readonly heading: number;
  readonly isQuote: boolean;
  readonly list?: { readonly id: string; readonly level: number; readonly isCounted: boolean } | undefined;
}

/** Blocks of Markdown of a document, a note or a cell, as they come. */
class WordBlocks {
  readonly #blocks: string[] = [];
  /** The list that is being written: widths of the enclosing marks, and the count of each level. */
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
function repeatedText(text: string | undefined): string {
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

/** Whether the items of a list at a level are counted; undefined when they have no mark at all. */
type WordNumbering = (numberingId: string, level: number) => boolean | undefined;

function readWordNumbering(part: Buffer | undefined): WordNumbering {
  /** Formats of the levels, by the id of their definition. */
  const definitions = new Map<string, Map<number, string>>();
  const definitionOf = new Map<string, string>();
  let definition = new Map<number, string>();
  let level = 0;
  let instance = "";
  scanXml(part?.toString("utf8") ?? "", {
    open(name, attributes) {
      if (name === "abstractNum") {
        definition = new Map();
        definitions.set(attribute(attributes, "w:abstractNumId"), definition);
      } else if (name === "lvl") level = Number(attribute(attributes, "w:ilvl"));
      else if (name === "numFmt") definition.set(level, attribute(attributes, "w:val"));
      else if (name === "num") instance = attribute(attributes, "w:numId");
      else if (name === "abstractNumId") definitionOf.set(instance, attribute(attributes, "w:val"));
    },
    close: () => undefined,
  });
  return (numberingId, wanted) => {
    const format = definitions.get(definitionOf.get(numberingId) ?? "")?.get(wanted);
    if (format === undefined || format === "none") return undefined;
    return format !== "bullet";
  };
}

interface WordStyle {
  /** 1 to 6, 0 for text. */
  readonly heading: number;
  readonly isQuote: boolean;
  /** The list of its paragraphs; "" for none. */
  readonly numberingId: string;
}

interface Written {
  name: string;
  basedOn: string;
  outline: number;
  numberingId: string;
}

const TEXT: WordStyle = { heading: 0, isQuote: false, numberingId: "" };
const MAX_ANCESTORS = 20;

/** Paragraph styles by id. Names are English whatever the language of Word; ids are not. */
function readWordStyles(part: Buffer | undefined): Map<string, WordStyle> {
  const written = readWritten(part);
  return new Map([...written.keys()].map((id) => [id, resolve(id, written)]));
}

function readWritten(part: Buffer | undefined): Map<string, Written> {
  const styles = new Map<string, Written>();
  let style: Written | undefined;
  scanXml(part?.toString("utf8") ?? "", {
    open(name, attributes) {
      const value = (): string => attribute(attributes, "w:val");
      if (name === "style") {
        style = { name: "", basedOn: "", outline: -1, numberingId: "" };
        styles.set(attribute(attributes, "w:styleId"), style);
      } else if (!style) return;
      else if (name === "name") style.name = value();
      else if (name === "basedOn") style.basedOn = value();
      else if (name === "outlineLvl") style.outline = Number(value());
      else if (name === "numId") style.numberingId = value();
    },
    close(name) {
      if (name === "style") style = undefined;
    },
  });
  return styles;
}

/** What a style does not say it has from the one it is based on. */
function resolve(id: string, styles: ReadonlyMap<string, Written>): WordStyle {
  let { heading, isQuote, numberingId } = TEXT;
  let style = styles.get(id);
  for (let steps = 0; style && steps < MAX_ANCESTORS; steps += 1) {
    heading ||= headingLevel(style);
    isQuote ||= /^(?:intense )?quote$/i.test(style.name);
    numberingId ||= style.numberingId;
    style = styles.get(style.basedOn);
  }
  return { heading, isQuote, numberingId };
}

function headingLevel({ name, outline }: Written): number {
  if (/^title$/i.test(name)) return 1;
  const level = Number(/^heading ([1-9])$/i.exec(name)?.[1] ?? 0) || (outline >= 0 && outline < 9 ? outline + 1 : 0);
  return Math.min(level, 6);
}
