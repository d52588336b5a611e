import { BadInputError } from "../contracts/errors.ts";
import { decodeCsvRow } from "./csv.ts";

/** A quote that is never closed would make one row of all the rest. */
const MAX_RECORD_CHARS = 1024 * 1024;

/** The records of a CSV file while it is read, a few at a time: however long the file, it is never in memory as a whole. */
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

/** A line end inside quotes belongs to its field. `end` is the record that has not ended yet. */
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
