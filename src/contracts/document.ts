/** Bytes turned into text. Name and path are deliberately not part of it: a rename must not change what is embedded. */
export interface ExtractedDocument {
  /** From the document itself (first heading, metadata), "" when it has none. */
  readonly title: string;
  /** Markdown. Headings give the sections; a line `<!-- page 3 -->` says that page 3 begins. */
  readonly markdown: string;
  /** ISO 639-1, "" when the text is too short to tell. */
  readonly language: string;
}

/** One heading and the text below it, up to the next heading. The root has level 0 and no heading. */
export interface Section {
  readonly heading: string;
  readonly level: number;
  readonly content: string;
  readonly children: readonly Section[];
}

/** Thrown for a file that will fail again unless it changes: unsupported, broken, protected. */
export class ExtractError extends Error {
  override readonly name: string = "ExtractError";
  readonly code: "unsupported_file" | "invalid_file";
  constructor(code: "unsupported_file" | "invalid_file", message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Thrown when the reader ran out of time or memory, or died: that may be the file's doing, and may be the machine's. */
export class ReaderError extends ExtractError {
  constructor(message: string, options?: ErrorOptions) {
    super("invalid_file", message, options);
  }
}

/**
 * Whether the reason of a failure says that there is nothing to index: that is no fault of anybody. Goes by the words, because
 * map files and remote services hold nothing else.
 */
export function isEmptyReason(reason: string): boolean {
  return saysNoText(reason) || /\bempty_file\b|\bfile is empty\b/i.test(reason);
}

/** Likewise, whether that is what a reader made of it: another one may find some. */
export function saysNoText(reason: string): boolean {
  return /^The (?:file|PDF|presentation) (?:contains|has) no text\b/.test(reason);
}

export interface Extractor {
  /** Changes whenever the same bytes would give other text; part of the key under which embeddings are reused. */
  readonly revision: string;
  /** Extensions without dot, lower-case. */
  readonly types: ReadonlySet<string>;
  /** Throws ExtractError when the bytes cannot be read as what the name says. */
  extract(path: string, fileType: string, signal: AbortSignal): Promise<ExtractedDocument>;
}

/** Reads what is no file yet. */
export interface TextReader {
  /** As Extractor.revision. */
  readonly revision: string;
  /** undefined when there is no text that can be read: whoever indexes it says why. Throws only when the signal aborts. */
  read(bytes: Uint8Array, fileType: string, signal: AbortSignal): Promise<ExtractedDocument | undefined>;
}
