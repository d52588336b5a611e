import { BLOCK_TAGS, type HtmlElement, type HtmlNode } from "../../lib/html/html-tree.ts";
import { isNoise } from "../../lib/html/is-noise.ts";
import { escapeLine } from "../escape-line.ts";
import { fenceCode } from "../plain-text.ts";
import { inlineMarkdown } from "./inline-markdown.ts";
import { tableMarkdown } from "./table-markdown.ts";

const MAX_HEADING_LENGTH = 300;
/** Every level indents all lines below it; deeper lists and quotes go on at this level. */
const MAX_INDENTS = 8;

interface Place {
  /** Lists and quotes around it. Headings there are text: a section cannot begin inside a list. */
  readonly indents: number;
}

/** Recursion is safe: the tree is of bounded depth. */
export function htmlToMarkdown(root: HtmlElement): string {
  return blocksIn(root.children, { indents: 0 }).join("\n\n");
}

/** Blocks of Markdown, without blank lines around them. Runs of inline nodes become paragraphs. */
function blocksIn(nodes: readonly HtmlNode[], place: Place): string[] {
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
      for (const block of blockMarkdown(node, place)) blocks.push(block);
    }
  }
  endRun();
  return blocks;
}

function blockMarkdown(element: HtmlElement, place: Place): string[] {
  const { tag, children } = element;
  if (/^h[1-6]$/.test(tag)) return heading(element, place);
  if (tag === "pre") return code(element);
  if (tag === "hr") return place.indents ? [] : ["---"];
  if (tag === "ul" || tag === "ol" || tag === "menu" || tag === "dir") return list(element, place);
  if (tag === "blockquote") return quote(element, place);
  if (tag === "table") {
    const table = tableMarkdown(element);
    if (table !== undefined) return [table];
  }
  return blocksIn(children, place);
}

function heading(element: HtmlElement, place: Place): string[] {
  const text = inlineMarkdown(element.children, "text").replaceAll("\n", " ");
  if (!text) return [];
  if (place.indents > 0 || text.length > MAX_HEADING_LENGTH) return [escapeLine(text)];
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

function quote(element: HtmlElement, place: Place): string[] {
  if (place.indents >= MAX_INDENTS) return blocksIn(element.children, place);
  const text = blocksIn(element.children, { indents: place.indents + 1 }).join("\n\n");
  return text ? [`> ${text.replaceAll("\n", "\n> ")}`] : [];
}

function list(element: HtmlElement, place: Place): string[] {
  if (place.indents >= MAX_INDENTS) return blocksIn(element.children, place);
  const ordered = element.tag === "ol";
  let number = Number.parseInt(element.attributes.get("start") ?? "1", 10);
  if (!(number >= 0 && number < 1e9)) number = 1;
  const items: string[] = [];
  for (const child of element.children) {
    const inner = blocksIn(typeof child !== "string" && child.tag === "li" ? child.children : [child], {
      indents: place.indents + 1,
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
