import { BLOCK_TAGS, type HtmlElement, type HtmlNode, isNoise } from "../../../lib/html.ts";

interface CleanOptions {
  /** Base of relative links. */
  readonly address: string;
  /** Written once at the top; a first heading with the same text is left out. */
  readonly title: string;
  /** Called regularly; may throw to cancel. */
  readonly check: () => void;
}

/**
 * Returns HTML with readable content only: headings, paragraphs, lists, tables, quotes, code, links, texts of images. Drops
 * emphasis, layout, styles, scripts, ids and empty elements. Every element is closed, every text escaped. Recursion is
 * safe: the depth of the tree is limited.
 */
export function cleanHtml(nodes: readonly HtmlNode[], options: CleanOptions): string {
  const writer = new CleanWriter(options);
  writer.blocks(nodes);
  return writer.parts.join("");
}

/** Appends parts and removes empty elements again, without copying: linear at any depth. */
class CleanWriter {
  readonly parts: string[] = [];
  readonly #options: CleanOptions;

  constructor(options: CleanOptions) {
    this.#options = options;
  }

  /** Writes blocks; runs of inline nodes become paragraphs. */
  blocks(nodes: readonly HtmlNode[]): void {
    this.#options.check();
    let run: HtmlNode[] = [];
    const endRun = (): void => {
      const text = this.#inline(run);
      if (text) this.parts.push(`<p>${text}</p>\n`);
      run = [];
    };
    for (const node of nodes) {
      if (typeof node === "string" || !(node.hasBlock || BLOCK_TAGS.has(node.tag))) run.push(node);
      else if (!isNoise(node)) {
        endRun();
        this.#block(node);
      }
    }
    endRun();
  }

