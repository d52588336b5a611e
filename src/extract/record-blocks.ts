import { escapeLine } from "./markdown.ts";

/** How far down a header may stand, below titles and remarks. */
const HEADER_WITHIN = 6;
const MAX_NAME_LENGTH = 100;

type Row = readonly string[];

/**
 * Rows of a sheet as Markdown, a list item per row: `- Name: Anna; City: Köln`. Names go with every value because a passage
 * is read alone, far from the head of its table; empty cells are left out. Empty rows divide tables.
 */
export function recordBlocks(rows: readonly Row[]): string[] {
  const blocks: string[] = [];
  let header: Row | undefined;
  for (const table of splitTables(rows)) {
    const at = headerIndex(table, header);
    if (at !== undefined) header = table[at];
    const titles = table.slice(0, at ?? 0);
    for (const title of titles) blocks.push(escapeLine(title.filter(Boolean).join(" ")));
    const records = at === undefined ? table : table.slice(at + 1);
    const lines = recordLines(records, header && covers(header, records) ? header : []);
    if (lines.length > 0) blocks.push(lines.join("\n"));
    else if (at !== undefined) blocks.push(`- ${(header ?? []).filter(Boolean).join("; ")}`);
  }
  return blocks;
}

/** The rows below a header, or rows without one. */
export function recordLines(rows: readonly Row[], header: Row): string[] {
  const names = header.map((name) => tidy(name).slice(0, MAX_NAME_LENGTH).replace(/:$/, ""));
  const lines: string[] = [];
  for (const row of rows) {
    const cells: string[] = [];
    for (const [column, value] of row.entries()) {
      const text = value && tidy(value);
      if (text) cells.push(names[column] ? `${names[column]}: ${text}` : text);
    }
    if (cells.length > 0) lines.push(`- ${cells.join("; ")}`);
  }
  return lines;
}

/** A row of names: several different texts, none of them a number. */
export function isHeader(row: Row): boolean {
  const names = row.filter(Boolean);
  return names.length > 1 && new Set(names).size === names.length && !names.some(isNumber);
}

export function leftOutNote(rows: number): string {
  return `(${rows} more ${rows === 1 ? "row is" : "rows are"} left out: the table is too long.)`;
}

function splitTables(rows: readonly Row[]): Row[][] {
  const tables: Row[][] = [[]];
  for (const row of rows) {
    if (row.some(Boolean)) tables.at(-1)?.push(row);
    else if (tables.at(-1)?.length) tables.push([]);
  }
  return tables.filter((table) => table.length > 0);
}

/** Below an empty row a table may go on: its first row is a header only if numbers stand below it, or it repeats the last one. */
function headerIndex(table: readonly Row[], last: Row | undefined): number | undefined {
  const at = table.slice(0, HEADER_WITHIN).findIndex((row) => row.filter(Boolean).length > 1);
  const row = table[at];
  if (!row || !isHeader(row) || at === table.length - 1) return undefined;
  if (!last || row.join("\n") === last.join("\n")) return at;
  return table.slice(at + 1).some((record) => record.some(isNumber)) ? at : undefined;
}

function covers(header: Row, records: readonly Row[]): boolean {
  return records.every((record) => record.length <= header.length);
}

function isNumber(text: string): boolean {
  return /^[-+(]?[\p{Sc}\s]*\d[\d.,:\s%/-]*[\p{Sc})]?$/u.test(text);
}

function tidy(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
}
