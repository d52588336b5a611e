import type { TableBytes } from "./table-bytes.ts";

const LINE_END = "\r\n";
/** Rows that were changed are gathered into pieces of this size: each piece is a write of its own. */
const PIECE = 65_536;

/** A file that is made of parts of another one, and of new lines between them. The parts are read when the file is written. */
export class TablePieces {
  readonly #bytes: TableBytes;
  readonly #pieces: (Buffer | { readonly start: number; readonly end: number })[] = [];
  #text = "";
  #start = 0;
  #end = 0;

  constructor(bytes: TableBytes) {
    this.#bytes = bytes;
  }

  /** A line of the old file, without its line end. Lines that follow one another there go together. */
  addRow(start: number, end: number): void {
    this.#flushText();
    if (this.#end !== start) {
      this.#flushRows();
      this.#start = start;
    }
    this.#end = end + LINE_END.length;
  }

  addText(line: string): void {
    this.#flushRows();
    this.#text += line + LINE_END;
    if (this.#text.length >= PIECE) this.#flushText();
  }

  /** To be asked once. */
  all(): Iterable<Buffer> {
    this.#flushRows();
    this.#flushText();
    return this.#read();
  }

  *#read(): Generator<Buffer> {
    for (const piece of this.#pieces) {
      if ("start" in piece) yield* this.#bytes.pieces(piece.start, piece.end);
      else yield piece;
    }
  }

  #flushRows(): void {
    if (this.#end > this.#start) this.#pieces.push({ start: this.#start, end: this.#end });
    this.#start = this.#end = 0;
  }

  #flushText(): void {
    if (this.#text !== "") this.#pieces.push(Buffer.from(this.#text));
    this.#text = "";
  }
}