  #block(element: HtmlElement): void {
    const { children } = element;
    const tag = meaningOf(element);
    if (/^h[1-6]$/.test(tag)) this.#heading(element, tag);
    else if (tag === "ul" || tag === "ol") this.#wrap(tag, () => this.#listItems(children));
    else if (tag === "dl") this.#wrap(tag, () => this.#terms(children));
    else if (tag === "table") this.#table(element);
    else if (tag === "blockquote" || tag === "figure") this.#wrap(tag, () => this.blocks(children));
    else if (tag === "figcaption") this.#wrap(tag, () => this.#flow(children));
    else if (tag === "pre") this.#code(element);
    else {
      this.#pictureOf(element);
      this.blocks(children);
    }
  }

  /** Only the page title is an h1. Links in headings keep only their text. */
  #heading(element: HtmlElement, tag: string): void {
    const text = this.#inline(element.children, "text").replaceAll("<br>", " ");
    if (!text || (this.parts.length === 0 && sameText(text, escapeHtml(this.#options.title)))) return;
    const level = tag === "h1" ? "h2" : tag;
    this.parts.push(`<${level}>${text}</${level}>\n`);
  }

  #listItems(nodes: readonly HtmlNode[]): void {
    for (const node of nodes) {
      const children = typeof node !== "string" && meaningOf(node) === "li" ? node.children : [node];
      if (typeof node === "string" || !isNoise(node)) this.#wrap("li", () => this.#flow(children));
    }
  }

  #terms(nodes: readonly HtmlNode[]): void {
    for (const node of nodes) {
      if (typeof node !== "string" && isNoise(node)) continue;
      if (typeof node !== "string" && node.tag === "div") this.#terms(node.children);
      else if (typeof node !== "string" && node.tag === "dt") this.#wrap("dt", () => this.#flow(node.children));
      else this.#wrap("dd", () => this.#flow(typeof node !== "string" && node.tag === "dd" ? node.children : [node]));
    }
  }

  /** A layout table of an older page is no table. */
  #table(element: HtmlElement): void {
    const role = element.attributes.get("role");
    if (role === "presentation" || role === "none" || element.attributes.get("id") === "layoutsTable") {
      this.#cellsAlone(element);
    } else this.#wrap("table", () => this.#rows(element.children));
  }

  #cellsAlone(element: HtmlElement): void {
    for (const node of element.children) {
      if (typeof node === "string") this.blocks([node]);
      else if (/^(?:tbody|thead|tfoot|tr|caption)$/.test(node.tag)) this.#cellsAlone(node);
      else this.blocks(/^t[dh]$/.test(node.tag) ? node.children : [node]);
    }
  }

  #rows(nodes: readonly HtmlNode[]): void {
    for (const node of nodes) {
      if (typeof node === "string" ? !node.trim() : isNoise(node)) continue;
      const tag = typeof node === "string" ? "" : meaningOf(node);
      const children = typeof node === "string" ? [] : node.children;
      if (tag === "caption") this.#wrap("caption", () => this.#flow(children));
      else if (tag === "tr") this.#wrap("tr", () => this.#cells(children));
      else if (/^(?:tbody|thead|tfoot)$/.test(tag)) this.#rows(children);
      else if (typeof node !== "string" && node.tag === "div") this.#rows(children);
      else if (tag !== "colgroup" && tag !== "col") this.#wrap("tr", () => this.#cells([node]));
    }
  }

  /** Writes the cells of a row. Empty cells stay if others are filled, so that columns match. */
  #cells(nodes: readonly HtmlNode[]): void {
    const before = this.parts.length;
    let filled = false;
    for (const node of nodes) {
      if (typeof node === "string" ? !node.trim() : isNoise(node)) continue;
      const tag = typeof node === "string" ? "td" : meaningOf(node);
      const isCell = tag === "td" || tag === "th";
      const name = isCell ? tag : "td";
      this.parts.push(`<${name}${typeof node === "string" ? "" : spansOf(node)}>`);
      const at = this.parts.length;
      this.#flow(isCell && typeof node !== "string" ? node.children : [node]);
      filled ||= this.parts.length > at;
      this.parts.push(`</${name}>`);
    }
    if (!filled) this.parts.length = before;
  }

  /** Writes the content of a list item or cell; a single paragraph needs no tag there. */
  #flow(nodes: readonly HtmlNode[]): void {
    const at = this.parts.length;
    this.blocks(nodes);
    const only = this.parts.length === at + 1 ? (this.parts[at] ?? "") : "";
    if (only.startsWith("<p>")) this.parts[at] = only.slice("<p>".length, -"</p>\n".length);
  }

  #code(element: HtmlElement): void {
    const text = textOf(element).replace(/^\n/, "").trimEnd();
    if (text.trim()) this.parts.push(`<pre>${escapeHtml(text)}</pre>\n`);
  }

  /** Writes the texts of an image of SharePoint's editor: they are attributes of the box around it. */
  #pictureOf({ attributes }: HtmlElement): void {
    if (attributes.size === 0) return;
    for (const name of ["data-alttext", "data-overlaytext", "data-captiontext"]) {
      const text = this.#inline([attributes.get(name) ?? ""]);
      if (text) this.parts.push(`<p>${text}</p>\n`);
    }
  }

  #inline(nodes: readonly HtmlNode[], links: LinkStyle = "targets"): string {
    return cleanInline(nodes, { address: this.#options.address, links });
  }

  #wrap(tag: string, write: () => void): void {
    const at = this.parts.length;
    this.parts.push(`<${tag}>`);
    write();
    if (this.parts.length === at + 1) this.parts.pop();
    else this.parts.push(`</${tag}>\n`);
  }
}

function textOf(node: HtmlNode): string {
  const parts: string[] = [];
  const collect = (each: HtmlNode): void => {
    if (typeof each === "string") parts.push(each);
    else if (each.tag === "br") parts.push("\n");
    else if (!isNoise(each)) for (const child of each.children) collect(child);
  };
  collect(node);
  return parts.join("");
}

function sameText(a: string, b: string): boolean {
  return plain(a) === plain(b);
}

function plain(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim().toLowerCase();
}

const MEANING_OF_ROLE: Readonly<Record<string, string>> = {
  table: "table",
  grid: "table",
  row: "tr",
  cell: "td",
  gridcell: "td",
  columnheader: "th",
  rowheader: "th",
  list: "ul",
  listitem: "li",
};

