import type { HtmlNode } from "../../../lib/html/html-tree.ts";
import { makeNode } from "./make-node.ts";
import type { WebPartContent } from "./web-part-content.ts";

/** What belongs together in a web part: one quick link, one person, one tile; or the web part itself. */
interface Entry {
  readonly texts: Map<string, string>;
  readonly markup: HtmlNode[];
  readonly links: string[];
  readonly alts: string[];
}

/** In the order of what a reader would call the thing by. */
const LEADING_NAMES = ["title", "name", "label", "text"];
const GUID = /^\{?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?$/i;

/** A web part's content as a reader sees it: its title, its texts and pictures, then its entries as a list. */
export function webPartNodes(content: WebPartContent, pageTitle: string): HtmlNode[] {
  const entries = groupEntries(content);
  const own = entries.get("");
  entries.delete("");
  const nodes = own ? ownNodes(own, pageTitle) : [];
  const items = [...entries.values()].map((entry) => makeNode("li", itemNodes(entry)));
  if (items.length > 0) nodes.push(makeNode("ul", items));
  return nodes;
}

function groupEntries(content: WebPartContent): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  const at = (name: string): { entry: Entry; name: string } => {
    // `items[0].image.title` belongs to `items[0]`.
    const end = name.lastIndexOf("]") + 1;
    const key = name.slice(0, end);
    const entry = entries.get(key) ?? { texts: new Map(), markup: [], links: [], alts: [] };
    entries.set(key, entry);
    return { entry, name: name.slice(end).replace(/^\./, "") };
  };
  for (const [path, text] of content.texts) {
    const { entry, name } = at(path);
    if (text.trim() && !GUID.test(text.trim())) entry.texts.set(name, text);
  }
  for (const [path, nodes] of content.markup) at(path).entry.markup.push(makeNode("div", nodes));
  for (const [path, target] of content.links) {
    const { entry, name } = at(path);
    if (target.trim() && name !== "baseUrl") entry.links.push(target);
  }
  for (const [path, alt] of content.images) if (alt.trim()) at(path).entry.alts.push(alt);
  return entries;
}

function ownNodes({ texts, markup, links, alts }: Entry, pageTitle: string): HtmlNode[] {
  const [titleName, title] = [...texts].find(([name]) => /(?:^t|T)itle$/.test(name)) ?? ["", ""];
  const nodes: HtmlNode[] = [];
  // The banner of a page repeats its title.
  if (title && title.trim() !== pageTitle.trim()) nodes.push(makeNode("h3", [title]));
  const others = [...texts].filter(([name]) => name !== titleName);
  const captions = others.filter(([name]) => /caption/i.test(name)).map(([, text]) => text);
  const rest = others.filter(([name]) => !/caption/i.test(name)).map(([, text]) => text);
  const pictures = alts.map((alt) => makeNode("p", [makeNode("img", [], { alt })]));
  if (pictures.length > 0 || captions.length > 0) {
    nodes.push(
      makeNode("figure", [
        ...pictures,
        makeNode(
          "figcaption",
          captions.map((text) => makeNode("p", [text])),
        ),
      ]),
    );
  }
  const targets = [...links];
  for (const text of rest) nodes.push(makeNode("p", [linked(text, targets.shift())]));
  const leftOver = targets.map((target) => makeNode("p", [linked(title || alts[0] || target, target)]));
  return [...nodes, ...markup, ...leftOver];
}

function itemNodes({ texts, markup, links, alts }: Entry): HtmlNode[] {
  const leading = LEADING_NAMES.find((name) => texts.has(name)) ?? texts.keys().next().value;
  const lead = leading === undefined ? "" : (texts.get(leading) ?? "");
  const target = links[0];
  const first = lead || alts[0] || target || "";
  const nodes: HtmlNode[] = [linked(first, target)];
  for (const [name, text] of texts) if (name !== leading) nodes.push(makeNode("br", []), text);
  for (const alt of alts) if (alt !== first) nodes.push(makeNode("br", []), makeNode("img", [], { alt }));
  return [...nodes, ...markup];
}

function linked(text: string, target: string | undefined): HtmlNode {
  return target ? makeNode("a", [text], { href: target }) : text;
}
