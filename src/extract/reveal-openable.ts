import { BLOCK_TAGS, type HtmlElement, type HtmlNode, isHidden, isNoise } from "../lib/html.ts";

/** What is opened may hold what opens more. */
const MAX_ROUNDS = 4;
/** Nodes that are visited to tell what an element is. */
const MAX_NODES = 400;
const MAX_HEAD_LENGTH = 400;
/** Less than this, right behind a heading, is a message or an icon. */
const MIN_LENGTH = 20;
/** More of its text than this in links is a menu. */
const MAX_LINKED_SHARE = 0.6;

/** By what authors call them. Names of content ("menu of the day") are not lost: only what is hidden is judged by them. */
const NO_CONTENT =
  /(?:^|[\s_-])(?:cookies?|consent|gdpr|ccpa|modal|dialog|popup|pop-up|popover|tooltip|lightbox|overlay|off-?canvas|drawer|dropdown|megamenu|(?:[a-z0-9]{1,20}-)?menu|nav(?:bar|igation)?|sidebar|toast|alert|error|success|loading|spinner|sr-only|visually-hidden|newsletter|login|signin|search)(?:$|[\s_-])/i;
const OPENS_NO_CONTENT = /^(?:modal|dropdown|offcanvas|tooltip|popover)$/i;
const TARGETS = [
  "aria-controls",
  "data-target",
  "data-bs-target",
  "data-controls",
  "data-open",
  "data-toggle-target",
  "href",
];

/**
 * Answers of an accordion, and tabs that are not shown first, are hidden until a visible control opens them: they are content,
 * and so is the text of the control. What is hidden otherwise, menus and dialogs stay so. Changes the tree.
 */
export function revealOpenable(root: HtmlElement): void {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const page = new OpenablePage();
    page.survey(root, { inNoise: false });
    page.keepHeads();
    if (!page.reveal(root)) return;
  }
}

interface Around {
  /** Inside of what is left out: a control there is not visible. */
  readonly inNoise: boolean;
}

class OpenablePage {
  /** By id: what visible controls open, and what they label. */
  readonly #opened = new Map<string, HtmlElement>();
  readonly #controls = new Map<string, HtmlElement>();
  readonly #byId = new Map<string, HtmlElement>();

