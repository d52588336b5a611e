import type { ExtractedDocument } from "../../contracts/document.ts";
import { explain, RemoteError } from "../../contracts/errors.ts";
import type { ContentState, HttpState } from "../../contracts/registry.ts";
import {
  BodyError,
  type PageDate,
  type PageImage,
  type VisitOptions,
  type WebPage,
  type WebResponse,
} from "../../contracts/web.ts";
import { contentDigest, textDigest } from "../../lib/hash.ts";
import { toInstant } from "../../lib/time.ts";
import { chooseDate, type Dated } from "../../plan/web/choose-date.ts";
import { readDatedAddress, undatedText } from "../../plan/web/dated-pages.ts";
import { shownAddress } from "../../plan/web/item-identity.ts";
import { type ContentKind, extensionOf, isAddressList, kindOf, mimeTypeOf, sniffKind } from "./content-type.ts";
import {
  type HeaderDirectives,
  type PageFailure,
  type PageRefusal,
  type RequestOptions,
  type ResolvedUrl,
  readHeaderDirectives,
  readingRevision,
  throwIfStopped,
  type VisitorParts,
} from "./request-page.ts";

/** A response that was read: its document and metadata. */
export interface PageReading {
  readonly kind: "read";
  readonly document: Uint8Array;
  /** The response body. */
  readonly raw: { readonly bytes: Uint8Array; readonly mimeType: string };
  readonly http: Partial<HttpState>;
  readonly content: ContentState;
  /** undefined for a file, which is not searched for links. */
  readonly page: WebPage | undefined;
  readonly isHtml: boolean;
  /** Where `noindex` was found, "" for nowhere. */
  readonly noindex: "" | "page" | "headers";
  /** Absolute, "" for none. */
  readonly canonical: string;
  readonly links: readonly string[];
  readonly feeds: readonly string[];
  /** Hash of the content besides the date in its URL; "" if the URL has no date. */
  readonly undated: string;
  readonly images: readonly PageImage[];
  /** Remark for the log, "" for none. */
  readonly remark: string;
}

export type ReadOptions = Pick<RequestOptions, "tell" | "signal"> & Pick<VisitOptions, "listedDate">;

/** Receives the body and reads it. Throws only when the signal aborts. */
export async function readPage(
  response: WebResponse,
  resolved: ResolvedUrl,
  parts: VisitorParts,
  options: ReadOptions,
): Promise<PageReading | PageRefusal | PageFailure> {
  const contentType = response.headers.get("content-type") ?? "";
  const mimeType = mimeTypeOf(contentType);
  const directives = readHeaderDirectives(response.headers, resolved.url);
  const named = extensionOf(resolved.url, directives.filename);
  const declared = kindOf(mimeType, named, parts.acceptedTypes);
  if (!declared) {
    await response.cancel();
    return refuseType(mimeType, response, parts);
  }
  const body = await orFailure(response.body(), response, options.signal);
  if (!("done" in body)) return body;
  const bytes = body.done;
  const kind = declared.form === "unknown" ? sniffKind(bytes, named, parts.acceptedTypes) : declared;
  if (!kind || kind.form === "unknown") return refuseType(mimeType, response, parts);
  if (kind.form === "file" && kind.documentType === "xml" && isAddressList(bytes)) {
    const reason = "This is a list of addresses, not a document.";
    return { kind: "refused", why: "other", reason, mimeType, http: validatorsOf(response), instead: "list" };
  }
  const shown = await orFailure(showPage(bytes, contentType, kind, resolved, parts, options), response, options.signal);
  if (!("done" in shown)) return shown;
  const dated = chooseDate(datesOf(shown.done.page, response, options), resolved.context.at);
  const read = { mimeType: mimeType || usualType(kind), documentType: kind.documentType, bytes, dated };
  return readingOf(resolved.url, read, shown.done, httpOf(response, bytes, shown.done), directives, parts);
}

function datesOf(page: WebPage | undefined, { headers }: WebResponse, { listedDate = "" }: ReadOptions): PageDate[] {
  const header: PageDate = { from: "Last-Modified", text: headers.get("last-modified") ?? "" };
  return [...(page?.dates ?? []), { from: "sitemap", text: listedDate }, header];
}

/** Returns a failure instead of throwing: a broken body, or a page that takes too long to read, must not remove what is known. */
async function orFailure<T>(
  work: Promise<T>,
  { status }: WebResponse,
  signal: AbortSignal,
): Promise<PageFailure | { readonly done: T }> {
  try {
    return { done: await work };
  } catch (error) {
    throwIfStopped(signal);
    const isHostFailure = error instanceof BodyError && error.why === "unavailable";
    return { kind: "failed", reason: explain(error), statusCode: status, isHostFailure };
  }
}

function refuseType(mimeType: string, response: WebResponse, parts: VisitorParts): PageRefusal {
  const reason = mimeType
    ? `Content of type ${mimeType} is not accepted.`
    : "It has no content type, and its type cannot be recognised.";
  const revision = readingRevision(parts, "accepted types");
  return { kind: "refused", why: "other", reason, mimeType, http: validatorsOf(response), revision, instead: "type" };
}

function validatorsOf({ status, headers }: WebResponse): Partial<HttpState> {
  const [etag, lastModified] = [headers.get("etag") ?? "", toInstant(headers.get("last-modified") ?? "")];
  return { statusCode: status, etag, lastModified };
}

function usualType({ form }: ContentKind): string {
  return form === "page" ? "text/html" : form === "text" ? "text/plain" : "";
}

interface ShownContent {
  readonly page: WebPage | undefined;
  /** The extracted text; undefined if the format has none. */
  readonly text: Pick<ExtractedDocument, "title" | "language" | "markdown"> | undefined;
  readonly isHtml: boolean;
  readonly isRendered: boolean;
  readonly remark: string;
}

