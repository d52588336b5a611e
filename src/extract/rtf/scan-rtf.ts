import { decodeCodePage } from "./code-pages.ts";

export interface RtfVisitor {
  openGroup(): void;
  closeGroup(): void;
  /** A control word with its number, if it has one; `*` marks a group that readers may leave out. */
  control(word: string, parameter: number | undefined): void;
  text(text: string): void;
  /** Of the font in use: what bytes beyond ASCII mean. */
  codePage(): number;
  /** How many characters stand behind a Unicode one for readers that do not know it. */
  fallbackLength(): number;
}

const WORD = /[a-zA-Z]{1,40}/y;
const NUMBER = /-?\d{1,10}/y;

/** Walks through Rich Text once, however deep its groups are. `rtf` holds one byte per character. */
export function scanRtf(rtf: string, visitor: RtfVisitor): void {
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
