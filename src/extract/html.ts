import { type HtmlElement, type HtmlNode, isNoise, parseHtml } from "../lib/html.ts";
import { declaredEncoding, decodeText } from "./decode-text.ts";
import type { ReadText } from "./formats.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";
import { firstHeading } from "./markdown.ts";
import { revealOpenable } from "./reveal-openable.ts";

export function extractHtml(bytes: Uint8Array): ReadText {
  const page = parseHtml(decodeText(bytes, declaredEncoding(bytes)), () => undefined);
  revealOpenable(page.root);
  const markdown = htmlToMarkdown(chooseContent(page.root));
  return { title: page.title || firstHeading(markdown), markdown };
}

/** A main part with less than this share of the page's text is a frame around something else. */
const SUBSTANTIAL_SHARE = 0.3;

/** The part of the page that holds its content: `<main>`, or the only `<article>`, when it is substantial. */
export function chooseContent(root: HtmlElement): HtmlElement {
  const mains: HtmlElement[] = [];
  const articles: HtmlElement[] = [];
  const total = survey(root, { mains, articles, depthOfArticle: 0 });
  const candidate = mains[0] ?? (articles.length === 1 ? articles[0] : undefined);
  if (!candidate) return root;
  const own = survey(candidate, { mains: [], articles: [], depthOfArticle: 0 });
  return own > 0 && own >= total * SUBSTANTIAL_SHARE ? candidate : root;
}

interface Survey {
  readonly mains: HtmlElement[];
  readonly articles: HtmlElement[];
  depthOfArticle: number;
}

/** Length of the visible text. Collects main parts and outermost articles on the way. */
function survey(node: HtmlNode, found: Survey): number {
  if (typeof node === "string") return node.trim().length;
  if (isNoise(node)) return 0;
  const isArticle = node.tag === "article";
  if (node.tag === "main" || node.attributes.get("role") === "main") found.mains.push(node);
  if (isArticle && found.depthOfArticle === 0) found.articles.push(node);
  found.depthOfArticle += isArticle ? 1 : 0;
  let length = 0;
  for (const child of node.children) length += survey(child, found);
  found.depthOfArticle -= isArticle ? 1 : 0;
  return length;
}
