import { BLOCK_TAGS, type HtmlElement, type HtmlNode } from "../../../lib/html/html-tree.ts";
import { isNoise } from "../../../lib/html/is-noise.ts";

/** Whether links keep their targets, or only their text: in headings, and inside what is marked up already. */
export type LinkStyle = "targets" | "text";

interface InlineOptions {
  readonly address: string;
  readonly links: LinkStyle;
}

/** Of what carries no words only these say something: line breaks, code, and raised or lowered numbers. */
const KEPT_TAGS = new Set(["code", "sub", "sup"]);
const MAX_TARGET_LENGTH = 2000;

/** Markup for inside a paragraph; "" when there is nothing to read. */
export function cleanInline(nodes: readonly HtmlNode[], options: InlineOptions): string {
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

/** "" for what leads nowhere from a search result: scripts, places on the same page, addresses that are none. */
export function absoluteTarget(href: string, address: string): string {
  const trimmed = href.trim();
  if (!trimmed || trimmed.startsWith("#") || trimmed.length > MAX_TARGET_LENGTH) return "";
  const url = URL.parse(trimmed, address || undefined);
  return url && /^(?:https?|mailto|tel):$/.test(url.protocol) ? url.href : "";
}

/** Text without line feeds, control characters and signs nobody sees; those for line breaks are ours alone. */
function oneLine(text: string): string {
  return text.replaceAll(/[\u00ad\u200b\ufeff]/g, "").replaceAll(/[\s\p{Cc}]+/gu, " ");
}

/** One blank at most, none at the ends of lines, no empty lines. */
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
