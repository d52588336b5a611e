import { formatNumber } from "./format-number.ts";
import { attribute, scanXml } from "./scan-xml.ts";

export interface Workbook {
  readonly strings: readonly string[];
  readonly formats: readonly string[];
  readonly since1904: boolean;
}

export interface SheetRows {
  /** As they stand below each other; an empty row is an empty list. Cells that hold nothing are "". */
  readonly rows: readonly string[][];
  /** Rows with content that were left out. */
  readonly leftOut: number;
}

export const MAX_COLUMNS = 256;
const MAX_MERGES = 20_000;

/** Cells as they are shown. A cell that spans rows is repeated in each, so that every row can be read alone. */
export function readSheetRows(xml: string, workbook: Workbook, maxRows: number): SheetRows {
  const reader = new SheetReader(workbook, maxRows);
  scanXml(xml, reader);
  return { rows: reader.rows, leftOut: reader.leftOut };
}

class SheetReader {
  readonly rows: string[][] = [];
  leftOut = 0;
  readonly #workbook: Workbook;
  readonly #maxRows: number;
  /** Where a row of the sheet is in `rows`. */
  readonly #places = new Map<number, number>();
  #rowNumber = 0;
  #row: string[] = [];
  #column = 0;
  #type = "";
  #style = 0;
  #value = "";
  #inValue = false;
  /** How a Japanese text is pronounced, not what it says. */
  #inReading = false;
  #merges = 0;

  constructor(workbook: Workbook, maxRows: number) {
    this.#workbook = workbook;
    this.#maxRows = maxRows;
  }

  open(name: string, attributes: string): void {
    if (name === "c") this.#openCell(attributes);
    else if (name === "v" || name === "t") this.#inValue = !this.#inReading;
    else if (name === "rPh") this.#inReading = true;
    else if (name === "row") this.#openRow(Number(attribute(attributes, "r")) || this.#rowNumber + 1);
    else if (name === "mergeCell") this.#repeatDown(attribute(attributes, "ref"));
  }

  close(name: string): void {
    if (name === "v" || name === "t") this.#inValue = false;
    else if (name === "rPh") this.#inReading = false;
    else if (name === "c") this.#closeCell();
    else if (name === "row") this.#closeRow();
  }

  text(text: string): void {
    if (this.#inValue) this.#value += text;
  }

  /** Rows may be far apart; more than one empty row says nothing more. */
  #openRow(number: number): void {
    if (number > this.#rowNumber + 1 && this.rows.length > 0) this.rows.push([]);
    this.#rowNumber = number;
    this.#row = [];
    this.#column = -1;
  }

  #openCell(attributes: string): void {
    const place = attribute(attributes, "r");
    this.#column = place ? columnOf(place) : this.#column + 1;
    this.#type = attribute(attributes, "t");
    this.#style = Number(attribute(attributes, "s")) || 0;
    this.#value = "";
  }

  #closeCell(): void {
    if (this.#column < 0 || this.#column >= MAX_COLUMNS) return;
    const isLeftOut = this.rows.length >= this.#maxRows;
    const text = isLeftOut ? this.#value : this.#cellText().trim();
    if (!text) return;
    while (this.#row.length < this.#column) this.#row.push("");
    this.#row[this.#column] = text;
  }

  #cellText(): string {
    const { strings, formats, since1904 } = this.#workbook;
    if (this.#type === "s") return strings[Number(this.#value)] ?? "";
    if (this.#type === "b") return this.#value === "1" ? "TRUE" : "FALSE";
    if (this.#type !== "" && this.#type !== "n") return this.#value;
    const number = Number(this.#value);
    if (this.#value === "" || !Number.isFinite(number)) return this.#value;
    return formatNumber(number, formats[this.#style] ?? "General", since1904);
  }

  #closeRow(): void {
    if (this.rows.length >= this.#maxRows) {
      this.leftOut += this.#row.length > 0 ? 1 : 0;
      return;
    }
    this.#places.set(this.#rowNumber, this.rows.length);
    this.rows.push(this.#row);
  }

  #repeatDown(range: string): void {
    this.#merges += 1;
    const [from = "", to = ""] = range.split(":");
    const [first, last] = [rowOf(from), rowOf(to)];
    const column = columnOf(from);
    const text = this.rows[this.#places.get(first) ?? -1]?.[column];
    if (!text || this.#merges > MAX_MERGES || column >= MAX_COLUMNS || last - first > this.#maxRows) return;
    for (let number = first + 1; number <= last; number += 1) {
      const row = this.rows[this.#places.get(number) ?? -1];
      if (!row || row.length === 0) continue;
      while (row.length < column) row.push("");
      row[column] ||= text;
    }
  }
}

/** From the letters of "AB12", counted from 0; -1 for none. */
function columnOf(place: string): number {
  let column = 0;
  for (const letter of /^[A-Z]{1,3}/.exec(place)?.[0] ?? "") column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

function rowOf(place: string): number {
  return Number(/\d{1,7}$/.exec(place)?.[0] ?? -1);
}
