import { BLOCK_TAGS, type HtmlElement, type HtmlNode, parseHtml } from "../../../lib/html.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../../lib/json-object.ts";

/** Position of a control on the page. */
interface Position {
  /** 1 for the column at the side, which comes last. */
  readonly aside: number;
  readonly zone: number;
  readonly column: number;
  readonly control: number;
  /** Heading of a collapsible section; "" for none. */
  readonly heading: string;
}

interface Placed {
  readonly position: Position;
  readonly nodes: readonly HtmlNode[];
}

interface Context {
  readonly pageTitle: string;
  readonly check: () => void;
}

const START: Position = { aside: 0, zone: 0, column: 0, control: 0, heading: "" };

/**
 * Returns the readable nodes of a canvas in reading order. A canvas is HTML with JSON descriptions of its controls in
 * attributes, or all JSON, depending on the API. A broken description is ignored, and the text stays where it is. Throws
 * if an all-JSON canvas is broken.
 */
export function canvasNodes(canvas: string, context: Context): HtmlNode[] {
  const placed = /^\s*\[\s*[{\]]/.test(canvas.slice(0, 1000))
    ? readJsonCanvas(canvas, context)
    : new HtmlCanvas(context).read(canvas);
  const nodes: HtmlNode[] = [];
  let zone = "";
  for (const { position, nodes: inner } of placed.toSorted(byPosition)) {
    const key = `${position.aside} ${position.zone}`;
    if (position.heading && key !== zone) nodes.push(makeNode("h2", [position.heading]));
    zone = key;
    nodes.push(makeNode("div", inner));
  }
  return nodes;
}

function byPosition({ position: a }: Placed, { position: b }: Placed): number {
  return a.aside - b.aside || a.zone - b.zone || a.column - b.column || a.control - b.control;
}

/** Returns the position of a control; without one, that of the control before it. */
function positionOf(control: JsonObject, before: Position): Position {
  const position = control["position"];
  if (!isJsonObject(position)) return before;
  const number = (name: string): number => {
    const value = position[name];
    return typeof value === "number" && Number.isFinite(value) ? value : 0;
  };
  const heading = asObject(control["zoneGroupMetadata"])["displayName"];
  return {
    aside: number("layoutIndex") > 1 ? 1 : 0,
    zone: number("zoneIndex"),
    column: number("sectionIndex"),
    control: number("controlIndex"),
    heading: typeof heading === "string" ? heading.trim() : "",
  };
}

function readJsonCanvas(canvas: string, { check, pageTitle }: Context): Placed[] {
  const placed: Placed[] = [];
  const controls: unknown = JSON.parse(canvas);
  let position = START;
  for (const control of Array.isArray(controls) ? controls.filter(isJsonObject) : []) {
    check();
    position = positionOf(control, position);
    const { innerHTML, webPartData } = control;
    if (typeof innerHTML === "string") placed.push({ position, nodes: parseHtml(innerHTML, check).root.children });
    if (!isJsonObject(webPartData)) continue;
    placed.push({ position, nodes: webPartNodes(contentFromJson(webPartData, check), pageTitle) });
  }
  return placed;
}

/** Attributes that mark an element as a control. */
const CONTROL_ATTRIBUTES = ["canvascontrol", "webpart", "webpartdata", "componentid", "htmlproperties"].map(
  (it) => `data-sp-${it}`,
);

class HtmlCanvas {
  readonly #context: Context;
  readonly #placed: Placed[] = [];
  /** Elements that contain a marked one. Unclosed markup nests controls into each other, so it may be any element. */
  readonly #containers = new Set<HtmlElement>();
  #position = START;

  constructor(context: Context) {
    this.#context = context;
  }

  read(canvas: string): Placed[] {
    const { root } = parseHtml(canvas, this.#context.check);
    this.#survey(root);
    this.#walk(root.children);
    return this.#placed;
  }

  #survey(element: HtmlElement): boolean {
    let found = false;
    for (const child of element.children) if (typeof child !== "string" && this.#survey(child)) found = true;
    if (found) this.#containers.add(element);
    return found || CONTROL_ATTRIBUTES.some((mark) => element.attributes.has(mark));
  }

  #walk(nodes: readonly HtmlNode[]): void {
    let loose: HtmlNode[] = [];
    const endLoose = (): void => {
      if (loose.length > 0) this.#placed.push({ position: this.#position, nodes: loose });
      loose = [];
    };
    for (const node of nodes) {
      if (typeof node === "string" || !(this.#containers.has(node) || isMarked(node))) loose.push(node);
      else {
        endLoose();
        this.#marked(node);
      }
    }
    endLoose();
  }

  #marked(element: HtmlElement): void {
    const { attributes, children } = element;
    const control = attributes.has("data-sp-canvascontrol")
      ? (parseJsonObject(attributes.get("data-sp-controldata") ?? "") ?? {})
      : {};
    this.#position = positionOf(control, this.#position);
    if (attributes.has("data-sp-componentid")) return;
    const inControl = asObject(control["webPartData"]);
    const isWebPart = attributes.has("data-sp-webpart") || attributes.has("data-sp-webpartdata");
    if (isWebPart) this.#webPart(element, parseJsonObject(attributes.get("data-sp-webpartdata") ?? "") ?? {});
    else if (Object.keys(inControl).length > 0) this.#webPart(element, inControl);
    else this.#walk(children);
  }

  #webPart(element: HtmlElement, description: JsonObject): void {
    const content = contentFromJson(description, this.#context.check);
    const holders = element.children.filter(
      (child): child is HtmlElement => typeof child !== "string" && child.attributes.has("data-sp-htmlproperties"),
    );
    const inside = holders.flatMap((holder) => holder.children);
    const isNamed = (node: HtmlNode): node is HtmlElement =>
      typeof node !== "string" && node.attributes.has("data-sp-prop-name") && !this.#containers.has(node);
    addFromElements(content, inside.filter(isNamed));
    const nodes = webPartNodes(content, this.#context.pageTitle);
    if (nodes.length > 0) this.#placed.push({ position: this.#position, nodes });
    this.#walk(element.children.filter((child) => typeof child === "string" || !holders.includes(child)));
    this.#walk(inside.filter((node) => !isNamed(node)));
  }
}

function isMarked({ attributes }: HtmlElement): boolean {
  return attributes.size > 0 && CONTROL_ATTRIBUTES.some((mark) => attributes.has(mark));
}

/** A group of properties of a web part: one quick link, person or tile; or the web part itself. */
interface Entry {
  readonly texts: Map<string, string>;
  readonly markup: HtmlNode[];
  readonly links: string[];
  readonly alts: string[];
}

/** Properties that name an entry, in order of preference. */
const LEADING_NAMES = ["title", "name", "label", "text"];
const GUID = /^\{?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?$/i;

/** Returns the content of a web part: its title, texts and images, then its entries as a list. */
function webPartNodes(content: WebPartContent, pageTitle: string): HtmlNode[] {
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
    // `items[0].image.title` belongs to entry `items[0]`.
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
  // The banner of a page repeats the page title.
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

/** Contents of a web part, by property name: `title`, `items[0].description`. */
interface WebPartContent {
  readonly texts: Map<string, string>;
  readonly markup: Map<string, readonly HtmlNode[]>;
  readonly links: Map<string, string>;
  /** Alternative texts of images. */
  readonly images: Map<string, string>;
}

/** Reads what SharePoint prepared for its own search. Other properties are settings. */
function contentFromJson(webPart: JsonObject, check: () => void): WebPartContent {
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
  // The Markdown web part has the source besides the rendered HTML.
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

/** Reads the same from elements: `<div data-sp-prop-name="title" data-sp-searchableplaintext="true">`. */
function addFromElements(content: WebPartContent, properties: readonly HtmlElement[]): void {
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

/** Returns the text properties in order; skips other values. */
function textsOf(value: unknown): Map<string, string> {
  const pairs = Object.entries(asObject(value)).filter((pair): pair is [string, string] => typeof pair[1] === "string");
  return new Map(pairs);
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Builds an element like the parser's. */
function makeNode(tag: string, children: readonly HtmlNode[], attributes?: Record<string, string>): HtmlElement {
  const hasBlock = children.some((child) => typeof child !== "string" && (child.hasBlock || BLOCK_TAGS.has(child.tag)));
  return { tag, attributes: new Map(Object.entries(attributes ?? {})), children: [...children], hasBlock };
}
