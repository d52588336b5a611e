import { BadInputError } from "../contracts/errors.ts";

/** RFC 4180 records: minimal quoting, CRLF. Written and read by us, and by whatever else people open map files with. */

const NEEDS_QUOTES = /[",\r\n]/;

export function encodeCsvRow(fields: readonly string[]): string {
  let line = "";
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] ?? "";
    if (i > 0) line += ",";
    line += NEEDS_QUOTES.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
  }
  return line;
}

/** Decodes one record without its line end. A stray quote is kept as it is; the caller checks the number of fields. */
export function decodeCsvRow(record: string): string[] {
  if (!record.includes('"')) return record.split(",");
  const fields: string[] = [];
  let at = 0;
  while (at <= record.length) {
    if (record[at] === '"') {
      const [field, next] = readQuoted(record, at + 1);
      fields.push(field);
      at = next + 1;
    } else {
      const comma = record.indexOf(",", at);
      const end = comma < 0 ? record.length : comma;
      fields.push(record.slice(at, end));
      at = end + 1;
    }
  }
  return fields;
}

/** Reads from behind the opening quote; returns the field and the position of the comma (or end) behind it. */
function readQuoted(record: string, start: number): [string, number] {
  let field = "";
  let at = start;
  for (;;) {
    const quote = record.indexOf('"', at);
    if (quote < 0) return [field + record.slice(at), record.length];
    field += record.slice(at, quote);
    if (record[quote + 1] !== '"') {
      const comma = record.indexOf(",", quote + 1);
      const end = comma < 0 ? record.length : comma;
      return [field + record.slice(quote + 1, end), end];
    }
    field += '"';
    at = quote + 2;
  }
}

/** An unclosed quote would make all the rest one row. */
const MAX_RECORD_CHARS = 1024 * 1024;

/** Yields the records of a CSV file in pages, without holding the whole file in memory. */
export async function* readCsvPages(content: AsyncIterable<Uint8Array>): AsyncGenerator<string[][], void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of content) {
    const { rows, end } = splitRows(rest + decoder.decode(chunk, { stream: true }));
    rest = end;
    if (rest.length > MAX_RECORD_CHARS)
      throw new BadInputError("It is no table: a row has more than a million characters.");
    if (rows.length > 0) yield rows;
  }
  rest += decoder.decode();
  if (rest !== "") yield [decodeCsvRow(rest)];
}

/** A line end inside quotes belongs to its field. `end` is the incomplete record. */
function splitRows(text: string): { readonly rows: string[][]; readonly end: string } {
  const rows: string[][] = [];
  let [start, from, quoted] = [0, 0, false];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
    if (hasOddQuotes(text, from, at)) quoted = !quoted;
    from = at + 1;
    if (quoted) continue;
    rows.push(decodeCsvRow(text.slice(start, text[at - 1] === "\r" ? at - 1 : at)));
    start = from;
  }
  return { rows, end: text.slice(start) };
}

function hasOddQuotes(text: string, from: number, to: number): boolean {
  let odd = false;
  for (let at = text.indexOf('"', from); at >= 0 && at < to; at = text.indexOf('"', at + 1)) odd = !odd;
  return odd;
}

/** What spreadsheets take for the start of a formula, in the full-width forms of East Asian keyboards, too. */
const FORMULA_START = /^[=+\-@＝＋－＠\t\r\n]/;
/** Blanks, quotes and invisible characters that some spreadsheets drop before they look for a formula. */
const IGNORED_START = /^[\s"'\u200b-\u200f\u2028-\u202f\u2060\ufeff]+/;
/**
 * Where a spreadsheet splits cells at semicolons or tabs, what follows is the start of one; so is a line, because quotes do not count then.
 */
const INNER_FORMULA = /(?=[=+\-@＝＋－＠])(?<=[;\t\r\n][\s"'\u200b-\u200f\u2028-\u202f\u2060\ufeff]*)/g;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/**
 * Encodes a record for a spreadsheet: a cell that would be a formula gets an apostrophe in front and is shown as text. Not for map files,
 * which are read back as written.
 */
export function encodeSpreadsheetRow(cells: readonly string[]): string {
  return encodeCsvRow(cells.map(defuse));
}

function defuse(cell: string): string {
  if (NUMBER.test(cell)) return cell;
  const inside = cell.replaceAll(INNER_FORMULA, "'");
  return FORMULA_START.test(cell) || FORMULA_START.test(cell.replace(IGNORED_START, "")) ? `'${inside}` : inside;
}