  survey(element: HtmlElement, { inNoise }: Around): void {
    for (const child of element.children) {
      if (typeof child === "string") continue;
      const id = child.attributes.get("id");
      if (id && !this.#byId.has(id)) this.#byId.set(id, child);
      const isSeen = child.tag === "button" ? !isHidden(child) : !isNoise(child);
      const around = { inNoise: inNoise || !isSeen || isNamedNoise(child) };
      if (!around.inNoise) this.#note(child);
      if (!around.inNoise && child.tag === "button" && isWholeHeading(element)) keepText(child);
      if (child.children.length > 0) this.survey(child, around);
    }
  }

  #note(control: HtmlElement): void {
    const { attributes } = control;
    if (attributes.size === 0 || opensNoContent(control)) return;
    for (const id of targetsOf(control)) if (!this.#opened.has(id)) this.#opened.set(id, control);
    const id = attributes.get("id");
    if (id && isControl(control)) this.#controls.set(id, control);
  }

  /** What is open at first, or closed by its class, has a head, too. */
  keepHeads(): void {
    for (const [id, control] of this.#opened) {
      const target = control.tag === "button" ? this.#byId.get(id) : undefined;
      if (target && !isNoise(target) && isContent(target)) keepText(control);
    }
  }

  /** Whether anything was revealed. */
  reveal(element: HtmlElement): boolean {
    const { children } = element;
    let found = false;
    let before: HtmlElement | undefined;
    for (let at = 0; at < children.length; at += 1) {
      const child = children[at];
      if (child === undefined || (typeof child === "string" && child.trim() === "")) continue;
      if (typeof child === "string") {
        before = undefined;
        continue;
      }
      const opener = isHidden(child) ? this.#openerOf(child, before) : undefined;
      if (opener) {
        children[at] = { ...child, attributes: shown(child.attributes) };
        keepText(opener);
        found = true;
      } else if (!isNoise(child) && this.reveal(child)) found = true;
      before = child;
    }
    return found;
  }

  #openerOf(hidden: HtmlElement, before: HtmlElement | undefined): HtmlElement | undefined {
    const { attributes } = hidden;
    if (isNoise({ ...hidden, attributes: shown(attributes) }) || !isContent(hidden)) return undefined;
    const labels = (attributes.get("aria-labelledby") ?? "").split(/\s+/).map((id) => this.#controls.get(id));
    const named = this.#opened.get(attributes.get("id") ?? "") ?? labels.find((one) => one !== undefined);
    const opener = named ?? (before && BLOCK_TAGS.has(hidden.tag) ? headOf(before) : undefined);
    if (!opener) return undefined;
    const { length, inputs } = measure(hidden);
    if (!named && length < MIN_LENGTH) return undefined;
    return inputs > 0 && /cookie|consent|datenschutz|privacy/i.test(textOf(opener) + textOf(hidden))
      ? undefined
      : opener;
  }
}

/** No menu, and no dialog, whether it is shown or not. */
function isContent(element: HtmlElement): boolean {
  if (isNamedNoise(element) || element.attributes.get("aria-modal") === "true") return false;
  const { length, linked } = measure(element);
  return length > 0 && linked <= length * MAX_LINKED_SHARE;
}

/** Buttons beside the text of a heading copy its link. */
function isWholeHeading({ tag, children }: HtmlElement): boolean {
  return /^(?:h[1-6]|dt)$/.test(tag) && children.every((child) => typeof child !== "string" || child.trim() === "");
}

function targetsOf({ tag, attributes }: HtmlElement): string[] {
  const ids: string[] = [];
  for (const name of TARGETS) {
    const value = attributes.get(name)?.slice(0, 500) ?? "";
    if (name === "href" && (tag !== "a" || !value.startsWith("#"))) continue;
    for (const word of value.split(/[\s,]+/))
      if (word.length > 1 || !word.startsWith("#")) ids.push(word.replace(/^#/, ""));
  }
  for (const [, id] of (attributes.get("onclick") ?? "").slice(0, 500).matchAll(/['"]#?([\w:.-]{1,100})['"]/g))
    if (id) ids.push(id);
  return ids.filter((id) => id !== "");
}

function opensNoContent({ attributes }: HtmlElement): boolean {
  const popup = attributes.get("aria-haspopup") ?? "false";
  const toggles = attributes.get("data-toggle") ?? attributes.get("data-bs-toggle") ?? "";
  return popup !== "false" || OPENS_NO_CONTENT.test(toggles) || attributes.has("popovertarget");
}

function isNamedNoise({ tag, attributes }: HtmlElement): boolean {
  if (tag === "main" || tag === "article" || attributes.size === 0) return false;
  return NO_CONTENT.test(`${attributes.get("id") ?? ""} ${attributes.get("class") ?? ""}`.slice(0, 1000));
}

/** Something to press. */
function isControl({ tag, attributes }: HtmlElement): boolean {
  const role = attributes.get("role") ?? "";
  if (tag === "button") return (attributes.get("type") ?? "button").toLowerCase() === "button";
  if (tag === "summary" || role === "button" || role === "tab" || attributes.has("aria-expanded")) return true;
  if (tag === "label") return attributes.has("for");
  return attributes.has("onclick") || (tag === "a" && /^(?:#|javascript:|$)/i.test(attributes.get("href") ?? "#"));
}

/** What opens the element behind it: a control or a heading, or something short that holds one and nothing to fill in. */
function headOf(before: HtmlElement): HtmlElement | undefined {
  if (before.tag !== "button" && isNoise(before)) return undefined;
  if (isNamedNoise(before) || opensNoContent(before)) return undefined;
  if (/^(?:h[1-6]|dt|summary)$/.test(before.tag) || isControl(before)) return controlIn(before) ?? before;
  const { length, inputs } = measure(before, { countButtons: false });
  return inputs === 0 && length <= MAX_HEAD_LENGTH ? controlIn(before) : undefined;
}

function controlIn(element: HtmlElement): HtmlElement | undefined {
  let visited = 0;
  const find = ({ children }: HtmlElement): HtmlElement | undefined => {
    for (const child of children) {
      visited += 1;
      if (typeof child === "string" || visited > MAX_NODES || child.tag === "form") continue;
      const found = isControl(child) && !opensNoContent(child) ? child : find(child);
      if (found) return found;
    }
    return undefined;
  };
  return find(element);
}

interface Measure {
  readonly length: number;
  readonly linked: number;
  readonly inputs: number;
}

function measure(element: HtmlElement, { countButtons = true } = {}): Measure {
  const sum = { length: 0, linked: 0, inputs: 0, visited: 0 };
  const walk = (node: HtmlNode, inLink: boolean): void => {
    sum.visited += 1;
    if (sum.visited > MAX_NODES) return;
    if (typeof node === "string") {
      const { length } = node.trim();
      sum.length += length;
      if (inLink) sum.linked += length;
      return;
    }
    if (/^(?:input|select|textarea|form)$/.test(node.tag) || (countButtons && node.tag === "button")) sum.inputs += 1;
    for (const child of node.children) walk(child, inLink || node.tag === "a");
  };
  for (const child of element.children) walk(child, false);
  return sum;
}

function textOf(element: HtmlElement): string {
  let text = "";
  const walk = ({ children }: HtmlElement): void => {
    for (const child of children) {
      if (text.length > MAX_HEAD_LENGTH) return;
      if (typeof child === "string") text += child.slice(0, MAX_HEAD_LENGTH);
      else walk(child);
    }
  };
  walk(element);
  return text;
}

/** Buttons are left out of the text, all but those that say what they open. */
function keepText(opener: HtmlElement): void {
  if (opener.tag === "button") opener.tag = "summary";
}

function shown(attributes: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const rest = new Map(attributes);
  rest.delete("hidden");
  rest.delete("aria-hidden");
  rest.delete("style");
  return rest;
}
