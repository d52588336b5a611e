import { escapeLine } from "../escape-line.ts";
import { gfmTable } from "../table-lines.ts";
import { attribute, scanXml } from "./scan-xml.ts";

export interface SlideText {
  readonly title: string;
  /** Blocks of Markdown: paragraphs, lists, tables. */
  readonly blocks: readonly string[];
}

/** Placeholders for what every slide has: dates, footers, numbers; on a page of notes also the picture of the slide. */
const FURNITURE = new Set(["dt", "ftr", "hdr", "sldNum", "sldImg"]);
const MAX_LEVEL = 8;

interface Paragraph {
  readonly text: string;
  readonly level: number;
}

interface Shape {
  placeholder: string;
  readonly paragraphs: Paragraph[];
}

/** Text of a slide, its notes or a diagram, shape by shape as drawn. */
export function readSlide(xml: string): SlideText {
  const reader = new SlideReader();
  scanXml(xml, reader);
  return { title: reader.title, blocks: reader.blocks };
}

class SlideReader {
  title = "";
  readonly blocks: string[] = [];
  #shape: Shape = { placeholder: "", paragraphs: [] };
  #rows: string[][] | undefined;
  #text = "";
  #level = 0;
  #inText = false;
  /** Drawings come twice, the second time for old programs. */
  #repeats = 0;

  open(name: string, attributes: string): void {
    if (name === "Fallback") this.#repeats += 1;
    if (this.#repeats > 0) return;
    if (name === "sp" || name === "pt") this.#shape = { placeholder: "", paragraphs: [] };
    else if (name === "ph") this.#shape.placeholder = attribute(attributes, "type") || "body";
    else if (name === "p") this.#level = 0;
    else if (name === "pPr") this.#level = Math.min(MAX_LEVEL, Number(attribute(attributes, "lvl")) || 0);
    else if (name === "t") this.#inText = true;
    else if (name === "br") this.#text += " ";
    else if (name === "tab") this.#text += " ";
    else if (name === "tbl") this.#rows = [];
    else if (name === "tr") this.#rows?.push([]);
    else if (name === "tc") this.#shape = { placeholder: "", paragraphs: [] };
  }

  close(name: string): void {
    if (name === "Fallback") this.#repeats -= 1;
    if (this.#repeats > 0) return;
    if (name === "t") this.#inText = false;
    else if (name === "p") this.#endParagraph();
    else if (name === "tc") this.#endCell();
    else if (name === "tbl") this.#endTable();
    else if (name === "sp" || name === "pt") this.#endShape();
  }

  text(text: string): void {
    if (this.#inText) this.#text += text;
  }

  #endParagraph(): void {
    const text = this.#text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
    if (text) this.#shape.paragraphs.push({ text, level: this.#level });
    this.#text = "";
  }

  #endCell(): void {
    const text = this.#shape.paragraphs.map((paragraph) => paragraph.text).join(" ");
    this.#rows?.at(-1)?.push(text);
    this.#shape = { placeholder: "", paragraphs: [] };
  }

  #endTable(): void {
    const rows = (this.#rows ?? []).filter((row) => row.some(Boolean));
    if (rows.length > 0) this.blocks.push(gfmTable(rows));
    this.#rows = undefined;
  }

  #endShape(): void {
    const { placeholder, paragraphs } = this.#shape;
    this.#shape = { placeholder: "", paragraphs: [] };
    if (paragraphs.length === 0 || FURNITURE.has(placeholder)) return;
    if ((placeholder === "title" || placeholder === "ctrTitle") && !this.title) {
      this.title = paragraphs.map(({ text }) => text).join(" ");
    } else if (placeholder === "body" && paragraphs.length > 1) {
      this.blocks.push(paragraphs.map(({ text, level }) => `${"  ".repeat(level)}- ${text}`).join("\n"));
    } else {
      this.blocks.push(...paragraphs.map(({ text }) => escapeLine(text)));
    }
  }
}
