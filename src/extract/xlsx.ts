import { ExtractError } from "../contracts/document.ts";
import type { ByteSource } from "./byte-source.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { coreTitle, type OfficePackage, readPackage, readRelationships } from "./office-package.ts";
import { leftOutNote, recordBlocks } from "./record-blocks.ts";
import { attribute, scanXml } from "./scan-xml.ts";

interface Sheet {
  readonly name: string;
  readonly part: string;
}

/** One section per sheet, in their order; each row is a line with the names of its columns. Hidden sheets are left out. */
export function extractXlsx(source: ByteSource, { maxUnpackedBytes, maxRows }: ExtractLimits): ReadText {
  const kind = {
    name: "an Excel workbook",
    folders: /^xl\/(?:_rels\/|workbook\.xml$|worksheets\/|sharedStrings\.xml$|styles\.xml$)/i,
    maxBytes: maxUnpackedBytes,
  };
  const file = readPackage(source, kind);
  const { sheets, since1904 } = readSheets(file);
  if (sheets.length === 0) throw new ExtractError("invalid_file", "The workbook has no sheets that are shown.");
  const workbook = {
    strings: readSharedStrings(partOf(file, "sharedStrings")),
    formats: readCellFormats(partOf(file, "styles")),
    since1904,
  };
  const blocks: string[] = [];
  for (const { name, part } of sheets) {
    const { rows, leftOut } = readSheetRows(file.parts.get(part)?.toString("utf8") ?? "", workbook, maxRows);
    const records = recordBlocks(rows);
    if (records.length > 0) blocks.push(`## ${name}`, ...records);
    if (leftOut > 0) blocks.push(leftOutNote(leftOut));
  }
  return { title: coreTitle(file.parts.get("docProps/core.xml")), markdown: blocks.join("\n\n") };
}

function partOf({ parts, main }: OfficePackage, type: string): Buffer | undefined {
  const found = [...readRelationships(parts, main).values()].find((each) => each.type === type);
  return found && parts.get(found.target);
}

function readSheets({ parts, main }: OfficePackage): { sheets: Sheet[]; since1904: boolean } {
  const relationships = readRelationships(parts, main);
  const sheets: Sheet[] = [];
  let since1904 = false;
  scanXml(parts.get(main)?.toString("utf8") ?? "", {
    open(name, attributes) {
      if (name === "workbookPr") since1904 = /^(?:1|true)$/.test(attribute(attributes, "date1904"));
      if (name !== "sheet" || /hidden/i.test(attribute(attributes, "state"))) return;
      const target = relationships.get(attribute(attributes, "r:id"));
      if (target?.type !== "worksheet" || !parts.has(target.target)) return;
      const title = attribute(attributes, "name")
        .replaceAll(/[\s\p{Cc}]+/gu, " ")
        .trim();
      sheets.push({ name: title || `Sheet ${sheets.length + 1}`, part: target.target });
    },
    close: () => undefined,
  });
  return { sheets, since1904 };
}

interface Workbook {
  readonly strings: readonly string[];
  readonly formats: readonly string[];
  readonly since1904: boolean;
}

interface SheetRows {
  /** As they stand below each other; an empty row is an empty list. Cells that hold nothing are "". */
  readonly rows: readonly string[][];
  /** Rows with content that were left out. */
  readonly leftOut: number;
}

const MAX_COLUMNS = 256;
const MAX_MERGES = 20_000;

/** Cells as they are shown. A cell that spans rows is repeated in each, so that every row can be read alone. */
function readSheetRows(xml: string, workbook: Workbook, maxRows: number): SheetRows {
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

/** Texts that cells refer to by number. */
function readSharedStrings(part: Buffer | undefined): string[] {
  const strings: string[] = [];
  let text = "";
  let inText = false;
  let inReading = false;
  scanXml(part?.toString("utf8") ?? "", {
    open(name) {
      if (name === "si") text = "";
      else if (name === "t") inText = true;
      // How a Japanese text is pronounced, not what it says.
      else if (name === "rPh") inReading = true;
    },
    close(name) {
      if (name === "si") strings.push(text);
      else if (name === "t") inText = false;
      else if (name === "rPh") inReading = false;
    },
    text(part) {
      if (inText && !inReading) text += part;
    },
  });
  return strings;
}

/** The code of the number format, by the style of a cell. */
function readCellFormats(styles: Buffer | undefined): string[] {
  const custom = new Map<number, string>();
  const formats: string[] = [];
  let inCells = false;
  scanXml(styles?.toString("utf8") ?? "", {
    open(name, attributes) {
      if (name === "numFmt")
        custom.set(Number(attribute(attributes, "numFmtId")), attribute(attributes, "formatCode").slice(0, 255));
      else if (name === "cellXfs") inCells = true;
      else if (name === "xf" && inCells) {
        const id = Number(attribute(attributes, "numFmtId"));
        formats.push(custom.get(id) ?? builtInFormat(id));
      }
    },
    close(name) {
      if (name === "cellXfs") inCells = false;
    },
  });
  return formats;
}

/** Codes of the numbers that stand for a format in a workbook without being written out there. */
const BUILT_IN: Readonly<Record<number, string>> = {
  0: "General",
  1: "0",
  2: "0.00",
  3: "#,##0",
  4: "#,##0.00",
  9: "0%",
  10: "0.00%",
  11: "0.00E+00",
  18: "h:mm",
  19: "h:mm:ss",
  20: "h:mm",
  21: "h:mm:ss",
  22: "yyyy-mm-dd h:mm",
  37: "#,##0",
  38: "#,##0",
  39: "#,##0.00",
  40: "#,##0.00",
  45: "mm:ss",
  46: "[h]:mm:ss",
  47: "mm:ss",
  48: "0.0E+0",
  49: "@",
};

const DAY_MS = 86_400_000;
/** 31 December 9999: beyond it a number is no date, whatever its format says. */
const LAST_DAY = 2_958_465;
const DAYS_BEFORE_1904 = 1462;

function builtInFormat(id: number): string {
  const isDate = (id >= 14 && id <= 17) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58);
  return isDate ? "yyyy-mm-dd" : (BUILT_IN[id] ?? "General");
}

