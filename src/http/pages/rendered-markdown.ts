import { raw } from "hono/html";
import MarkdownIt, { type Token } from "markdown-it";
import type { Html } from "./layout.ts";

/** A heading of a document, for its list of contents. */
export interface ShownHeading {
  readonly id: string;
  readonly level: number;
  readonly text: string;
  /** 0: the document has no pages. */
  readonly page: number;
}

export interface RenderedDocument {
  readonly body: Html;
  readonly headings: readonly ShownHeading[];
  /** Whether the passage was found in the text, and is marked. */
  readonly isMarked: boolean;
}

/**
 * Nothing in a document is markup of ours: HTML in it is shown as text, pictures are named and not loaded, links are told and not
 * made. The policy of the pages forbids the rest.
 */
const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false });
markdown.validateLink = () => true;
markdown.renderer.rules["image"] = (tokens, at) => {
  const alt = markdown.utils.escapeHtml(tokens[at]?.content ?? "");
  return `<span class="picture">Picture${alt ? `: ${alt}` : ""}</span>`;
};
// Where a document leads is told, not opened: a link on our pages is one that we vouch for.
markdown.renderer.rules["link_open"] = (tokens, at) =>
  `<span class="link" title="${markdown.utils.escapeHtml(String(tokens[at]?.attrGet("href") ?? ""))}">`;
markdown.renderer.rules["link_close"] = () => "</span>";
// A table scrolls by itself, and by keyboard.
markdown.renderer.rules["table_open"] = () => `<div class="scroll-x" tabindex="0"><table>`;
markdown.renderer.rules["table_close"] = () => "</table></div>";

/** As extraction marks pages. */
const PAGE_MARK = /^<!-- page (\d+) -->$/;

interface Rendering {
  /** The page's title. If the document's first heading repeats it, the heading is left out. */
  readonly title: string;
  readonly passage: string | undefined;
  /** true: not the beginning of the document. */
  readonly isPart: boolean;
  /** true: not Markdown, such as source code. */
  readonly isPlain: boolean;
  /** true: line breaks are shown, as in a mail; otherwise lines of a paragraph are joined. */
  readonly keepsLines: boolean;
  /** The word for a page of the document, such as "slide". */
  readonly pageWord: string;
}

/** Renders a text as people read it, marks the passage, and lists its headings. */
export function renderDocument(text: string, rendering: Rendering): RenderedDocument {
  const { title, passage, isPart, isPlain, keepsLines, pageWord } = rendering;
  const lines = text.split("\n");
  const cited = passage === undefined ? undefined : findPassage(lines, passage);
  if (isPlain) return { body: raw(plain(lines, cited)), headings: [], isMarked: cited !== undefined };
  const outline = new Outline(title);
  const parts: string[] = [];
  const marking = { isOpen: false };
  for (const { from, to, page } of pages(lines, isPart)) {
    if (page > 0) parts.push(`<p class="page-mark" id="page-${page}">${pageWord} ${page}</p>`);
    const own = cited && { from: cited.from - from, to: cited.to - from };
    parts.push(renderPart(lines.slice(from, to).join("\n"), own, { outline, marking, page, keepsLines }));
  }
  return {
    body: raw(parts.join("\n")),
    headings: outline.headings,
    isMarked: cited !== undefined,
  };
}

/** Headings below the title of the page, none of which skips a level. */
class Outline {
  readonly headings: ShownHeading[] = [];
  readonly #title: string;
  /** The levels in the document of the headings above. */
  readonly #open: number[] = [];

  constructor(title: string) {
    this.#title = sameText(title);
  }

