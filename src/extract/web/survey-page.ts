import type { WebPage } from "../../contracts/web.ts";
import { type HtmlElement, isNoise, parseRefresh } from "../../lib/html.ts";
import { withoutAddressSecrets } from "../../lib/secret-parameters.ts";
import { elementText } from "./element-text.ts";
import { PageAddresses } from "./page-addresses.ts";
import { PageImages } from "./page-images.ts";

/** Enough for an index of everything a large site has. */
const MAX_LINKS = 50_000;
const FEED_TYPES = new Set(["application/rss+xml", "application/atom+xml", "application/feed+json"]);
const MARKDOWN_TYPES = new Set(["text/markdown", "text/x-markdown"]);
/** Where frameworks put what their scripts make. */
const APP_ROOTS = new Set(["root", "app", "__next", "__nuxt", "___gatsby", "svelte", "app-root", "main-app"]);
const MAX_PLACEHOLDER_LENGTH = 50;
/** What leads on sooner is not there to be read. */
const MAX_REFRESH_SECONDS = 5;
/** Where a site keeps the sign-in form that all of its pages have. */
const AROUND_PAGES = new Set(["header", "aside", "nav", "footer", "dialog", "template"]);

/** What a page says besides its text. */
export interface PageSurvey
  extends Pick<
    WebPage,
    "canonical" | "noindex" | "nofollow" | "links" | "images" | "markdownVariant" | "feeds" | "refresh"
  > {
  /** `og:title`, `og:locale` and `content-language`, "" for none. */
  readonly openTitle: string;
  readonly locale: string;
  /** `article:modified_time`, "" for none. */
  readonly modifiedTime: string;
  /** The place for what scripts make is there, and empty. */
  readonly hasEmptyAppRoot: boolean;
  /** It asks readers without scripts to turn them on. */
  readonly asksForScripts: boolean;
  /** Where it asks for a password: in its midst, or around what is to be read. */
  readonly passwordField: "" | "amidst" | "around";
  /** The forms that ask for one. */
  readonly passwordForms: ReadonlySet<HtmlElement>;
}

/**
 * One walk over the tree. Relative links in it become absolute on the way: read elsewhere, they would lead nowhere.
 * Without scripts the content of `<noscript>` is part of the page; that of `<template>` never is.
 */
export function surveyPage(root: HtmlElement, pageUrl: string): PageSurvey {
  const surveyor = new PageSurveyor(new PageAddresses(pageUrl, baseOf(root)));
  surveyor.walk(root);
  return surveyor.survey();
}

/** Browsers take the first one, also for what stands before it. */
function baseOf(root: HtmlElement): string {
  for (const child of root.children) {
    if (typeof child !== "string" && child.tag === "base" && child.attributes.has("href")) {
      return child.attributes.get("href") ?? "";
    }
  }
  return "";
}

class PageSurveyor {
  readonly #addresses: PageAddresses;
  readonly #images: PageImages;
  readonly #around: HtmlElement[] = [];
  readonly #links = new Set<string>();
  readonly #canonicals = new Set<string>();
  readonly #feeds = new Set<string>();
  readonly #robots = new Set<string>();
  #markdownVariant = "";
  #openTitle = "";
  #openLocale = "";
  #contentLanguage = "";
  #modifiedTime = "";
  #hasEmptyAppRoot = false;
  #asksForScripts = false;
  #refresh = "";
  #passwordField: PageSurvey["passwordField"] = "";
  readonly #passwordForms = new Set<HtmlElement>();

  constructor(addresses: PageAddresses) {
    this.#addresses = addresses;
    this.#images = new PageImages(addresses);
  }

  /** Recursion is safe: the tree is of bounded depth. */
  walk(element: HtmlElement): void {
    const { children } = element;
    this.#around.push(element);
    for (let at = 0; at < children.length; at += 1) {
      const child = children[at];
      if (child === undefined || typeof child === "string" || child.tag === "template") continue;
      this.#meet(child);
      if (child.tag === "a") children[at] = this.#withShownTarget(child);
      if (child.children.length > 0) this.walk(child);
    }
    this.#around.pop();
  }

