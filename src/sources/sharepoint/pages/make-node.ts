import { BLOCK_TAGS, type HtmlElement, type HtmlNode } from "../../../lib/html/html-tree.ts";

/** An element as the parser would have built it. */
export function makeNode(tag: string, children: readonly HtmlNode[], attributes?: Record<string, string>): HtmlElement {
  const hasBlock = children.some((child) => typeof child !== "string" && (child.hasBlock || BLOCK_TAGS.has(child.tag)));
  return { tag, attributes: new Map(Object.entries(attributes ?? {})), children: [...children], hasBlock };
}
