/** What is nested deeper becomes a row of siblings at this depth. Keeps recursion over the tree safe. */
export const MAX_DEPTH = 200;

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

export const VOID_TAGS: ReadonlySet<string> = new Set(
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
export class HtmlTreeBuilder {
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