  survey(): PageSurvey {
    const [canonical = "", ...others] = this.#canonicals;
    const nofollow = this.#robots.has("nofollow") || this.#robots.has("none");
    return {
      canonical: others.length === 0 ? canonical : "",
      noindex: this.#robots.has("noindex") || this.#robots.has("none"),
      nofollow,
      links: nofollow ? [] : [...this.#links],
      images: this.#images.list,
      markdownVariant: this.#markdownVariant,
      feeds: [...this.#feeds],
      openTitle: this.#openTitle,
      locale: this.#openLocale || this.#contentLanguage,
      modifiedTime: this.#modifiedTime,
      hasEmptyAppRoot: this.#hasEmptyAppRoot,
      asksForScripts: this.#asksForScripts,
      refresh: this.#refresh,
      passwordField: this.#passwordField,
      passwordForms: this.#passwordForms,
    };
  }

  #meet(element: HtmlElement): void {
    const { tag, attributes } = element;
    switch (tag) {
      case "a":
      case "area":
        if (!wordsOf(attributes.get("rel")).includes("nofollow")) this.#addLink(attributes.get("href") ?? "");
        break;
      case "frame":
        this.#addLink(attributes.get("src") ?? "");
        break;
      case "input":
        if ((attributes.get("type") ?? "").trim().toLowerCase() === "password") this.#meetPassword();
        break;
      case "img":
        this.#images.meetImage(element, this.#around);
        break;
      case "p":
        this.#images.meetParagraph(element);
        break;
      case "link":
        this.#meetLink(attributes);
        break;
      case "meta":
        this.#meetMeta(attributes);
        break;
      case "noscript":
        this.#asksForScripts ||= /java\s?script/i.test(noscriptText(element));
        break;
      default:
        if (APP_ROOTS.has(attributes.get("id") ?? "") || tag === "app-root") this.#hasEmptyAppRoot ||= isEmpty(element);
    }
  }

  #addLink(written: string): void {
    if (this.#links.size >= MAX_LINKS || written.startsWith("#")) return;
    const address = this.#addresses.resolve(written);
    if (address) this.#links.add(address.page);
  }

  #meetLink(attributes: ReadonlyMap<string, string>): void {
    const rel = wordsOf(attributes.get("rel"));
    const url = this.#addresses.resolve(attributes.get("href") ?? "")?.page;
    if (url === undefined) return;
    if (rel.includes("canonical")) this.#canonicals.add(url);
    if (!rel.includes("alternate")) return;
    if (attributes.has("hreflang") && !attributes.has("media")) this.#links.add(url);
    const type = (attributes.get("type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
    if (FEED_TYPES.has(type)) this.#feeds.add(withoutAddressSecrets(url));
    if (MARKDOWN_TYPES.has(type)) this.#markdownVariant ||= url;
  }

  #meetMeta(attributes: ReadonlyMap<string, string>): void {
    const content = attributes.get("content") ?? "";
    const name = attributes.get("name") ?? attributes.get("property") ?? attributes.get("http-equiv") ?? "";
    switch (name.trim().toLowerCase()) {
      case "robots":
      case "lockstep":
        for (const word of content
          .slice(0, 1000)
          .toLowerCase()
          .split(/[\s,]+/))
          this.#robots.add(word);
        break;
      case "og:title":
        this.#openTitle ||= content;
        break;
      case "og:locale":
        this.#openLocale ||= content;
        break;
      case "article:modified_time":
        this.#modifiedTime ||= content.trim();
        break;
      case "content-language":
        this.#contentLanguage ||= content;
        break;
      case "og:image":
      case "og:image:url":
      case "twitter:image":
      case "twitter:image:src":
        this.#images.addPagePicture(content);
        break;
      case "og:image:alt":
      case "twitter:image:alt":
        this.#images.describePagePicture(content);
        break;
      case "refresh":
        this.#meetRefresh(content);
        break;
    }
  }

  #meetRefresh(content: string): void {
    const refresh = parseRefresh(content);
    if (!refresh) return;
    this.#addLink(refresh.target);
    // Readers without scripts are redirected to a page that says so.
    if (refresh.seconds > MAX_REFRESH_SECONDS || this.#around.some(({ tag }) => tag === "noscript")) return;
    this.#refresh ||= this.#addresses.resolve(refresh.target)?.page ?? "";
  }

  #meetPassword(): void {
    const isAround = this.#around.some((each) => AROUND_PAGES.has(each.tag) || isNoise(each));
    if (this.#passwordField !== "amidst") this.#passwordField = isAround ? "around" : "amidst";
    const form = this.#around.findLast(({ tag }) => tag === "form");
    if (form) this.#passwordForms.add(form);
  }

  /** The target absolute, and without what must not get into the document; none where it cannot be told. */
  #withShownTarget(link: HtmlElement): HtmlElement {
    const written = (link.attributes.get("href") ?? "").trim();
    if (written === "" || written.startsWith("#")) return link;
    const isAbsolute = /^[a-z][\w+.-]*:/i.test(written);
    const target = isAbsolute ? written : (this.#addresses.resolve(written)?.full ?? "");
    const shown = withoutAddressSecrets(target);
    if (shown === written) return link;
    // Many links show where they lead.
    const children =
      shown === target
        ? link.children
        : link.children.map((child) => (typeof child === "string" ? child.replaceAll(written, shown) : child));
    return { ...link, children, attributes: new Map(link.attributes).set("href", shown) };
  }
}

function wordsOf(attribute: string | undefined): readonly string[] {
  return attribute ? attribute.toLowerCase().split(/\s+/) : [];
}

function isEmpty(element: HtmlElement): boolean {
  return elementText(element, MAX_PLACEHOLDER_LENGTH + 1).length <= MAX_PLACEHOLDER_LENGTH;
}

function noscriptText(element: HtmlElement): string {
  return elementText(element, 500);
}
