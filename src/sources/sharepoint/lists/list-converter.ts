import { createWriteStream } from "node:fs";
import { rename } from "node:fs/promises";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Converted, Converter, OriginalItem } from "../../../contracts/converter.ts";
import { explain } from "../../../contracts/errors.ts";
import { throwIfCancelled } from "../http.ts";
import { cleanLines, oneLine, splitCurrencyTitle } from "./list-columns.ts";
import {
  encodeTableRow,
  ID_AT,
  listTitleOf,
  MIN_COLUMNS,
  OWN_FROM,
  readTableFile,
  rowId,
  TAIL,
  TITLE_AT,
  UTC_MARK,
} from "./list-export.ts";

/** Converts each row of a list's export to a Markdown document. */
export function createListConverter(): Converter {
  return {
    documentPath: (item) => item.name,
    originalPath(item, _document, originals) {
      if (item.itemId.includes("/")) return undefined;
      const tables = [...originals].filter((path) => path.endsWith(".csv"));
      return tables.length === 1 ? tables[0] : undefined;
    },
    convert: convertRows,
    leaveOut: rewriteWithout,
  };
}

async function rewriteWithout(original: string, items: readonly OriginalItem[]): Promise<void> {
  const gone = new Set(items.map(({ listItemId }) => listItemId));
  const rest = `${original}.rest`;
  const lines = async function* (): AsyncGenerator<string> {
    for await (const rows of readRows(original, new AbortController().signal)) {
      for (const cells of rows) if (!gone.has(rowId(cells) ?? -1)) yield encodeTableRow(cells);
    }
  };
  await pipeline(lines, createWriteStream(rest, { flush: true }));
  await rename(rest, original);
}

/** Reads the export once for all requested rows. */
async function* convertRows(
  original: string,
  items: readonly OriginalItem[],
  signal: AbortSignal,
): AsyncGenerator<Converted, void> {
  const list = listTitleOf(basename(original));
  const wanted = Map.groupBy(items, (item) => item.listItemId);
  let titles: readonly string[] | undefined;
  for await (const rows of readRows(original, signal)) {
    for (const cells of rows) {
      if (titles === undefined) {
        titles = checkHeader(cells, original);
        continue;
      }
      const id = rowId(cells);
      const found = id === undefined ? undefined : wanted.get(id);
      if (id === undefined || !found) continue;
      wanted.delete(id);
      for (const { itemId } of found) yield { itemId, ...convertRow(list, titles, cells) };
    }
  }
  if (titles === undefined) throw new Error(`read the export '${basename(original)}': it is empty`);
  for (const { itemId } of [...wanted.values()].flat()) {
    yield { itemId, problem: `the export '${basename(original)}' has no row of this item` };
  }
}

async function* readRows(original: string, signal: AbortSignal): AsyncGenerator<string[][], void> {
  try {
    yield* readTableFile(original, signal);
  } catch (error) {
    throwIfCancelled(signal);
    throw new Error(`read the export '${basename(original)}': ${explain(error)}`, { cause: error });
  }
}

function checkHeader(titles: readonly string[], original: string): readonly string[] {
  if (titles.length >= MIN_COLUMNS) return titles;
  throw new Error(`read the export '${basename(original)}': its first line is not the header of a list`);
}

function convertRow(
  list: string,
  titles: readonly string[],
  cells: readonly string[],
): { readonly document: Uint8Array } | { readonly problem: string } {
  if (cells.length !== titles.length) {
    return { problem: `the row has ${cells.length} values for ${titles.length} columns` };
  }
  return { document: Buffer.from(rowMarkdown(list, titles, cells)) };
}

/** Longer headings would count as text, and a heading is repeated with every passage below it. */
const MAX_HEADING_PART = 200;

/**
 * Returns a row as Markdown: a heading, and a bullet per non-empty value. Values are escaped, so that they never start a
 * heading, bullet or code block.
 */
export function rowMarkdown(list: string, titles: readonly string[], cells: readonly string[]): string {
  const title = oneLine(cells[TITLE_AT] ?? "") || `Item ${cells[ID_AT] ?? ""}`;
  const lines = [heading(list, title), ""];
  for (const at of shownColumns(titles.length)) {
    const bullet = toBullet(titles[at] ?? "", cells[at] ?? "");
    if (bullet) lines.push(bullet);
  }
  return `${lines.join("\n").trimEnd()}\n`;
}

/** Returns all columns but ID, Created and Modified: the times change with every edit and say nothing about the content. */
function shownColumns(count: number): number[] {
  const own = Array.from({ length: count - TAIL - OWN_FROM }, (_, at) => OWN_FROM + at);
  return [TITLE_AT, ...own, count - 2, count - 1];
}

function heading(list: string, title: string): string {
  const text = `"${shorten(oneLine(list))}" - ${shorten(title)}`;
  // In `Title #`, Markdown would drop the trailing `#`.
  return `### ${text.replace(/(?<=\s)#+$/, "\\$&")}`;
}

function shorten(text: string): string {
  const letters = Array.from(text);
  return letters.length > MAX_HEADING_PART ? `${letters.slice(0, MAX_HEADING_PART).join("")}…` : text;
}

function toBullet(title: string, cell: string): string {
  const [first, ...more] = cleanLines(cell);
  if (first === undefined) return "";
  const lines = [toFirstLine(title, first), ...more.map((line) => `  ${asText(line)}`)];
  return lines.join("\n");
}

const INSTANT = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;

/** Moves the unit from the title to the value. */
function toFirstLine(title: string, value: string): string {
  const bullet = (label: string, text: string): string => `- ${asText(oneLine(label))}: ${text}`;
  if (title.endsWith(` ${UTC_MARK}`) && INSTANT.test(value)) {
    return bullet(title.slice(0, -UTC_MARK.length).trimEnd(), `${value} UTC`);
  }
  const { label, sign } = splitCurrencyTitle(title);
  return bullet(label, sign && Number.isFinite(Number(value)) ? `${sign} ${value}` : value);
}

const OPENS_A_BLOCK = /^(?:#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|`{3}|~{3}|\||<|[-=:*_]{2,}|[-:][-:| ]*$)/;

/** Escapes the beginning of a line so that it cannot open a block. */
function asText(line: string): string {
  if (OPENS_A_BLOCK.test(line)) return `\\${line}`;
  return line.replace(/^(\d{1,9})(?=[.)](?:\s|$))/, "$1\\");
}
