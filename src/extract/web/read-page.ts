import { isUtf8 } from "node:buffer";
import type { PageDate, PageImage, WebPage } from "../../contracts/web.ts";
import { type HtmlElement, type HtmlNode, type HtmlPage, isNoise, parseHtml } from "../../lib/html.ts";
import { isJsonObject, parseJson } from "../../lib/json-object.ts";
import { trimEnd } from "../../lib/text.ts";
import { declaredEncoding, decodeBytes, decoderFor } from "../decode-text.ts";
import { detectLanguage, withoutCode } from "../detect-language.ts";
import { chooseContent } from "../html.ts";
import { htmlToMarkdown } from "../html-to-markdown.ts";
import { firstHeading, readMarkdownText } from "../markdown.ts";
import type { PageRequest } from "../reader/messages.ts";
import { revealOpenable } from "../reveal-openable.ts";
import { onOneLine } from "./element-text.ts";
import { PageAddresses } from "./page-addresses.ts";
import { type PageSurvey, surveyPage } from "./survey-page.ts";

const MAX_TITLE_LENGTH = 300;
/** A page of 10 MB may have so many; their tree takes a quarter of a gigabyte. */
const MAX_TAGS = 500_000;
const CUT_NOTE = "\n\n(The rest of the page is left out: it is too long.)";
/** A page with more text than this can be read without its scripts. */
const MAX_BARE_TEXT_LENGTH = 250;
/** Less than this is nothing to read. */
const MIN_TEXT_LENGTH = 20;
/** A page that asks for a password and says no more beside is there to sign in. */
const MAX_SIGN_IN_TEXT = 400;

/** Whatever the bytes are, something can be said of them. The time it takes is in proportion to their number. */
export function readPage({ form, bytes, contentType, url }: Omit<PageRequest, "kind" | "limits">): WebPage {
  return form === "html" ? readHtmlPage(bytes, contentType, url) : readTextPage(bytes, contentType, url);
}

function readHtmlPage(bytes: Uint8Array, contentType: string, url: string): WebPage {
  const page = parseHtml(decodePage(bytes, contentType), () => undefined, MAX_TAGS);
  revealOpenable(page.root);
  const survey = surveyPage(page.root, url);
  const content = htmlToMarkdown(chooseContent(page.root));
  const title = onOneLine(page.title || survey.openTitle || firstHeading(content), MAX_TITLE_LENGTH);
  const { canonical, noindex, nofollow, links, images, markdownVariant, feeds, refresh } = survey;
  return {
    title,
    language: languageTag(page.language) || languageTag(survey.locale) || detectLanguage(content),
    markdown: underTitle(title, content) + (page.isCut ? CUT_NOTE : ""),
    dates: datesIn(survey.modifiedTime, page.facts),
    needsScripts: needsScripts(page, survey, content),
    isSignIn: isSignIn(page.root, survey),
    ...{ canonical, noindex, nofollow, links, images, markdownVariant, feeds, refresh },
  };
}

/** The text beside the form counts, not what stands in it. */
function isSignIn(root: HtmlElement, { passwordField, passwordForms }: PageSurvey): boolean {
  if (passwordField === "") return false;
  const max = passwordField === "amidst" ? MAX_SIGN_IN_TEXT : MIN_TEXT_LENGTH;
  let left = max;
  const count = (node: HtmlNode): void => {
    if (left < 0) return;
    if (typeof node === "string") left -= node.trim().length;
    else if (!isNoise(node) && !passwordForms.has(node)) for (const child of node.children) count(child);
  };
  count(chooseContent(root));
  return left >= 0;
}

function readTextPage(bytes: Uint8Array, contentType: string, url: string): WebPage {
  const { title, markdown } = readMarkdownText(decodePage(bytes, contentType));
  return {
    title: onOneLine(title, MAX_TITLE_LENGTH),
    language: detectLanguage(markdown),
    markdown,
    ...markdownAddresses(markdown, new PageAddresses(url), isMarkdown(contentType, url) ? "markdown" : "plain"),
    canonical: "",
    noindex: false,
    nofollow: false,
    markdownVariant: "",
    feeds: [],
    dates: [],
    needsScripts: false,
    refresh: "",
    isSignIn: false,
  };
}

