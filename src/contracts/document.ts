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

/** Thrown when the reader timed out, ran out of memory or crashed: caused by the file or by the machine. */
export class ReaderError extends ExtractError {
  constructor(message: string, options?: ErrorOptions) {
    super("invalid_file", message, options);
  }
}

/** Thrown when a file does not have the expected hash: it changed while it was read, or before. */
export class AlteredError extends Error {
  constructor(path: string) {
    super(`read ${path}: it was changed since it came here`);
  }
}

/**
 * Whether a failure reason means that there is nothing to index, which is no error. Matches the text, because map files
 * and remote services have nothing else.
 */
export function isEmptyReason(reason: string): boolean {
  return saysNoText(reason) || /\bempty_file\b|\bfile is empty\b/i.test(reason);
}

/** Whether a reader found no text: another reader may find some. */
export function saysNoText(reason: string): boolean {
  return /^The (?:file|PDF|presentation) (?:contains|has) no text\b/.test(reason);
}

export interface Extractor {
  /** Changes whenever the same bytes would give other text; part of the key under which embeddings are reused. */
  readonly revision: string;
  /** Extensions without dot, lower-case. */
  readonly types: ReadonlySet<string>;
  /**
   * Throws ExtractError when the bytes cannot be read as what the name says, but AlteredError whenever they do not have the hash `sha256`: another
   * run may replace a file at any moment, and a half-written one says nothing about its content. Without a hash, it reads what is there.
   */
  extract(path: string, fileType: string, signal: AbortSignal, sha256?: string): Promise<ExtractedDocument>;
}

/** Extracts text from bytes that are not in a file. */
export interface TextReader {
  /** As Extractor.revision. */
  readonly revision: string;
  /** Returns undefined if no text can be read; the embed step reports why. Throws only when the signal aborts. */
  read(bytes: Uint8Array, fileType: string, signal: AbortSignal): Promise<ExtractedDocument | undefined>;
}
