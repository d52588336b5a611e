import type { HtmlElement, HtmlNode } from "../../../lib/html/html-tree.ts";
import { parseHtml } from "../../../lib/html/parse-html.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json-object.ts";

/** What a web part shows, by the names its properties have: `title`, `items[0].description`. */
export interface WebPartContent {
  readonly texts: Map<string, string>;
  readonly markup: Map<string, readonly HtmlNode[]>;
  readonly links: Map<string, string>;
  /** With the texts that stand for the image. */
  readonly images: Map<string, string>;
}

/** What SharePoint itself keeps of a web part for its search. Properties beside it are settings, not text. */
export function contentFromJson(webPart: JsonObject, check: () => void): WebPartContent {
  const processed = asObject(webPart["serverProcessedContent"]);
  const content: WebPartContent = {
    texts: textsOf(processed["searchablePlainTexts"]),
    markup: new Map(),
    links: textsOf(processed["links"]),
    images: new Map(),
  };
  for (const [name, html] of textsOf(processed["htmlStrings"])) {
    content.markup.set(name, parseHtml(html, check).root.children);
  }
  // The Markdown web part keeps what was typed beside what it became.
  if (content.markup.has("html")) content.texts.delete("code");
  const properties = asObject(webPart["properties"]);
  for (const name of textsOf(processed["imageSources"]).keys()) {
    content.images.set(name, altTextOf(asObject(processed["customMetadata"])[name]) || altTextOf(properties));
  }
  if (content.images.size > 0) {
    for (const name of ["captionText", "overlayText"]) {
      const text = properties[name];
      if (typeof text === "string" && text && !content.markup.has(name)) content.texts.set(name, text);
    }
  }
  return content;
}

/** The same, as elements inside the web part: `<div data-sp-prop-name="title" data-sp-searchableplaintext="true">`. */
export function addFromElements(content: WebPartContent, properties: readonly HtmlElement[]): void {
  for (const element of properties) {
    const { tag, attributes, children } = element;
    const name = attributes.get("data-sp-prop-name") ?? "";
    if (tag === "a" || tag === "link") addNew(content.links, name, attributes.get("href") ?? "");
    else if (tag === "img") addNew(content.images, name, attributes.get("alt") ?? "");
    else if (attributes.has("data-sp-searchableplaintext")) {
      if (!content.markup.has("html") || name !== "code") addNew(content.texts, name, plainText(children));
    } else if (!content.texts.has(name)) addNew(content.markup, name, children);
  }
}

function addNew<T>(map: Map<string, T>, name: string, value: T): void {
  if (!map.has(name)) map.set(name, value);
}

function altTextOf(value: unknown): string {
  const text = asObject(value)["altText"];
  return typeof text === "string" ? text : "";
}

function plainText(nodes: readonly HtmlNode[]): string {
  return nodes.map((node) => (typeof node === "string" ? node : plainText(node.children))).join(" ");
}

/** Order as sent; values that are no texts say nothing to a reader. */
function textsOf(value: unknown): Map<string, string> {
  const pairs = Object.entries(asObject(value)).filter((pair): pair is [string, string] => typeof pair[1] === "string");
  return new Map(pairs);
}

export function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
