import { decodeAttribute, decodeEntities } from "./html-entities.ts";

/** Their content is not markup, up to their end tag. */
const RAW_TAGS: ReadonlyMap<string, RegExp> = new Map(
  ["script", "style", "title", "textarea", "iframe", "xmp", "noembed", "noframes"].map((tag) => [
    tag,
    new RegExp(`</${tag}(?=[\\s/>])`, "gi"),
  ]),
);
/** Transparent: a page is read alike with or without them, closed or not. */
const FRAME_TAGS = new Set(["html", "head", "body"]);
const FOREIGN_TAGS = new Set(["svg", "math"]);
const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();
const NAME = /[^\s/>]*/y;
/** Behind blanks and slashes: the end of the tag, or a name with its value in double, single or no quotes. */
const ATTRIBUTE =
  /[\s/]*(?:(>)|([^\s/>=]+|=[^\s/>=]*)(?:\s*=\s*(?:"([^"]*)(?:"|$)|'([^']*)(?:'|$)|([^\s>"'][^\s>]*))?)?)/y;
const MAX_ATTRIBUTES = 64;
const MAX_FACTS = 20;
const MAX_FACT_LENGTH = 256 * 1024;
const TAGS_PER_CHECK = 4096;

export interface HtmlPage {
  readonly root: HtmlElement;
  /** Text of the first `<title>`, "" for none. */
  readonly title: string;
  /** `lang` of `<html>` as it is written, "" for none. */
  readonly language: string;
  /** How many scripts a browser would run. */
  readonly scripts: number;
  /** What it tells programs (JSON-LD), as it is written. */
  readonly facts: readonly string[];
  /** Its end was left out: there are more tags than the caller wants. */
  readonly isCut: boolean;
}

/**
 * Parses a page in linear time into a tree of bounded depth. parse5 needs quadratic time and memory for formatting tags that
 * are never closed (docs/decisions/0026-written-by-hand.md).
 * `check` is called every few thousand tags and may throw. Behind `maxTags` start and end tags nothing is read.
 */
export function parseHtml(html: string, check: () => void, maxTags = Number.POSITIVE_INFINITY): HtmlPage {
  return new HtmlReader(html, check).read(maxTags);
}

class HtmlReader {
  readonly #html: string;
  readonly #check: () => void;
  readonly #tree = new HtmlTreeBuilder();
  #at = 0;
  #title = "";
  #language = "";
  #scripts = 0;
  readonly #facts: string[] = [];

  constructor(html: string, check: () => void) {
    this.#html = html;
    this.#check = check;
  }

  read(maxTags: number): HtmlPage {
    for (let tags = 0; this.#at < this.#html.length && tags < maxTags; tags += 1) {
      if (tags % TAGS_PER_CHECK === 0) this.#check();
      const start = this.#nextMarkup();
      this.#tree.text(decodeEntities(this.#html.slice(this.#at, start)));
      this.#at = start;
      if (start < this.#html.length) this.#readMarkup();
    }
    return {
      root: this.#tree.root,
      title: this.#title,
      language: this.#language,
      scripts: this.#scripts,
      facts: this.#facts,
      isCut: this.#at < this.#html.length,
    };
  }

  /** The next `<` that opens a tag or comment; `a < b` is text. */
  #nextMarkup(): number {
    for (let from = this.#at; ; ) {
      const at = this.#html.indexOf("<", from);
      if (at === -1) return this.#html.length;
      if (opensMarkup(this.#html.charCodeAt(at + 1))) return at;
      from = at + 1;
    }
  }

  #readMarkup(): void {
    const next = this.#html[this.#at + 1] ?? "";
    if (this.#html.startsWith("<!--", this.#at)) this.#skipPast("-->", this.#at + 4);
    else if (next === "!" || next === "?") this.#skipPast(">", this.#at + 2);
    else if (next === "/") this.#readEndTag();
    else this.#readStartTag();
  }

  #skipPast(mark: string, from: number): void {
    const at = this.#html.indexOf(mark, from);
    this.#at = at === -1 ? this.#html.length : at + mark.length;
  }

  #readEndTag(): void {
    const end = this.#nameEnd(this.#at + 2);
    const tag = this.#html.slice(this.#at + 2, end).toLowerCase();
    this.#skipPast(">", end);
    if (tag === "br") this.#tree.start("br", NO_ATTRIBUTES);
    else if (tag && !FRAME_TAGS.has(tag) && !VOID_TAGS.has(tag)) this.#tree.end(tag);
  }

  #readStartTag(): void {
    const nameEnd = this.#nameEnd(this.#at + 1);
    const tag = this.#html.slice(this.#at + 1, nameEnd).toLowerCase();
    this.#at = nameEnd;
    const attributes = this.#readAttributes();
    const selfClosed = this.#html[this.#at - 2] === "/";
    if (FRAME_TAGS.has(tag)) {
      this.#language ||= attributes.get("lang") ?? "";
      return;
    }
    const closing = RAW_TAGS.get(tag);
    if (closing) {
      if (tag === "script" && isRun(attributes)) this.#scripts += 1;
      const text = this.#readRaw(tag, closing);
      if (tag === "script" && isFact(attributes, text) && this.#facts.length < MAX_FACTS) this.#facts.push(text);
      return;
    }
    this.#tree.start(tag, attributes);
    if (selfClosed && (tag.includes(":") || FOREIGN_TAGS.has(tag) || this.#tree.inside(FOREIGN_TAGS)))
      this.#tree.end(tag);
  }

  #readRaw(tag: string, closing: RegExp): string {
    closing.lastIndex = this.#at;
    const end = closing.exec(this.#html)?.index ?? this.#html.length;
    const text = this.#html.slice(this.#at, end);
    this.#at = end;
    if (tag === "xmp") this.#tree.text(text);
    if (tag === "title" && !this.#title && !this.#tree.inside(FOREIGN_TAGS)) {
      this.#title = decodeEntities(text.slice(0, 2000)).replaceAll(/\s+/g, " ").trim();
    }
    return text;
  }

  /** Reads on to behind the `>` of the tag. The first of equal names counts, names are lower-cased. */
  #readAttributes(): ReadonlyMap<string, string> {
    if (this.#html[this.#at] === ">") {
      this.#at += 1;
      return NO_ATTRIBUTES;
    }
    const attributes = new Map<string, string>();
    ATTRIBUTE.lastIndex = this.#at;
    for (let match = ATTRIBUTE.exec(this.#html); match; match = ATTRIBUTE.exec(this.#html)) {
      this.#at = ATTRIBUTE.lastIndex;
      if (match[1]) return attributes;
      const name = (match[2] ?? "").toLowerCase();
      const value = match[3] ?? match[4] ?? match[5] ?? "";
      if (attributes.size < MAX_ATTRIBUTES && !attributes.has(name)) attributes.set(name, decodeAttribute(value));
    }
    this.#at = this.#html.length;
    return attributes;
  }

  #nameEnd(from: number): number {
    NAME.lastIndex = from;
    NAME.exec(this.#html);
    return NAME.lastIndex;
  }
}

/** Other types are for templates and facts that programs read. */
function isRun(script: ReadonlyMap<string, string>): boolean {
  const type = script.get("type") ?? "";
  return type === "" || /^module$|javascript/i.test(type);
}

function isFact(script: ReadonlyMap<string, string>, text: string): boolean {
  return /^\s*application\/ld\+json/i.test(script.get("type") ?? "") && text.length <= MAX_FACT_LENGTH;
}

/** A letter, `!`, `/` or `?`; NaN at the end of the text is none of them. */
function opensMarkup(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x21 || code === 0x2f || code === 0x3f
  );
}

/** What is nested deeper becomes a row of siblings at this depth. Keeps recursion over the tree safe. */
const MAX_DEPTH = 200;

export interface HtmlElement {
  tag: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: HtmlNode[];
  /** Some descendant is a block, so the element cannot be written inside a line. */
  hasBlock: boolean;
}

export type HtmlNode = HtmlElement | string;

export const BLOCK_TAGS: ReadonlySet<string> = new Set(
  `address article aside blockquote caption center dd details dialog dir div dl dt fieldset figcaption figure footer
form h1 h2 h3 h4 h5 h6 header hgroup hr li main menu nav ol p pre search section summary table tbody td tfoot th
thead tr ul`.split(/\s/),
);

const VOID_TAGS: ReadonlySet<string> = new Set(
  "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr".split(" "),
);

const TABLE_TAGS: ReadonlySet<string> = new Set("caption table tbody td tfoot th thead tr".split(" "));

interface ImpliedEnd {
  readonly closes: ReadonlySet<string>;
  readonly within: ReadonlySet<string>;
}

/** What a start tag closes when it is still open, and where the search for it ends. */
const IMPLIED_END: ReadonlyMap<string, ImpliedEnd> = new Map([
  ["a", { closes: words("a"), within: words("table td th") }],
  ["li", { closes: words("li"), within: words("ul ol menu dir") }],
  ["dt", { closes: words("dt dd"), within: words("dl") }],
  ["dd", { closes: words("dt dd"), within: words("dl") }],
  ["tr", { closes: words("tr caption"), within: words("table") }],
  ["td", { closes: words("td th"), within: words("tr table") }],
  ["th", { closes: words("td th"), within: words("tr table") }],
  ["thead", { closes: words("thead tbody tfoot caption"), within: words("table") }],
  ["tbody", { closes: words("thead tbody tfoot caption"), within: words("table") }],
  ["tfoot", { closes: words("thead tbody tfoot caption"), within: words("table") }],
  ["option", { closes: words("option"), within: words("select datalist") }],
]);

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

/** Builds the tree from tags and text in document order. Never deeper than MAX_DEPTH, every step at most that long. */
class HtmlTreeBuilder {
  readonly root: HtmlElement = { tag: "#root", attributes: new Map(), children: [], hasBlock: true };
  readonly #open: HtmlElement[] = [this.root];
  #flattened = 0;

  text(text: string): void {
    if (text) this.#current.children.push(text);
  }

  start(tag: string, attributes: ReadonlyMap<string, string>): void {
    this.#endImplied(tag);
    const element: HtmlElement = { tag, attributes, children: [], hasBlock: false };
    const leaf = VOID_TAGS.has(tag);
    if (!leaf && this.#open.length > MAX_DEPTH) {
      this.#flattened += 1;
      this.#open.pop();
    }
    this.#append(element);
    if (leaf) this.#open.pop();
  }

  end(tag: string): void {
    if (this.#flattened > 0) {
      this.#flattened -= 1;
      this.#open.pop();
      this.#append({ tag: "div", attributes: new Map(), children: [], hasBlock: false });
      return;
    }
    for (let at = this.#open.length - 1; at > 0; at -= 1) {
      const open = this.#open[at]?.tag ?? "";
      if (open === tag) {
        this.#open.length = at;
        return;
      }
      if (isBarrier(open, tag)) return;
    }
  }

  inside(tags: ReadonlySet<string>): boolean {
    return this.#open.some((element) => tags.has(element.tag));
  }

  get #current(): HtmlElement {
    return this.#open.at(-1) ?? this.root;
  }

  #append(element: HtmlElement): void {
    this.#current.children.push(element);
    if (BLOCK_TAGS.has(element.tag)) this.#markBlock();
    this.#open.push(element);
  }

  #markBlock(): void {
    for (let at = this.#open.length - 1; at >= 0; at -= 1) {
      const element = this.#open[at];
      if (!element || element.hasBlock) return;
      element.hasBlock = true;
    }
  }

  #endImplied(tag: string): void {
    if (BLOCK_TAGS.has(tag)) this.#endParagraph();
    const rule = IMPLIED_END.get(tag);
    if (!rule) return;
    for (let at = this.#open.length - 1; at > 0; at -= 1) {
      const open = this.#open[at]?.tag ?? "";
      if (rule.within.has(open)) return;
      if (rule.closes.has(open)) {
        this.#open.length = at;
        return;
      }
    }
  }

  /** A block ends an open paragraph, also through `<b>` and the like, but not one outside the cell or list item. */
  #endParagraph(): void {
    for (let at = this.#open.length - 1; at > 0; at -= 1) {
      const open = this.#open[at]?.tag ?? "";
      if (open === "p") {
        this.#open.length = at;
        return;
      }
      if (BLOCK_TAGS.has(open)) return;
    }
  }
}

