import { BLOCK_TAGS, type HtmlElement, type HtmlNode, isNoise } from "../lib/html.ts";
import { escapeLine } from "./markdown.ts";
import { fenceCode } from "./plain-text.ts";

const MAX_HEADING_LENGTH = 300;
/** Every level indents all lines below it; deeper lists and quotes go on at this level. */
const MAX_INDENTS = 8;

interface BlockContext {
  /** Lists and quotes around it. Headings there are text: a section cannot begin inside a list. */
  readonly indents: number;
}

/** Recursion is safe: the tree is of bounded depth. */
export function htmlToMarkdown(root: HtmlElement): string {
  return blocksIn(root.children, { indents: 0 }).join("\n\n");
}

/** Blocks of Markdown, without blank lines around them. Runs of inline nodes become paragraphs. */
function blocksIn(nodes: readonly HtmlNode[], context: BlockContext): string[] {
  const blocks: string[] = [];
  let run: HtmlNode[] = [];
  const endRun = (): void => {
    if (run.length === 0) return;
    const text = inlineMarkdown(run);
    if (text) blocks.push(text.split("\n").map(escapeLine).join("\n"));
    run = [];
  };
  for (const node of nodes) {
    if (typeof node === "string" || !(node.hasBlock || BLOCK_TAGS.has(node.tag))) {
      // Most of the text between blocks is indentation.
      if (run.length > 0 || typeof node !== "string" || /\S/.test(node)) run.push(node);
    } else if (!isNoise(node)) {
      endRun();
      for (const block of blockMarkdown(node, context)) blocks.push(block);
    }
  }
  endRun();
  return blocks;
}

function blockMarkdown(element: HtmlElement, context: BlockContext): string[] {
  const { tag, children } = element;
  if (/^h[1-6]$/.test(tag)) return heading(element, context);
  if (tag === "pre") return code(element);
  if (tag === "hr") return context.indents ? [] : ["---"];
  if (tag === "ul" || tag === "ol" || tag === "menu" || tag === "dir") return list(element, context);
  if (tag === "blockquote") return quote(element, context);
  if (tag === "table") {
    const table = tableMarkdown(element);
    if (table !== undefined) return [table];
  }
  return blocksIn(children, context);
}

function heading(element: HtmlElement, context: BlockContext): string[] {
  const text = inlineMarkdown(element.children, "text").replaceAll("\n", " ");
  if (!text) return [];
  if (context.indents > 0 || text.length > MAX_HEADING_LENGTH) return [escapeLine(text)];
  return [`${"#".repeat(Number(element.tag[1]))} ${text}`];
}

