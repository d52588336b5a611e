const COMMA = 44;
const QUOTE = 34;
const LF = 10;
const CR = 13;

/** One scanner for a whole table: what it found of the last record is in its fields, so that a row costs no object. */
export class RecordScanner {
  readonly #bytes: Buffer;
  readonly #keyField: number;
  /** Where the next record begins. */
  next = 0;
  /** Behind the last byte of the record, without its line end. */
  end = 0;
  fields = 0;
  quoted = false;
  keyStart = 0;
  keyEnd = 0;
  /** false: the file ends inside a quoted field or without a line end. */
  closed = true;

  constructor(bytes: Buffer, keyField: number) {
    this.#bytes = bytes;
    this.#keyField = keyField;
  }

  scan(): void {
    const bytes = this.#bytes;
    const keyField = this.#keyField;
    let fields = 1;
    let quoted = false;
    let inQuotes = false;
    let keyEnd = -1;
    this.keyStart = this.next;
    let at = this.next;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        quoted = true;
        inQuotes = !inQuotes;
      } else if (inQuotes) {
        // Commas and line ends inside quotes belong to the field.
      } else if (byte === COMMA) {
        if (fields === keyField) this.keyStart = at + 1;
        else if (fields === keyField + 1) keyEnd = at;
        fields += 1;
      } else if (byte === LF) {
        break;
      }
    }
    this.closed = at < bytes.length;
    this.end = this.closed && bytes[at - 1] === CR ? at - 1 : at;
    this.keyEnd = keyEnd < 0 ? this.end : keyEnd;
    this.next = at + 1;
    this.fields = fields;
    this.quoted = quoted;
  }
}
