import { decodeText } from "./decode-text.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { isHeader, leftOutNote, recordLines } from "./record-blocks.ts";

const DELIMITERS = [",", ";", "\t", "|"];
const LINES_TO_JUDGE = 20;

/** Separated values, whatever separates them; the first row names the columns unless it holds numbers. */
export function extractCsv(bytes: Uint8Array, { maxRows }: ExtractLimits): ReadText {
  const text = decodeText(bytes);
  // Excel's own hint, which is no record.
  const hint = /^sep=(.)\n/.exec(text);
  const body = hint ? text.slice(hint[0].length) : text;
  const { rows, leftOut } = readRecords(body, hint?.[1] ?? chooseDelimiter(body), maxRows + 1);
  const [first] = rows;
  const header = first && isHeader(first) && rows.length > 1 ? first : [];
  const lines = recordLines(header === first ? rows.slice(1) : rows, header);
  if (leftOut > 0) lines.push("", leftOutNote(leftOut));
  return { title: "", markdown: lines.join("\n") };
}

/** The one that divides the first lines into the same number of fields, more than one. */
function chooseDelimiter(text: string): string {
  const head = text.slice(0, 64 * 1024);
  let best = { delimiter: ",", score: 0 };
  for (const delimiter of DELIMITERS) {
    const { rows } = readRecords(head, delimiter, LINES_TO_JUDGE);
    const counts = rows.map((row) => row.length);
    const usual = counts.toSorted((a, b) => a - b)[Math.floor(counts.length / 2)] ?? 1;
    const alike = counts.filter((count) => count === usual).length / counts.length;
    const score = usual > 1 ? alike * alike * Math.min(usual, 20) : 0;
    if (score > best.score) best = { delimiter, score };
  }
  return best.delimiter;
}

/** RFC 4180, forgiving: a quote inside a field that is not quoted is a character, a field that never ends ends with the file. */
function readRecords(text: string, delimiter: string, maxRows: number): { rows: string[][]; leftOut: number } {
  const rows: string[][] = [];
  let leftOut = 0;
  let row: string[] = [];
  const endRow = (): void => {
    const isBlank = row.every((field) => field === "");
    if (!isBlank && rows.length < maxRows) rows.push(row);
    else if (!isBlank) leftOut += 1;
    row = [];
  };
  for (let at = 0; at < text.length; ) {
    const [field, end] = text[at] === '"' ? quotedField(text, at + 1, delimiter) : bareField(text, at, delimiter);
    row.push(field);
    if (text[end] !== delimiter) endRow();
    else if (end + 1 >= text.length) row.push("");
    at = end + 1;
  }
  if (row.length > 0) endRow();
  return { rows, leftOut };
}

function bareField(text: string, start: number, delimiter: string): [field: string, end: number] {
  let end = start;
  while (end < text.length && text[end] !== delimiter && text[end] !== "\n") end += 1;
  return [text.slice(start, end).trim(), end];
}

function quotedField(text: string, start: number, delimiter: string): [field: string, end: number] {
  let field = "";
  for (let at = start; ; ) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return [(field + text.slice(at)).trim(), text.length];
    field += text.slice(at, quote);
    if (text[quote + 1] !== '"') {
      const [rest, end] = bareField(text, quote + 1, delimiter);
      return [(field + rest).trim(), end];
    }
    field += '"';
    at = quote + 2;
  }
}
