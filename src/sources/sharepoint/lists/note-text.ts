import { BLOCK_TAGS, type HtmlNode } from "../../../lib/html/html-tree.ts";
import { parseHtml } from "../../../lib/html/parse-html.ts";

/** What a person reads of a rich text column, a line for every block. */
export function noteText(html: string): string {
  const { root } = parseHtml(html, () => undefined);
  return textOf(root)
    .replaceAll("\u200b", "")
    .replaceAll(/[^\S\n]+/g, " ")
    .replaceAll(/ ?\n[ \n]*/g, "\n")
    .trim();
}

/** Recursion is safe: the tree is of bounded depth. */
function textOf(node: HtmlNode): string {
  // Line ends in the source of a page are blanks like any other.
  if (typeof node === "string") return node.replaceAll(/\s+/g, " ");
  const { tag, attributes } = node;
  if (tag === "br") return "\n";
  if (tag === "img") return attributes.get("alt") ?? "";
  const text = node.children.map(textOf).join("");
  if (tag === "li") return `\n• ${text.trim()}\n`;
  if (tag === "td" || tag === "th") return `${text.trim()} `;
  return BLOCK_TAGS.has(tag) ? `\n${text}\n` : text;
}
