import { ExtractError } from "../contracts/document.ts";
import type { ReadText } from "./formats.ts";
import { escapeLine, firstHeading, gfmTable } from "./markdown.ts";

export function extractRtf(bytes: Buffer): ReadText {
  const rtf = bytes.toString("latin1");
  if (!/^\s*\{\\rtf/.test(rtf.slice(0, 100))) {
    throw new ExtractError("invalid_file", "The file is not a Rich Text document.");
  }
  const document = new RtfDocument();
  scanRtf(rtf, document);
  const { markdown } = document;
  return { title: document.title.trim() || firstHeading(markdown), markdown };
}

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
class RtfDocument implements RtfVisitor {
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

interface RtfVisitor {
  openGroup(): void;
  closeGroup(): void;
  /** A control word with its number, if it has one; `*` marks a group that readers may leave out. */
  control(word: string, parameter: number | undefined): void;
  text(text: string): void;
  /** What bytes beyond ASCII mean in the current font. */
  codePage(): number;
  /** How many characters stand behind a Unicode one for readers that do not know it. */
  fallbackLength(): number;
}

const WORD = /[a-zA-Z]{1,40}/y;
const NUMBER = /-?\d{1,10}/y;

/** Walks through Rich Text once, however deep its groups are. `rtf` holds one byte per character. */
function scanRtf(rtf: string, visitor: RtfVisitor): void {
  new RtfScanner(rtf, visitor).scan();
}

class RtfScanner {
  readonly #rtf: string;
  readonly #visitor: RtfVisitor;
  #at = 0;
  #toSkip = 0;
  /** Bytes of one text, kept together because two of them may be one character. */
  #bytes: number[] = [];

  constructor(rtf: string, visitor: RtfVisitor) {
    this.#rtf = rtf;
    this.#visitor = visitor;
  }

  scan(): void {
    while (this.#at < this.#rtf.length) {
      const character = this.#rtf[this.#at] ?? "";
      if (character === "\\") this.#escape();
      else if (character === "{" || character === "}") this.#brace(character);
      else if (character === "\r" || character === "\n") this.#at += 1;
      else this.#plain();
    }
    this.#flush();
  }

  #brace(character: string): void {
    this.#flush();
    this.#toSkip = 0;
    this.#at += 1;
    if (character === "{") this.#visitor.openGroup();
    else this.#visitor.closeGroup();
  }

  /** Bytes beyond ASCII may stand unescaped, and the second byte of a character may look like a letter. */
  #plain(): void {
    const code = this.#rtf.charCodeAt(this.#at);
    this.#at += 1;
    if (this.#toSkip > 0) this.#toSkip -= 1;
    else this.#bytes.push(code);
  }

  #escape(): void {
    const next = this.#rtf[this.#at + 1] ?? "";
    WORD.lastIndex = this.#at + 1;
    const word = WORD.exec(this.#rtf)?.[0];
    if (word !== undefined) this.#word(word);
    else if (next === "'") this.#hexByte();
    else this.#symbol(next);
  }

  #symbol(symbol: string): void {
    this.#at += 2;
    if (symbol === "\\" || symbol === "{" || symbol === "}") {
      this.#literal(symbol);
      return;
    }
    this.#flush();
    if (symbol === "~") this.#visitor.text("\u00a0");
    else if (symbol === "_") this.#visitor.text("\u2011");
    else if (symbol === "\n" || symbol === "\r") this.#visitor.control("par", undefined);
    else if (symbol === "*") this.#visitor.control("*", undefined);
  }

  #literal(character: string): void {
    if (this.#toSkip > 0) this.#toSkip -= 1;
    else this.#bytes.push(character.charCodeAt(0));
  }

  #hexByte(): void {
    const byte = Number.parseInt(this.#rtf.slice(this.#at + 2, this.#at + 4), 16);
    this.#at += 4;
    if (this.#toSkip > 0) this.#toSkip -= 1;
    else if (Number.isFinite(byte)) this.#bytes.push(byte);
  }

  #word(word: string): void {
    this.#at += 1 + word.length;
    NUMBER.lastIndex = this.#at;
    const digits = NUMBER.exec(this.#rtf)?.[0];
    this.#at += digits?.length ?? 0;
    if (this.#rtf[this.#at] === " ") this.#at += 1;
    const parameter = digits === undefined ? undefined : Number(digits);
    this.#flush();
    if (word === "u" && parameter !== undefined) {
      this.#visitor.text(String.fromCharCode(parameter & 0xffff));
      this.#toSkip = this.#visitor.fallbackLength();
    } else if (word === "bin") {
      this.#at += Math.max(0, parameter ?? 0);
    } else {
      this.#toSkip = 0;
      this.#visitor.control(word, parameter);
    }
  }

  #flush(): void {
    if (this.#bytes.length === 0) return;
    const bytes = this.#bytes;
    this.#bytes = [];
    this.#visitor.text(decodeCodePage(bytes, this.#visitor.codePage()));
  }
}

/** Decoders by the number of a Windows code page. */
const DECODERS: Readonly<Record<number, string>> = {
  437: "windows-1252",
  850: "windows-1252",
  866: "ibm866",
  874: "windows-874",
  932: "shift_jis",
  936: "gbk",
  949: "euc-kr",
  950: "big5",
  10000: "macintosh",
  20866: "koi8-r",
  65001: "utf-8",
};

/** Code pages by the character set of a font. */
const OF_CHARSET: Readonly<Record<number, number>> = {
  77: 10000,
  128: 932,
  129: 949,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
};

function codePageOfCharset(charset: number): number | undefined {
  return OF_CHARSET[charset];
}

export function encodingOfCodePage(codePage: number): string {
  const isWindows = codePage >= 1250 && codePage <= 1258;
  return isWindows ? `windows-${codePage}` : (DECODERS[codePage] ?? "windows-1252");
}

function decodeCodePage(bytes: Iterable<number>, codePage: number): string {
  return new TextDecoder(encodingOfCodePage(codePage)).decode(Uint8Array.from(bytes));
}