/**
 * A number as the sheet shows it, as far as that does not depend on the reader's language: decimals, thousands, percent,
 * currency signs and units. Dates and times are written the ISO way, which every reader and every search understands.
 */
export function formatNumber(value: number, code: string, since1904: boolean): string {
  if (code === "General" || code === "@" || code === "") return plain(value);
  const section = chooseSection(code, value);
  const bare = section.replaceAll(/"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, "");
  if (/[ydhs]/i.test(bare) || /^[^0#?]*m[^0#?]*$/i.test(bare)) return formatDate(value, bare, since1904);
  return formatDigits(value, section, bare);
}

/** `positive;negative;zero;text`; a section for negative numbers brings its own sign. */
function chooseSection(code: string, value: number): string {
  const sections = code.split(/;(?=(?:[^"]*"[^"]*")*[^"]*$)/);
  if (value < 0 && sections[1]) return /[-(]/.test(sections[1]) ? sections[1] : `-${sections[1]}`;
  if (value === 0 && sections[2]) return sections[2];
  return value < 0 ? `-${sections[0] ?? ""}` : (sections[0] ?? "");
}

function formatDigits(value: number, section: string, bare: string): string {
  const digits = /[0#?][0#?,.]*/.exec(bare)?.[0];
  if (digits === undefined) return literal(section) || plain(value);
  // Groups with signs between them, as in telephone numbers, say nothing a plain number does not.
  if (/[0#?][^0#?,.]+[0#?]/.test(bare.replace(/E[+-]/i, ""))) return plain(value);
  if (/E[+-]/i.test(bare)) return value.toExponential(decimalsIn(digits));
  const percent = (bare.match(/%/g) ?? []).length;
  const scaled = Math.abs(value) * 100 ** percent * 0.001 ** (/,+$/.exec(digits)?.[0].length ?? 0);
  const optional = (/\.[0?]*(#+)/.exec(digits)?.[1] ?? "").length;
  let text = scaled.toFixed(Math.min(20, decimalsIn(digits)));
  if (optional > 0) text = text.replace(new RegExp(`\\.?0{1,${optional}}$`), "");
  const whole = (/^[#?,]*([0?,]*)/.exec(digits)?.[1] ?? "").replaceAll(",", "").length;
  text = text.replace(/^\d+/, (number) => number.padStart(whole, "0"));
  if (/[0#?],[0#?]/.test(digits)) text = text.replace(/\d+/, (number) => number.replaceAll(/\B(?=(\d{3})+$)/g, ","));
  const [before = "", after = ""] = aroundDigits(section);
  return `${literal(before)}${text}${literal(after)}`.trim();
}

function decimalsIn(digits: string): number {
  return (/\.([0#?]*)/.exec(digits)?.[1] ?? "").length;
}

/** What stands before and behind the digits. Quoted text may hold digits of its own. */
function aroundDigits(section: string): [string, string] {
  const masked = section.replaceAll(/"[^"]*"|\\.|\[[^\]]*\]/g, (text) => "x".repeat(text.length));
  const digits = /[0#?][0#?,. ]*/.exec(masked);
  if (!digits) return [section, ""];
  return [section.slice(0, digits.index), section.slice(digits.index + digits[0].trimEnd().length)];
}

/** Text of a format without its marks: quotes, colours, and widths. `[$€-407]` is the sign of a currency. */
function literal(code: string): string {
  return code
    .replaceAll(/\[\$([^\]-]*)(?:-[^\]]*)?\]/g, "$1")
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/_./g, " ")
    .replaceAll(/\*./g, "")
    .replaceAll(/[\\"?#]/g, "");
}

function formatDate(value: number, bare: string, since1904: boolean): string {
  const days = since1904 ? value + DAYS_BEFORE_1904 : value;
  if (!(days >= 0) || days > LAST_DAY) return plain(value);
  if (/\[h+\]/i.test(bare)) return duration(value, bare);
  const hasTime = /[hs]/i.test(bare);
  const hasDate = /[yd]/i.test(bare) || (!hasTime && /m/i.test(bare));
  // The calendar of the format has a 29 February 1900, which the world had not.
  const moment = new Date(Math.round((days < 60 ? days + 1 : days) * DAY_MS) + Date.UTC(1899, 11, 30));
  const iso = new Date(Math.round(moment.getTime() / 1000) * 1000).toISOString();
  const time = /s/i.test(bare) ? iso.slice(11, 19) : iso.slice(11, 16);
  if (!hasDate) return time;
  const day = /d/i.test(bare) ? iso.slice(0, 10) : iso.slice(0, 7);
  return hasTime ? `${day} ${time}` : day;
}

function duration(value: number, bare: string): string {
  const seconds = Math.round(value * 86_400);
  const two = (number: number): string => String(number).padStart(2, "0");
  const minutes = `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}`;
  return /s/i.test(bare) ? `${minutes}:${two(seconds % 60)}` : minutes;
}

/** As many digits as a cell shows at most: 0.1 + 0.2 is 0.3 there. */
function plain(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(11)));
}