const HOW_TO_RENDER = "Set WEB_RENDER=true to have such pages shown by a browser.";

/** Reads the content. A page that needs scripts is rendered by a browser, if there is one. */
async function showPage(
  bytes: Uint8Array,
  contentType: string,
  kind: Exclude<ContentKind, { form: "unknown" }>,
  resolved: ResolvedUrl,
  { reader, renderer, texts }: VisitorParts,
  { tell, signal }: ReadOptions,
): Promise<ShownContent> {
  const plain = { isHtml: false, isRendered: false, remark: "" };
  if (kind.form === "file") {
    return { ...plain, page: undefined, text: await texts.read(bytes, kind.documentType, signal) };
  }
  const shown = (page: WebPage, more: Partial<ShownContent> = {}): ShownContent => ({
    ...plain,
    page,
    text: page,
    ...more,
  });
  if (kind.form === "text") return shown(await reader.readMarkdown(bytes, contentType, resolved.url, signal));
  const page = await reader.read(bytes, contentType, resolved.url, signal);
  if (!page.needsScripts) return shown(page, { isHtml: true });
  if (!renderer) {
    return shown(page, { isHtml: true, remark: `There is little to read unless its scripts run. ${HOW_TO_RENDER}` });
  }
  try {
    const html = await renderer.render(resolved.url, signal, tell);
    const rendered = await reader.read(html, "text/html; charset=utf-8", resolved.url, signal);
    return shown(rendered, { isHtml: true, isRendered: true });
  } catch (error) {
    throwIfStopped(signal);
    const remark = `It needs scripts and could not be shown: ${explain(error)}`;
    // The content rendered last time is better than the page without scripts.
    if (resolved.item.content.contentHash !== "") throw new RemoteError(remark);
    return shown(page, { isHtml: true, remark });
  }
}

/** Drops the validators of a rendered page, so that it is always fetched again: its content may change while the HTML does not. */
function httpOf(response: WebResponse, bytes: Uint8Array, { isRendered }: ShownContent): Partial<HttpState> {
  return {
    ...validatorsOf(response),
    ...(isRendered && { etag: "", lastModified: "" }),
    contentLength: Number(response.headers.get("content-length") ?? "") || bytes.length,
    redirectChain: [],
  };
}

function readingOf(
  url: string,
  read: Pick<ContentState, "mimeType" | "documentType"> & { readonly bytes: Uint8Array; readonly dated: Dated },
  { page, text, isHtml, remark }: ShownContent,
  http: Partial<HttpState>,
  directives: HeaderDirectives,
  parts: VisitorParts,
): PageReading {
  const document = page && isHtml ? Buffer.from(page.markdown) : read.bytes;
  const canonical = shownAddress(directives.canonical || (page?.canonical ?? ""));
  return {
    kind: "read",
    document,
    raw: { bytes: read.bytes, mimeType: read.mimeType },
    http: { ...http, canonicalUrl: canonical },
    content: {
      contentHash: contentDigest(document),
      textHash: text ? textDigest(withoutCarriedParameters(text.markdown, url)) : "",
      language: text?.language ?? "",
      mimeType: read.mimeType,
      documentType: read.documentType,
      foundTitle: text?.title || directives.filename,
      ...read.dated,
      readerRevision: readingRevision(parts, page?.needsScripts ? "no browser" : "reader"),
    },
    page,
    isHtml,
    noindex: page?.noindex ? "page" : directives.noindex ? "headers" : "",
    canonical,
    links: directives.nofollow || page?.nofollow ? [] : [...(page?.links ?? []), ...directives.alternates],
    feeds: page?.feeds ?? [],
    undated: undatedDigest(url, text, document),
    images: page?.images ?? [],
    remark,
  };
}

/** Hashes the text without dates, or the bytes if there is no text. */
function undatedDigest(url: string, text: ShownContent["text"], document: Uint8Array): string {
  const dated = readDatedAddress(url);
  if (!dated) return "";
  return text ? textDigest(undatedText(text.markdown, text.language, dated.numbers)) : contentDigest(document);
}

const LINK_QUERY = /\]\(([^()\s?#]{0,2048})\?([^()\s#]{1,4096})/g;
const PARAMETER = /([?&])([^\s()<>"'[\]?&=#]{1,100})=[^\s()<>"'[\]?&#]{0,2048}/g;

/** Removes parameters that the links carry along, such as a session id: they make no difference between two texts. */
function withoutCarriedParameters(markdown: string, url: string): string {
  const carried = carriedParameters(markdown, url);
  if (carried.size === 0) return markdown;
  return markdown.replaceAll(PARAMETER, (whole, sign: string, name: string) =>
    carried.has(name.replaceAll("\\", "")) ? sign : whole,
  );
}

/** Returns the parameters of the page's own URL, and those that several links share with one value per path. */
function carriedParameters(markdown: string, url: string): Set<string> {
  const carried = new Set(new URL(url).searchParams.keys());
  const values = new Map<string, Map<string, string>>();
  const links = new Map<string, Set<string>>();
  const distinguishing = new Set<string>();
  for (const [link, path = "", query = ""] of markdown.matchAll(LINK_QUERY)) {
    for (const parameter of query.replaceAll("\\", "").split("&")) {
      const [name = "", value = ""] = parameter.split("=", 2);
      const paths = values.get(name) ?? new Map<string, string>();
      if ((paths.get(path) ?? value) !== value) distinguishing.add(name);
      values.set(name, paths.set(path, value));
      links.set(name, (links.get(name) ?? new Set()).add(link));
    }
  }
  for (const [name, { size }] of links) if (size > 1 && !distinguishing.has(name)) carried.add(name);
  return carried;
}