  /** undefined: it is the title again, which the page begins with. */
  add(text: string, level: number, page: number): ShownHeading | undefined {
    if (this.headings.length === 0 && this.#title !== "" && sameText(text) === this.#title) return undefined;
    while ((this.#open.at(-1) ?? 0) >= level) this.#open.pop();
    this.#open.push(level);
    const heading = {
      id: `heading-${this.headings.length + 1}`,
      level: Math.min(6, this.#open.length + 1),
      text,
      page,
    };
    this.headings.push(heading);
    return heading;
  }
}

function sameText(text: string): string {
  return text.normalize("NFKC").replaceAll(/\s+/g, " ").trim().toLowerCase();
}

interface Lines {
  readonly from: number;
  /** The line after the last. */
  readonly to: number;
}

/** A part of a text begins within the page before its first mark. */
function* pages(lines: readonly string[], isPart: boolean): Generator<Lines & { readonly page: number }> {
  const first = lines.map((line) => PAGE_MARK.exec(line.trim())?.[1]).find((number) => number !== undefined);
  let [from, page] = [0, isPart && first ? Number(first) - 1 : 0];
  for (const [at, line] of lines.entries()) {
    const number = PAGE_MARK.exec(line.trim())?.[1];
    if (number === undefined) continue;
    if (at > from || page > 0) yield { from, to: at, page };
    [from, page] = [at + 1, Number(number)];
  }
  yield { from, to: lines.length, page };
}

interface Part {
  readonly outline: Outline;
  readonly marking: { isOpen: boolean };
  readonly page: number;
  readonly keepsLines: boolean;
}

/** The first block of the passage gets the id that addresses end with. */
function renderPart(text: string, cited: Lines | undefined, { outline, marking, page, keepsLines }: Part): string {
  const tokens = markdown.parse(text, {});
  const leftOut = new Set<Token>();
  for (const [at, token] of tokens.entries()) {
    const { map, nesting } = token;
    // The policy of the pages takes no styles from a document.
    const align = /text-align:(\w+)/.exec(String(token.attrGet("style") ?? ""))?.[1];
    if (align) token.attrs = [["class", `align-${align}`]];
    if (token.type === "heading_open") {
      const [, inline, close] = tokens.slice(at, at + 3);
      const said = (inline?.children ?? []).map(({ content }) => content).join("");
      const heading = outline.add(said, Number(token.tag.slice(1)), page);
      if (!heading) for (const one of tokens.slice(at, at + 3)) leftOut.add(one);
      else {
        token.attrSet("id", heading.id);
        for (const one of [token, close]) if (one) one.tag = `h${heading.level}`;
      }
    }
    const isBlock = nesting === 1 || token.type === "fence" || token.type === "code_block";
    const isLeaf = isBlock && !/^(bullet_list|ordered_list|table|tbody|thead|blockquote)_open$/.test(token.type);
    if (!cited || !map || !isLeaf || token.hidden || leftOut.has(token) || map[0] >= cited.to || map[1] <= cited.from)
      continue;
    token.attrJoin("class", "cited");
    if (marking.isOpen || token.attrGet("id") !== null) continue;
    token.attrSet("id", "passage");
    marking.isOpen = true;
  }
  const shown = tokens.filter((token) => !leftOut.has(token));
  return markdown.renderer.render(shown, { ...markdown.options, breaks: keepsLines }, {});
}

/** Programs are indexed in a fence, which is not theirs. */
const FENCE = /^`{3,}[\w+-]*$/;

function plain(lines: readonly string[], cited: Lines | undefined): string {
  const isFence = (at: number): boolean => (at === 0 || at === lines.length - 1) && FENCE.test(lines[at] ?? "");
  const shown = (from: number, to: number): string =>
    lines
      .slice(from, to)
      .flatMap((line, at) => (isFence(from + at) ? [] : [`${markdown.utils.escapeHtml(line)}\n`]))
      .join("");
  if (!cited) return `<pre class="as-written" tabindex="0">${shown(0, lines.length)}</pre>`;
  const passage = `<span class="cited" id="passage">${shown(cited.from, cited.to)}</span>`;
  return `<pre class="as-written" tabindex="0">${shown(0, cited.from)}${passage}${shown(cited.to, lines.length)}</pre>`;
}

/** Shorter lines occur in too many places. */
const SHORTEST_LINE = 4;

/**
 * Finds where the lines of a passage stand in the text: where most of them follow each other. A passage may begin and end within a line,
 * repeat the end of the one before, and have headings of its own.
 */
function findPassage(lines: readonly string[], passage: string): Lines | undefined {
  const wanted = passage
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.length >= SHORTEST_LINE && !/^#{1,6} /.test(line) && !PAGE_MARK.test(line));
  if (wanted.length === 0) return undefined;
  const isSame = (line: string, other = ""): boolean =>
    line === other || line.includes(other) || (line !== "" && other.includes(line) && line.length >= SHORTEST_LINE);
  let best: (Lines & { readonly matches: number }) | undefined;
  for (const [at, line] of lines.entries()) {
    if (!isSame(line.trim(), wanted[0])) continue;
    let [matches, next, to] = [0, 0, at + 1];
    // A few lines may lie between: blank ones, page marks, headings.
    for (let here = at; here < lines.length && next < wanted.length && here - to < 8; here += 1) {
      if (!isSame((lines[here] ?? "").trim(), wanted[next])) continue;
      matches += 1;
      next += 1;
      to = here + 1;
    }
    if (!best || matches > best.matches) best = { from: at, to, matches };
  }
  return best;
}