function code(element: HtmlElement): string[] {
  const text = textOf(element).replace(/^\n/, "").trimEnd();
  const classes = `${element.attributes.get("class") ?? ""} ${codeClass(element)}`;
  const language = /(?:^|\s)lang(?:uage)?-([\w+#-]{1,30})/.exec(classes.slice(0, 500))?.[1] ?? "";
  return text.trim() ? [fenceCode(text, language)] : [];
}

function codeClass(pre: HtmlElement): string {
  const inner = pre.children.find((child) => typeof child !== "string" && child.tag === "code");
  return typeof inner === "object" ? (inner.attributes.get("class") ?? "") : "";
}

function textOf(node: HtmlNode): string {
  if (typeof node === "string") return node;
  if (node.tag === "br") return "\n";
  return isNoise(node) ? "" : node.children.map(textOf).join("");
}

function quote(element: HtmlElement, context: BlockContext): string[] {
  if (context.indents >= MAX_INDENTS) return blocksIn(element.children, context);
  const text = blocksIn(element.children, { indents: context.indents + 1 }).join("\n\n");
  return text ? [`> ${text.replaceAll("\n", "\n> ")}`] : [];
}

function list(element: HtmlElement, context: BlockContext): string[] {
  if (context.indents >= MAX_INDENTS) return blocksIn(element.children, context);
  const ordered = element.tag === "ol";
  let number = Number.parseInt(element.attributes.get("start") ?? "1", 10);
  if (!(number >= 0 && number < 1e9)) number = 1;
  const items: string[] = [];
  for (const child of element.children) {
    const inner = blocksIn(typeof child !== "string" && child.tag === "li" ? child.children : [child], {
      indents: context.indents + 1,
    });
    if (inner.length === 0) continue;
    const marker = ordered ? `${number}. ` : "- ";
    number += 1;
    items.push(marker + joinItem(inner).replaceAll(/\n(?!\n)/g, `\n${" ".repeat(marker.length)}`));
  }
  return items.length ? [items.join("\n")] : [];
}

/** A list right below the text of its item stays close to it; paragraphs of an item keep their blank line. */
function joinItem(blocks: readonly string[]): string {
  let text = "";
  for (const block of blocks) {
    if (text) text += /^(?:- |\d+\. )/.test(block) ? "\n" : "\n\n";
    text += block;
  }
  return text;
}

const MAX_TARGET_LENGTH = 2000;
/** White space and control characters. */
const BLANKS = /[\s\p{Cc}]+/gu;
const INVISIBLE = /[\u00ad\u200b\ufeff]/g;
const SEVERAL_BLANKS = /[ \t\u00a0]{2,}|[\t\u00a0]/g;

/** Whether links keep their targets, or only their text (in headings and inside other links). */
type LinkStyle = "targets" | "text";

/**
 * Text inside a line. Emphasis is dropped: it splits words (`**Sp**alte`) and tells a search nothing.
 * Links keep their text and target, images their alternative text, `<br>` is a line feed.
 */
function inlineMarkdown(nodes: readonly HtmlNode[], links: LinkStyle = "targets"): string {
  const parts: string[] = [];
  for (const node of nodes) collect(node, links, parts);
  return collapse(parts.join(""));
}

function collect(node: HtmlNode, links: LinkStyle, parts: string[]): void {
  if (typeof node === "string") {
    parts.push(node.replaceAll(BLANKS, " "));
    return;
  }
  if (isNoise(node)) return;
  if (node.tag === "br") parts.push("\n");
  else if (node.tag === "img") parts.push((node.attributes.get("alt") ?? "").replaceAll(/\s+/g, " "));
  else if (node.tag === "a") parts.push(link(node, links));
  else if (isCode(node)) parts.push(codeSpan(inlineMarkdown(node.children, "text")));
  else {
    const apart = BLOCK_TAGS.has(node.tag) ? " " : "";
    parts.push(apart);
    for (const child of node.children) collect(child, links, parts);
    parts.push(apart);
  }
}

/** Only plain text is marked as code; what holds further elements is read through. */
function isCode({ tag, children }: HtmlElement): boolean {
  if (tag !== "code" && tag !== "kbd" && tag !== "samp" && tag !== "tt") return false;
  return children.every((child) => typeof child === "string");
}

function link(element: HtmlElement, links: LinkStyle): string {
  const text = inlineMarkdown(element.children, "text").replaceAll("\n", " ");
  const target = (element.attributes.get("href") ?? "").trim();
  if (text === "↑" && target.startsWith("#")) return "";
  const before = startsInSpace(element) ? " " : "";
  const after = endsInSpace(element) ? " " : "";
  if (!text || text === target || links === "text" || !isTarget(target)) return `${before}${text}${after}`;
  return `${before}[${text.replaceAll(/[[\]]/g, "\\$&")}](${target.replaceAll(/[\s()<>]/g, percentEncode)})${after}`;
}

function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`;
}

/** Places on the same page and scripts lead nowhere from a search result. */
function isTarget(target: string): boolean {
  return target !== "" && target.length <= MAX_TARGET_LENGTH && !/^(?:#|javascript:|data:|vbscript:)/i.test(target);
}

function startsInSpace({ children }: HtmlElement): boolean {
  const [first] = children;
  return typeof first === "string" && /^\s/.test(first);
}

function endsInSpace({ children }: HtmlElement): boolean {
  const last = children.at(-1);
  return typeof last === "string" && /\s$/.test(last.slice(-1));
}

function codeSpan(text: string): string {
  if (!text || text.includes("`")) return text;
  return `\`${text.replaceAll("\n", " ")}\``;
}

/** One blank at most, none at the ends of lines, soft hyphens gone. No-break spaces count as blanks. */
function collapse(text: string): string {
  const visible = text.replaceAll(INVISIBLE, "").replaceAll(SEVERAL_BLANKS, " ");
  if (!visible.includes("\n")) return visible.trim();
  return visible
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .join("\n");
}

const MAX_COLUMNS = 100;
/** A longer cell is not repeated in the rows it spans: its text would be multiplied. */
const MAX_REPEATED_LENGTH = 200;
/** Characters for one table: a hundred short cells that span a thousand rows would make a book. */
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
function tableMarkdown(table: HtmlElement): string | undefined {
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
