import type { HtmlElement, HtmlNode } from "../../lib/html/html-tree.ts";
import { isNoise } from "../../lib/html/is-noise.ts";
import { inlineMarkdown } from "./inline-markdown.ts";

const MAX_COLUMNS = 100;
/** A longer cell is not repeated in the rows it spans: its text would be multiplied. */
const MAX_REPEATED_LENGTH = 200;
/** Of one table. A hundred short cells that span a thousand rows would make a book. */
const MAX_REPEATED_TOTAL = 200_000;

interface Row {
  readonly element: HtmlElement;
  readonly isHeader: boolean;
}

/**
 * A GFM table, or undefined when the table only arranges the page (tables or headings inside, a single column).
 * Cells that span rows are repeated in each, so that every row can be read alone; the first row becomes the
 * header when none is marked, because GFM has no tables without one.
 */
export function tableMarkdown(table: HtmlElement): string | undefined {
  const role = table.attributes.get("role");
  if (role === "presentation" || role === "none" || arrangesPage(table)) return undefined;
  const rows = rowsOf(table);
  const grid = toGrid(rows);
  const columns = grid.reduce((most, row) => Math.max(most, row.length), 0);
  if (columns < 2) return undefined;
  const lines = withHeader(grid, rows).map((row) => toLine(row, columns));
  lines.splice(1, 0, `|${" --- |".repeat(columns)}`);
  const caption = table.children.find((child) => typeof child !== "string" && child.tag === "caption");
  const title = typeof caption === "object" ? inlineMarkdown(caption.children).replaceAll("\n", " ") : "";
  return title ? `${title}\n\n${lines.join("\n")}` : lines.join("\n");
}

function arrangesPage(element: HtmlElement): boolean {
  return element.children.some(
    (child) => typeof child !== "string" && (/^(?:table|h[1-6]|pre)$/.test(child.tag) || arrangesPage(child)),
  );
}

function rowsOf(table: HtmlElement): Row[] {
  const rows: Row[] = [];
  const collect = (element: HtmlElement, inHead: boolean): void => {
    for (const child of element.children) {
      if (typeof child === "string" || isNoise(child) || child.tag === "caption") continue;
      if (child.tag === "tr") rows.push({ element: child, isHeader: inHead || cellsOf(child).every(isHeaderCell) });
      else collect(child, inHead || child.tag === "thead");
    }
  };
  collect(table, false);
  return rows;
}

function cellsOf(row: HtmlElement): HtmlElement[] {
  return row.children.filter((child): child is HtmlElement => typeof child !== "string" && /^t[dh]$/.test(child.tag));
}

function isHeaderCell(cell: HtmlElement): boolean {
  return cell.tag === "th";
}

function toGrid(rows: readonly Row[]): string[][] {
  const grid: string[][] = [];
  /** Per column: a cell from above and how many more rows it spans. */
  const spanning = new Map<number, { text: string; rows: number }>();
  let repeatedLeft = MAX_REPEATED_TOTAL;
  for (const { element } of rows) {
    const line: string[] = [];
    const fillSpanned = (): void => {
      for (let above = spanning.get(line.length); above; above = spanning.get(line.length)) {
        if (line.length >= MAX_COLUMNS) return;
        if (above.rows === 1) spanning.delete(line.length);
        else spanning.set(line.length, { ...above, rows: above.rows - 1 });
        repeatedLeft -= above.text.length;
        line.push(repeatedLeft > 0 ? above.text : "");
      }
    };
    for (const cell of cellsOf(element)) {
      fillSpanned();
      const text = cellText(cell.children);
      const width = Math.min(spanOf(cell, "colspan"), MAX_COLUMNS - line.length);
      const height = spanOf(cell, "rowspan");
      const repeated = text.length <= MAX_REPEATED_LENGTH ? text : "";
      if (height > 1) spanning.set(line.length, { text: repeated, rows: height - 1 });
      // Beyond the last column the text joins the cell before it: a table that wide is no reason to lose words.
      if (line.length >= MAX_COLUMNS) line.push(`${line.pop() ?? ""} ${text}`);
      else line.push(text, ...Array.from({ length: Math.max(0, width - 1) }, () => ""));
    }
    fillSpanned();
    if (line.some(Boolean)) grid.push(line);
  }
  return grid;
}

function spanOf(cell: HtmlElement, name: "colspan" | "rowspan"): number {
  const span = Number.parseInt(cell.attributes.get(name) ?? "1", 10);
  return span >= 1 ? Math.min(span, 1000) : 1;
}

/** Several header rows become one, each column with the words of all of them. */
function withHeader(grid: readonly string[][], rows: readonly Row[]): string[][] {
  let headers = rows.findIndex((row) => !row.isHeader);
  if (headers === -1) headers = 1;
  const head = grid.slice(0, Math.max(1, Math.min(headers, 5)));
  const columns = Math.max(...head.map((row) => row.length));
  const merged = Array.from({ length: columns }, (_, column) => {
    const texts = head.map((row) => row[column] ?? "").filter(Boolean);
    return [...new Set(texts)].join(" ");
  });
  return [merged, ...grid.slice(head.length)];
}

function cellText(nodes: readonly HtmlNode[]): string {
  return inlineMarkdown(nodes).replaceAll("\n", " ").replaceAll(/\\?\|/g, "\\|");
}

function toLine(row: readonly string[], columns: number): string {
  return `| ${row.join(" | ")}${" | ".repeat(columns - row.length)} |`;
}
