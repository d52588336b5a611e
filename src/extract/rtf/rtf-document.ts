import { escapeLine } from "../escape-line.ts";
import { gfmTable } from "../table-lines.ts";
import { codePageOfCharset } from "./code-pages.ts";
import type { RtfVisitor } from "./scan-rtf.ts";

/** Groups that hold no text of the document. */
const SILENT = new Set(
  "colortbl pict object header headerl headerr headerf footer footerl footerr footerf fldinst themedata datastore listtable listoverridetable rsidtbl generator xmlnstbl latentstyles nonshppict author operator company comment keywords subject doccomm".split(
    " ",
  ),
);
const SIGNS: Readonly<Record<string, string>> = {
  tab: " ",
  line: "\n",
  emdash: "—",
  endash: "–",
  bullet: "•",
  lquote: "‘",
  rquote: "’",
  ldblquote: "“",
  rdblquote: "”",
  emspace: " ",
  enspace: " ",
};
const HEADING_STYLE = /^(?:heading|überschrift|titre|título|titolo|kop|rubrik|overskrift|otsikko) ?([1-6])$/i;

type Target = "text" | "nothing" | "info" | "title" | "fonts" | "styles" | "marker";

interface Group {
  target: Target;
  font: number;
  fallback: number;
}

/** What scanRtf meets, put together to Markdown. */
export class RtfDocument implements RtfVisitor {
  title = "";
  readonly #blocks: string[] = [];
  readonly #groups: Group[] = [];
  #group: Group = { target: "text", font: -1, fallback: 1 };
  #defaultCodePage = 1252;
  readonly #codePages = new Map<number, number>();
  readonly #headings = new Map<number, number>();
  #fontNumber = 0;
  #styleNumber = 0;
  #styleName = "";
  #isOptional = false;
  #paragraph = "";
  #level = 0;
  #isItem = false;
  #inTable = false;
  #row: string[] = [];
  #rows: string[][] = [];

  get markdown(): string {
    this.#endParagraph();
    this.#endTable();
    return this.#blocks.join("\n\n");
  }

  codePage(): number {
    return this.#codePages.get(this.#group.font) ?? this.#defaultCodePage;
  }

  fallbackLength(): number {
    return this.#group.fallback;
  }

  openGroup(): void {
    this.#groups.push({ ...this.#group });
    this.#isOptional = false;
  }

  closeGroup(): void {
    if (this.#group.target === "styles") this.#endStyle();
    this.#group = this.#groups.pop() ?? this.#group;
    this.#isOptional = false;
  }

  text(text: string): void {
    this.#isOptional = false;
    const { target } = this.#group;
    if (target === "text") this.#paragraph += text;
    else if (target === "title") this.title += text;
    else if (target === "styles") this.#styleName += text;
  }

  control(word: string, parameter: number | undefined): void {
    if (word === "*") {
      this.#isOptional = true;
      return;
    }
    if (this.#enterGroup(word) || this.#describe(word, parameter ?? 0)) return;
    if (this.#group.target !== "text") return;
    const sign = SIGNS[word];
    if (sign !== undefined) this.#paragraph += sign;
    else this.#structure(word, parameter ?? 0);
  }

  /** The first word of a group may say what it is for. */
  #enterGroup(word: string): boolean {
    const wasOptional = this.#isOptional;
    this.#isOptional = false;
    if (this.#group.target === "nothing") return true;
    if (word === "fonttbl") this.#group.target = "fonts";
    else if (word === "stylesheet") this.#group.target = "styles";
    else if (word === "info") this.#group.target = "info";
    else if (word === "title" && this.#group.target === "info") this.#group.target = "title";
    else if (word === "listtext" || word === "pntext") {
      this.#group.target = "marker";
      this.#isItem = true;
    } else if (SILENT.has(word) || (wasOptional && this.#group.target === "text")) this.#group.target = "nothing";
    else return false;
    return true;
  }

  /** Fonts, styles and code pages. */
  #describe(word: string, parameter: number): boolean {
    const { target } = this.#group;
    if (word === "ansicpg") this.#defaultCodePage = parameter;
    else if (word === "mac") this.#defaultCodePage = 10000;
    else if (word === "uc") this.#group.fallback = Math.max(0, Math.min(parameter, 16));
    else if (word === "f" && target === "fonts") this.#fontNumber = parameter;
    else if (word === "f" && target === "text") this.#group.font = parameter;
    else if (word === "fcharset" && target === "fonts") this.#rememberFont(parameter);
    else if (word === "s" && target === "styles") this.#styleNumber = parameter;
    else return false;
    return true;
  }

  #rememberFont(charset: number): void {
    const codePage = codePageOfCharset(charset);
    if (codePage !== undefined) this.#codePages.set(this.#fontNumber, codePage);
  }

  #endStyle(): void {
    const level = HEADING_STYLE.exec(this.#styleName.replace(/;.*$/s, "").trim())?.[1];
    if (level) this.#headings.set(this.#styleNumber, Number(level));
    this.#styleName = "";
  }

  #structure(word: string, parameter: number): void {
    if (word === "par" || word === "sect" || word === "page") this.#endParagraph();
    else if (word === "pard") {
      this.#level = 0;
      this.#inTable = false;
    } else if (word === "s") this.#level = this.#headings.get(parameter) ?? 0;
    else if (word === "outlinelevel") this.#level = parameter < 6 ? parameter + 1 : 0;
    else if (word === "intbl") this.#inTable = true;
    else if (word === "cell") this.#endCell();
    else if (word === "row") this.#endRow();
  }

  #endCell(): void {
    this.#row.push(this.#paragraph.trim());
    this.#paragraph = "";
    this.#isItem = false;
  }

  #endRow(): void {
    if (this.#row.some(Boolean)) this.#rows.push(this.#row);
    this.#row = [];
  }

  #endParagraph(): void {
    if (this.#inTable) {
      this.#paragraph += " ";
      return;
    }
    const text = this.#paragraph.replaceAll(/[ \t\u00a0]+/g, " ").trim();
    this.#paragraph = "";
    const isItem = this.#isItem;
    this.#isItem = false;
    if (!text) return;
    this.#endTable();
    const line = text.replaceAll(/\s*\n\s*/g, " ");
    if (this.#level > 0 && text.length <= 300) this.#blocks.push(`${"#".repeat(this.#level)} ${line}`);
    else if (isItem) this.#blocks.push(`- ${line}`);
    else this.#blocks.push(text.split("\n").map(escapeLine).join("\n"));
  }

  #endTable(): void {
    if (this.#rows.length > 0) this.#blocks.push(gfmTable(this.#rows));
    this.#rows = [];
  }
}
