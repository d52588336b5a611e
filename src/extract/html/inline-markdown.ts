import { BLOCK_TAGS, type HtmlElement, type HtmlNode } from "../../lib/html/html-tree.ts";
import { isNoise } from "../../lib/html/is-noise.ts";

const MAX_TARGET_LENGTH = 2000;
/** White space and control characters. */
const BLANKS = /[\s\p{Cc}]+/gu;
const INVISIBLE = /[\u00ad\u200b\ufeff]/g;
const SEVERAL_BLANKS = /[ \t\u00a0]{2,}|[\t\u00a0]/g;

/** Whether links keep their targets, or only their text (in headings and inside other links). */
export type LinkStyle = "targets" | "text";

/**
 * Text inside a line. Emphasis is dropped: it splits words (`**Sp**alte`) and tells a search nothing.
 * Links keep their text and target, images their alternative text, `<br>` is a line feed.
 */
export function inlineMarkdown(nodes: readonly HtmlNode[], links: LinkStyle = "targets"): string {
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
