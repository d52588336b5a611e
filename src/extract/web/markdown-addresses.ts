import type { PageImage } from "../../contracts/web.ts";
import { trimEnd } from "../../lib/trim-end.ts";
import { withoutCode } from "../detect-language.ts";
import { onOneLine } from "./element-text.ts";
import type { PageAddresses } from "./page-addresses.ts";

const MAX_LINKS = 50_000;
/** What lies behind is text like any other, but nobody looks for links there. */
const MAX_LENGTH = 10_000_000;
/** Of each form, repeated ones included. */
const MAX_MATCHES = 200_000;
const MAX_IMAGES = 500;
const MAX_LABEL_LENGTH = 500;
const MAX_ALT_LENGTH = 300;

const CODE_SPAN = /`{1,3}[^`\n]{1,1000}`{1,3}/g;
const TARGET = /\]\([ \t]{0,9}(?:<([^<>\n]{1,2048})>|((?:[^\s()<>]|\([^\s()<>]{0,200}\)){1,2048}))/g;
const DEFINITION = /^ {0,3}\[(?!\^)[^[\]\n]{1,500}\]:[ \t]{0,9}<?([^\s<>]{1,2048})/gm;
const ANCHOR = /<a\s[^<>]{0,500}?href\s{0,9}=\s{0,9}["']?([^\s"'<>]{1,2048})/gi;
const BARE = /\bhttps?:\/\/(?:[^\s<>"'`()[\]|\\^{}]|\([^\s<>()]{0,200}\)){1,2048}/gi;

interface Found {
  readonly at: number;
  readonly written: string;
}

/**
 * Addresses in Markdown: inline links, definitions of references, autolinks, bare addresses and `<a>`; none of those in code. In `plain` text
 * that is no Markdown only addresses that are written out count: `list[i](x)` is no link.
 */
export function markdownAddresses(
  markdown: string,
  addresses: PageAddresses,
  form: "markdown" | "plain",
): { readonly links: readonly string[]; readonly images: readonly PageImage[] } {
  const read = markdown.slice(0, MAX_LENGTH);
  const text = form === "plain" ? read : withoutCode(read).replaceAll(CODE_SPAN, " ");
  const images = new Map<string, PageImage>();
  const inline: Found[] = [];
  const targets = form === "plain" ? [] : matchesIn(text, TARGET);
  for (const match of targets) {
    const written = match[1] ?? match[2] ?? "";
    const label = labelBefore(text, match.index);
    if (label.isImage) addImage(images, addresses.resolve(written)?.page, label.text);
    else inline.push({ at: match.index, written });
  }
  const marked = form === "plain" ? [] : [DEFINITION, ANCHOR].flatMap((pattern) => addressesIn(text, pattern));
  const found = [...inline, ...marked, ...outside(addressesIn(text, BARE), targets)];
  const links = new Set<string>();
  for (const { written } of found.sort((one, other) => one.at - other.at)) {
    const address = written.startsWith("#") ? undefined : addresses.resolve(written);
    if (address && links.size < MAX_LINKS) links.add(address.page);
  }
  return { links: [...links], images: [...images.values()] };
}

function matchesIn(text: string, pattern: RegExp): RegExpExecArray[] {
  const found: RegExpExecArray[] = [];
  for (const match of text.matchAll(pattern)) if (found.push(match) >= MAX_MATCHES) break;
  return found;
}

function addressesIn(text: string, pattern: RegExp): Found[] {
  return matchesIn(text, pattern).map((match) => ({
    at: match.index,
    written: trimEnd(match[1] ?? match[0], ".,;:!?*_~"),
  }));
}

/** An address inside a target has been read already, perhaps to another end. Both are in order. */
function outside(found: readonly Found[], targets: readonly RegExpExecArray[]): Found[] {
  let next = 0;
  const endOf = (target: RegExpExecArray): number => target.index + target[0].length;
  return found.filter(({ at }) => {
    for (let target = targets[next]; target && endOf(target) <= at; target = targets[next]) next += 1;
    return at < (targets[next]?.index ?? Number.POSITIVE_INFINITY);
  });
}

/** What stands in the brackets that close at `end`; brackets inside are balanced. */
function labelBefore(text: string, end: number): { readonly text: string; readonly isImage: boolean } {
  let depth = 0;
  for (let at = end - 1; at >= 0 && at > end - MAX_LABEL_LENGTH; at -= 1) {
    const character = text[at];
    if (character === "]") depth += 1;
    if (character === "[") depth -= 1;
    if (depth < 0) return { text: text.slice(at + 1, end), isImage: text[at - 1] === "!" };
  }
  return { text: "", isImage: false };
}

function addImage(images: Map<string, PageImage>, url: string | undefined, alt: string): void {
  if (url === undefined || images.has(url) || images.size >= MAX_IMAGES) return;
  images.set(url, {
    url,
    alt: onOneLine(alt, MAX_ALT_LENGTH),
    caption: "",
    surroundings: "",
    position: images.size,
    isPagePicture: false,
  });
}