/** Much Markdown is served as plain text, `llms.txt` by definition. */
function isMarkdown(contentType: string, url: string): boolean {
  return /markdown/i.test(contentType) || /\.(?:md|mdx|markdown|txt)$/i.test(URL.parse(url)?.pathname ?? "");
}

function underTitle(title: string, content: string): string {
  if (title === "" || content.startsWith("# ")) return content;
  return content === "" ? `# ${title}` : `# ${title}\n\n${content}`;
}

/** The ISO 639-1 code of `de-AT` or `pt_BR`, "" for anything else, also for several. */
function languageTag(tag: string): string {
  return /^\s*([a-z]{2})(?:[-_][a-z0-9]{1,8})*\s*$/i.exec(tag.slice(0, 50))?.[1]?.toLowerCase() ?? "";
}

/** Rendering is expensive, so there must be a reason besides little text: many pages are just short. */
function needsScripts(page: HtmlPage, survey: PageSurvey, content: string): boolean {
  if (page.scripts === 0 || content.length > MAX_BARE_TEXT_LENGTH) return false;
  if (survey.hasEmptyAppRoot || survey.asksForScripts) return true;
  return content.length < MIN_TEXT_LENGTH && survey.links.length === 0 && survey.images.length === 0;
}

/** What servers are set up to claim of every file they have. */
const CLAIMED_BY_DEFAULT = /^(?:windows-125\d|iso-8859-\d+)$/;

const SAMPLE_BYTES = 16 * 1024;

/**
 * Text of an answer, whatever its bytes are. A byte order mark decides; then the charset of the header, what the page declares, and what the bytes look like.
 * Bytes that are UTF-8 are read as such where a one-byte encoding is claimed: no text in one of those looks like that by accident.
 */
function decodePage(bytes: Uint8Array, contentType: string): string {
  const given = bytes.includes(0) && hasStrayNuls(bytes) ? bytes.filter((byte) => byte !== 0) : bytes;
  const claimed = decoderFor(charsetIn(contentType)) || declaredEncoding(given);
  const declared = CLAIMED_BY_DEFAULT.test(decoderFor(claimed)) && isUtf8(given) ? "" : claimed;
  const text = decodeBytes(given, declared).replaceAll("\0", "");
  return text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text;
}

/** In UTF-16 the markup alone has more. */
function hasStrayNuls(bytes: Uint8Array): boolean {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  return sample.reduce((count, byte) => (byte === 0 ? count + 1 : count), 0) * 10 < sample.length;
}

function charsetIn(contentType: string): string {
  return /;\s*charset\s*=\s*["']?([\w:.-]{1,40})/i.exec(contentType.slice(0, 500))?.[1] ?? "";
}

/** What is about something else than the page. */
const ABOUT_OTHERS = new Set([
  "comment",
  "review",
  "author",
  "publisher",
  "ispartof",
  "mentions",
  "citation",
  "hascourse",
]);
const MAX_OBJECTS = 2000;
const MAX_TEXT = 100;

/** When the page says it was changed, the most trustworthy first. `facts` are its JSON-LD. */
function datesIn(modifiedTime: string, facts: readonly string[]): PageDate[] {
  const dates: PageDate[] = [];
  if (modifiedTime) dates.push({ from: "article:modified_time", text: modifiedTime.slice(0, MAX_TEXT) });
  for (const fact of facts) {
    const text = dateModified(fact);
    if (text) dates.push({ from: "dateModified", text: text.slice(0, MAX_TEXT) });
  }
  return dates;
}

/** The first one, from the outside to the inside. */
function dateModified(fact: string): string {
  let level: unknown[] = [parseJson(fact)];
  for (let met = 0; level.length > 0 && met < MAX_OBJECTS; ) {
    const next: unknown[] = [];
    for (const value of level) {
      met += 1;
      if (Array.isArray(value)) next.push(...value.slice(0, MAX_OBJECTS));
      if (!isJsonObject(value)) continue;
      const date = value["dateModified"];
      if (typeof date === "string" && date.trim()) return date.trim();
      for (const [key, inner] of Object.entries(value)) {
        if (typeof inner === "object" && !ABOUT_OTHERS.has(key.toLowerCase())) next.push(inner);
      }
    }
    level = next;
  }
  return "";
}

const MAX_LINKS = 50_000;
/** Links are only extracted from this much text. */
const MAX_LENGTH = 10_000_000;
/** For each pattern, repeated matches included. */
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
function markdownAddresses(
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
