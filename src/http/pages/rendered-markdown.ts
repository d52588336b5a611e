import { raw } from "hono/html";
import MarkdownIt from "markdown-it";
import type { Html } from "./layout.ts";

/** A heading of a document, for its list of contents. */
export interface ShownHeading {
  readonly id: string;
  readonly level: number;
  readonly text: string;
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
markdown.validateLink = (url) => /^(https?|mailto):/i.test(url.trim());
markdown.renderer.rules["image"] = (tokens, at) => {
  const alt = markdown.utils.escapeHtml(tokens[at]?.content ?? "");
  return `<span class="picture">Picture${alt ? `: ${alt}` : ""}</span>`;
};
// Where a document leads is told, not opened: a link on our pages is one that we vouch for.
markdown.renderer.rules["link_open"] = (tokens, at) =>
  `<span class="link" title="${markdown.utils.escapeHtml(String(tokens[at]?.attrGet("href") ?? ""))}">`;
markdown.renderer.rules["link_close"] = () => "</span>";

/** As extraction marks pages. */
const PAGE_MARK = /^<!-- page (\d+) -->$/;

/** Renders a text as people read it, marks the passage, and lists its headings. `isPlain`: it is no Markdown, as the text of a program. */
export function renderDocument(
  text: string,
  { passage, isPlain }: { readonly passage: string | undefined; readonly isPlain: boolean },
): RenderedDocument {
  const lines = text.split("\n");
  const cited = passage === undefined ? undefined : findPassage(lines, passage);
  const isMarked = cited !== undefined;
  if (isPlain) return { body: raw(plain(lines, cited)), headings: [], isMarked };
  const headings: ShownHeading[] = [];
  const parts: string[] = [];
  const marking = { isOpen: false };
  for (const { from, to, page } of pages(lines)) {
    if (page > 0) parts.push(`<p class="page-mark" id="page-${page}">Page ${page}</p>`);
    const own = cited && { from: cited.from - from, to: cited.to - from };
    parts.push(renderPart(lines.slice(from, to).join("\n"), own, headings, marking));
  }
  return { body: raw(parts.join("\n")), headings, isMarked };
}

interface Lines {
  readonly from: number;
  /** The line after the last. */
  readonly to: number;
}

function* pages(lines: readonly string[]): Generator<Lines & { readonly page: number }> {
  let [from, page] = [0, 0];
  for (const [at, line] of lines.entries()) {
    const number = PAGE_MARK.exec(line.trim())?.[1];
    if (number === undefined) continue;
    if (at > from || page > 0) yield { from, to: at, page };
    [from, page] = [at + 1, Number(number)];
  }
  yield { from, to: lines.length, page };
}

/** The first block of the passage gets the id that addresses end with. */
function renderPart(
  text: string,
  cited: Lines | undefined,
  headings: ShownHeading[],
  marking: { isOpen: boolean },
): string {
  const tokens = markdown.parse(text, {});
  for (const [at, token] of tokens.entries()) {
    const { map, nesting } = token;
    if (token.type === "heading_open") {
      const level = Number(token.tag.slice(1));
      const inline = tokens[at + 1];
      const said = (inline?.children ?? []).map(({ content }) => content).join("");
      const id = `heading-${headings.length + 1}`;
      headings.push({ id, level, text: said });
      token.attrSet("id", id);
    }
    const isBlock = nesting === 1 || token.type === "fence" || token.type === "code_block";
    const isLeaf = isBlock && !/^(bullet_list|ordered_list|table|tbody|thead|blockquote)_open$/.test(token.type);
    if (!cited || !map || !isLeaf || map[0] >= cited.to || map[1] <= cited.from) continue;
    token.attrJoin("class", "cited");
    if (marking.isOpen || token.attrGet("id") !== null) continue;
    token.attrSet("id", "passage");
    marking.isOpen = true;
  }
  return markdown.renderer.render(tokens, markdown.options, {});
}

function plain(lines: readonly string[], cited: Lines | undefined): string {
  const escaped = lines.map((line) => markdown.utils.escapeHtml(line));
  if (!cited) return `<pre class="plain">${escaped.join("\n")}</pre>`;
  const [before, own, after] = [
    escaped.slice(0, cited.from),
    escaped.slice(cited.from, cited.to),
    escaped.slice(cited.to),
  ];
  return `<pre class="plain">${before.join("\n")}${before.length > 0 ? "\n" : ""}<span class="cited" id="passage">${own.join("\n")}</span>${after.length > 0 ? "\n" : ""}${after.join("\n")}</pre>`;
}

/** Shorter lines stand in too many places. */
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
