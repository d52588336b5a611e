import { type HtmlElement, parseHtml } from "../../../lib/html.ts";
import { escapeHtml } from "./clean-html.ts";

/** A page as stored in SharePoint: everything its document is made of. */
export interface PageOriginal {
  readonly title: string;
  readonly description: string;
  /** URL of the page when it was fetched: base of its relative links. */
  readonly address: string;
  /** Columns with markup, unchanged, by their name in SharePoint. Empty ones may be missing. */
  readonly columns: ReadonlyMap<string, string>;
}

const BODY = "\n<body>\n";
const COLUMN = /<!-- (\w+): (\d+) characters -->\n/y;

/**
 * Writes a page as one HTML file that a browser can show. A column may contain unbalanced markup, so its length, not a
 * tag, marks its end.
 */
export function writePageOriginal(page: PageOriginal): string {
  const parts = [
    `<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n<title>${escapeHtml(page.title)}</title>\n`,
    `<meta name="description" content="${escapeHtml(page.description)}">\n`,
    `<base href="${escapeHtml(page.address)}">\n</head>${BODY}`,
  ];
  for (const [name, markup] of page.columns) {
    // An unpaired surrogate becomes one replacement character in UTF-8, so the length stays.
    if (markup) parts.push(`<!-- ${name}: ${markup.length} characters -->\n`, markup.toWellFormed(), "\n");
  }
  parts.push("</body>\n</html>\n");
  return parts.join("").toWellFormed();
}

/** Throws if the text was not written by writePageOriginal, or is truncated. */
export function readPageOriginal(text: string): PageOriginal {
  const body = text.indexOf(BODY);
  if (body === -1) throw new Error("read the page's original: it has no body");
  const head = parseHtml(text.slice(0, body), () => undefined);
  const columns = new Map<string, string>();
  let at = body + BODY.length;
  for (let mark = markAt(text, at); mark; mark = markAt(text, at)) {
    const end = mark.start + mark.length;
    columns.set(mark.name, text.slice(mark.start, end));
    at = end + 1;
  }
  if (!text.startsWith("</body>", at)) throw new Error("read the page's original: it is cut or was altered");
  const find = (tag: string, name: string): string => attributeOf(head.root.children, tag, name);
  return { title: head.title, description: find("meta", "content"), address: find("base", "href"), columns };
}

function markAt(text: string, at: number): { name: string; start: number; length: number } | undefined {
  COLUMN.lastIndex = at;
  const match = COLUMN.exec(text);
  return match ? { name: match[1] ?? "", start: COLUMN.lastIndex, length: Number(match[2]) } : undefined;
}

function attributeOf(nodes: readonly (HtmlElement | string)[], tag: string, name: string): string {
  for (const node of nodes) {
    const value = typeof node !== "string" && node.tag === tag ? node.attributes.get(name) : undefined;
    if (value !== undefined) return value;
  }
  return "";
}