/** Returns the tag, or for a `div` the tag its role stands for. */
function meaningOf({ tag, attributes }: HtmlElement): string {
  if (tag === "menu" || tag === "dir") return "ul";
  const role = tag === "div" ? (attributes.get("role") ?? "") : "";
  if (role !== "heading") return Object.hasOwn(MEANING_OF_ROLE, role) ? (MEANING_OF_ROLE[role] ?? tag) : tag;
  const level = attributes.get("aria-level") ?? "";
  return /^[1-6]$/.test(level) ? `h${level}` : "h2";
}

/** Returns `colspan` and `rowspan` as attributes, with a leading blank. */
function spansOf({ attributes }: HtmlElement): string {
  return ["colspan", "rowspan"]
    .map((name) => [name, attributes.get(name) ?? ""] as const)
    .filter(([, value]) => /^\d{1,3}$/.test(value) && Number(value) > 1)
    .map(([name, value]) => ` ${name}="${Number(value)}"`)
    .join("");
}

/** Whether links keep their targets, or only their text (in headings, and inside other inline markup). */
type LinkStyle = "targets" | "text";

interface InlineOptions {
  readonly address: string;
  readonly links: LinkStyle;
}

/** Inline tags that are kept, besides line breaks. */
const KEPT_TAGS = new Set(["code", "sub", "sup"]);
const MAX_TARGET_LENGTH = 2000;

/** Returns markup for the inside of a paragraph; "" if there is no text. */
function cleanInline(nodes: readonly HtmlNode[], options: InlineOptions): string {
  const parts: string[] = [];
  for (const node of nodes) collect(node, options, parts);
  return collapse(parts.join(""));
}

function collect(node: HtmlNode, options: InlineOptions, parts: string[]): void {
  if (typeof node === "string") {
    parts.push(escapeHtml(oneLine(node)));
    return;
  }
  const { tag, attributes, children } = node;
  if (isNoise(node)) return;
  if (tag === "br") parts.push("\n");
  else if (tag === "img") parts.push(picture(oneLine(attributes.get("alt") ?? "").trim()));
  else if (tag === "a" && options.links === "targets") parts.push(link(node, options));
  else if (KEPT_TAGS.has(tag) && options.links === "targets") {
    const text = cleanInline(children, { ...options, links: "text" });
    parts.push(text ? `<${tag}>${text}</${tag}>` : "");
  } else {
    const apart = BLOCK_TAGS.has(tag) ? " " : "";
    parts.push(apart);
    for (const child of children) collect(child, options, parts);
    parts.push(apart);
  }
}

function picture(alt: string): string {
  return alt ? `<img alt="${escapeHtml(alt)}">` : "";
}

function link(element: HtmlElement, options: InlineOptions): string {
  const parts: string[] = [];
  for (const child of element.children) collect(child, { ...options, links: "text" }, parts);
  const joined = parts.join("");
  const text = collapse(joined);
  const target = absoluteTarget(element.attributes.get("href") ?? "", options.address);
  const before = /^\s/.test(joined) ? " " : "";
  const after = /\s$/.test(joined.slice(-1)) ? " " : "";
  return text && target ? `${before}<a href="${escapeHtml(target)}">${text}</a>${after}` : `${before}${text}${after}`;
}

/** Returns "" for targets that are useless in a search result: scripts, fragments of the page, invalid URLs. */
function absoluteTarget(href: string, address: string): string {
  const trimmed = href.trim();
  if (!trimmed || trimmed.startsWith("#") || trimmed.length > MAX_TARGET_LENGTH) return "";
  const url = URL.parse(trimmed, address || undefined);
  return url && /^(?:https?|mailto|tel):$/.test(url.protocol) ? url.href : "";
}

/** Replaces line ends and control characters by blanks and removes invisible characters. Line breaks are written as `<br>` only. */
function oneLine(text: string): string {
  return text.replaceAll(/[\u00ad\u200b\ufeff]/g, "").replaceAll(/[\s\p{Cc}]+/gu, " ");
}

/** Collapses blanks, and removes those at line ends and empty lines. */
function collapse(text: string): string {
  return text
    .replaceAll(/ {2,}/g, " ")
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .join("<br>");
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ESCAPES[character] ?? character);
}
