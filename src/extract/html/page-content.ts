import type { HtmlElement, HtmlNode } from "./html-tree.ts";

const NOISE_TAGS = new Set(
  `area audio base button canvas datalist dialog embed footer iframe input link map meta nav noscript object
param progress script search select source style svg template textarea track video`.split(/\s/),
);
const NOISE_ROLES = new Set(["navigation", "banner", "contentinfo", "search", "menu", "menubar", "dialog"]);

/** A main part with less than this share of the page's text is a frame around something else. */
const SUBSTANTIAL_SHARE = 0.3;

/** What nobody reads, or what every page of a site repeats: not content. */
export function isNoise(element: HtmlElement): boolean {
  const { tag, attributes } = element;
  if (NOISE_TAGS.has(tag)) return true;
  if (attributes.size === 0) return false;
  if (attributes.has("hidden") && attributes.get("hidden") !== "until-found") return true;
  if (attributes.get("aria-hidden") === "true") return true;
  if (NOISE_ROLES.has(attributes.get("role") ?? "")) return true;
  const style = attributes.get("style");
  return style !== undefined && /(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(style.slice(0, 2000));
}

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
