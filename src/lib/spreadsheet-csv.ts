import { encodeCsvRow } from "./csv.ts";

/** What spreadsheets take for the start of a formula, in the full-width forms of East Asian keyboards, too. */
const FORMULA_START = /^[=+\-@＝＋－＠\t\r\n]/;
/** Blanks, quotes and invisible characters that some spreadsheets drop before they look for a formula. */
const IGNORED_START = /^[\s"'\u200b-\u200f\u2028-\u202f\u2060\ufeff]+/;
/** Where a spreadsheet takes semicolons or tabs for the ends of cells, what follows is the start of one; so is a line, as quotes do not count then. */
const INNER_FORMULA = /(?=[=+\-@＝＋－＠])(?<=[;\t\r\n][\s"'\u200b-\u200f\u2028-\u202f\u2060\ufeff]*)/g;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/**
 * One record for people who open it in a spreadsheet: a cell that would be computed gets an apostrophe in front and is shown as text.
 * Never for map files, which are read back as they were written.
 */
export function encodeSpreadsheetRow(cells: readonly string[]): string {
  return encodeCsvRow(cells.map(defuse));
}

function defuse(cell: string): string {
  if (NUMBER.test(cell)) return cell;
  const inside = cell.replaceAll(INNER_FORMULA, "'");
  return FORMULA_START.test(cell) || FORMULA_START.test(cell.replace(IGNORED_START, "")) ? `'${inside}` : inside;
}
