import { ExtractError } from "../contracts/document.ts";
import type { ByteSource } from "./byte-source.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { escapeLine, gfmTable } from "./markdown.ts";
import { coreTitle, type OfficePackage, readPackage, readRelationships } from "./office-package.ts";
import { attribute, scanXml } from "./scan-xml.ts";

/** One section per slide, in the order they are shown, with the notes of the speaker; a slide counts as a page. */
export function extractPptx(source: ByteSource, { maxUnpackedBytes }: ExtractLimits): ReadText {
  const kind = {
    name: "a PowerPoint presentation",
    folders: /^ppt\/(?:_rels\/|presentation\.xml$|slides\/|notesSlides\/|diagrams\/data)/i,
    maxBytes: maxUnpackedBytes,
  };
  const presentation = readPackage(source, kind);
  const slides = slideNames(presentation).map((name) => slideSection(presentation, name));
  if (slides.length === 0) throw new ExtractError("invalid_file", "The presentation has no slides.");
  if (!slides.some(({ hasText }) => hasText)) {
    throw new ExtractError("invalid_file", "The presentation has no text: its slides are probably pictures.");
  }
  const blocks = slides.map(({ title, body }, at) => {
    const heading = `## ${title || `Slide ${at + 1}`}`;
    return [`<!-- page ${at + 1} -->`, heading, ...body].join("\n\n");
  });
  const title = coreTitle(presentation.parts.get("docProps/core.xml"));
  const isTelling = title !== "" && !/^(?:powerpoint|pr[äe]sentation|présentation|untitled)\b/i.test(title);
  return { title: isTelling ? title : (slides[0]?.title ?? ""), markdown: blocks.join("\n\n") };
}

function slideNames({ parts, main }: OfficePackage): string[] {
  const relationships = readRelationships(parts, main);
  const names: string[] = [];
  scanXml(parts.get(main)?.toString("utf8") ?? "", {
    open(name, attributes) {
      const target = name === "sldId" ? relationships.get(attribute(attributes, "r:id"))?.target : undefined;
      if (target !== undefined && parts.has(target)) names.push(target);
    },
    close: () => undefined,
  });
  return names;
}

interface SlideSection {
  readonly title: string;
  readonly body: readonly string[];
  readonly hasText: boolean;
}

function slideSection({ parts }: OfficePackage, name: string): SlideSection {
  const { title, blocks } = readSlide(parts.get(name)?.toString("utf8") ?? "");
  const linked = [...readRelationships(parts, name).values()];
  const textOf = (wanted: string): string[] =>
    linked
      .filter(({ type }) => type === wanted)
      .flatMap(({ target }) => readSlide(parts.get(target)?.toString("utf8") ?? "").blocks);
  const body = [...blocks, ...textOf("diagramData")];
  const notes = textOf("notesSlide");
  if (notes.length > 0) body.push("### Notes", ...notes);
  return { title, body, hasText: title !== "" || body.length > 0 };
}

interface SlideText {
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
function readSlide(xml: string): SlideText {
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