/** A stray end tag must not close what lies outside the cell, nor `</b>` the paragraph around it. */
function isBarrier(open: string, tag: string): boolean {
  if (TABLE_TAGS.has(tag)) return open === "table" && tag !== "table";
  if (open === "td" || open === "th" || open === "table") return true;
  return !BLOCK_TAGS.has(tag) && BLOCK_TAGS.has(open);
}

const NOISE_TAGS = new Set(
  `area audio base button canvas datalist dialog embed footer iframe input link map meta nav noscript object
param progress script search select source style svg template textarea track video`.split(/\s/),
);
const NOISE_ROLES = new Set(["navigation", "banner", "contentinfo", "search", "menu", "menubar", "dialog"]);

/** Not content: invisible, or repeated on every page of a site. */
export function isNoise(element: HtmlElement): boolean {
  const { tag, attributes } = element;
  if (NOISE_TAGS.has(tag)) return true;
  if (attributes.size === 0) return false;
  return NOISE_ROLES.has(attributes.get("role") ?? "") || isHidden(element);
}

export function isHidden({ attributes }: HtmlElement): boolean {
  if (attributes.size === 0) return false;
  if (attributes.has("hidden") && attributes.get("hidden") !== "until-found") return true;
  if (attributes.get("aria-hidden") === "true") return true;
  const style = attributes.get("style");
  return style !== undefined && /(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(style.slice(0, 2000));
}

interface Refresh {
  readonly seconds: number;
  /** As it is written. */
  readonly target: string;
}

/** `3; url='/next'` of a `Refresh` header or `<meta http-equiv="refresh">`. undefined: the page itself is meant. */
export function parseRefresh(content: string): Refresh | undefined {
  const [, seconds = "", rest = ""] = /^\s*(\d{0,9}(?:\.\d{0,9})?)\s*[;,\s]\s*(.{1,2060})/s.exec(content) ?? [];
  const target = /^(?:url\s*=\s*)?(?:"([^"]*)|'([^']*)|(.*))/is.exec(rest.trim());
  const written = (target?.[1] ?? target?.[2] ?? target?.[3] ?? "").trim();
  return written === "" ? undefined : { seconds: Number(seconds) || 0, target: written };
}
