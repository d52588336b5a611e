import type { WebPage } from "../../contracts/web.ts";
import type { HtmlElement, HtmlNode } from "../../lib/html/html-tree.ts";
import { isNoise } from "../../lib/html/is-noise.ts";
import { type HtmlPage, parseHtml } from "../../lib/html/parse-html.ts";
import { detectLanguage } from "../detect-language.ts";
import { htmlToMarkdown } from "../html/html-to-markdown.ts";
import { chooseContent } from "../html/page-content.ts";
import { revealOpenable } from "../html/reveal-openable.ts";
import { firstHeading, readMarkdownText } from "../markdown.ts";
import type { PageRequest } from "../reader/messages.ts";
import { decodePage } from "./decode-page.ts";
import { onOneLine } from "./element-text.ts";
import { markdownAddresses } from "./markdown-addresses.ts";
import { PageAddresses } from "./page-addresses.ts";
import { datesIn } from "./page-dates.ts";
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
export function readAnswer({ form, bytes, contentType, url }: Omit<PageRequest, "kind" | "limits">): WebPage {
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
