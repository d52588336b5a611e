import { fileTypeOf } from "../../lib/file-type.ts";

/** How a response is read, by its content type and the extension of its URL. */
export type ContentKind =
  /** HTML: its Markdown is the document. */
  | { readonly form: "page"; readonly documentType: "md" }
  /** Text that may contain links; stored unchanged. */
  | { readonly form: "text"; readonly documentType: string }
  | { readonly form: "file"; readonly documentType: string }
  /** The server sends no type: the bytes decide. */
  | { readonly form: "unknown" };

const PAGE: ContentKind = { form: "page", documentType: "md" };

const TYPES: ReadonlyMap<string, string> = new Map([
  ["text/markdown", "md"],
  ["text/x-markdown", "md"],
  ["application/pdf", "pdf"],
  ["application/x-pdf", "pdf"],
  ["application/rtf", "rtf"],
  ["text/rtf", "rtf"],
  ["text/csv", "csv"],
  ["text/tab-separated-values", "tsv"],
  ["application/json", "json"],
  ["application/xml", "xml"],
  ["text/xml", "xml"],
  ["message/rfc822", "eml"],
  ["application/msword", "doc"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.ms-powerpoint", "ppt"],
  ["application/vnd.ms-outlook", "msg"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"],
]);
/** Returns the media type of a document type; "" if there is none. */
export function mediaTypeOf(documentType: string): string {
  for (const [mediaType, type] of TYPES) if (type === documentType) return mediaType;
  if (PAGE_TYPES.has(documentType)) return documentType === "xhtml" ? "application/xhtml+xml" : "text/html";
  return documentType === "txt" ? "text/plain" : "";
}

/** Whether the media type says nothing about the content. */
export function isUnknownType(mimeType: string): boolean {
  return mimeType === "" || UNKNOWN_TYPE.test(mimeType);
}

/** Types without a document, whatever the extension; feeds are read for their links only. */
const NO_DOCUMENTS = /^(image|audio|video|font)\/|^application\/(rss|atom|rdf|feed)\+(xml|json)$/;
/** Types that only say that the server does not know. */
const UNKNOWN_TYPE = /^(application|binary)\/(octet-stream|x-download|force-download|download)$/;
const PAGE_TYPES = new Set(["html", "htm", "xhtml"]);

/** `named`: the extension. Returns undefined if the content is not accepted. */
export function kindOf(mimeType: string, named: string, accepted: ReadonlySet<string>): ContentKind | undefined {
  if (mimeType === "") return { form: "unknown" };
  if (mimeType === "text/html" || mimeType === "application/xhtml+xml") return accepted.has("md") ? PAGE : undefined;
  if (NO_DOCUMENTS.test(mimeType)) return undefined;
  const declared = TYPES.get(mimeType) ?? "";
  // A page that is sent with another type is meant as source text, or for download.
  const type = declared || (PAGE_TYPES.has(named) || !accepted.has(named) ? "" : named);
  if (type !== "") return accepted.has(type) ? asKind(type) : undefined;
  if (UNKNOWN_TYPE.test(mimeType) && PAGE_TYPES.has(named)) return PAGE;
  return mimeType === "text/plain" && accepted.has("txt") ? asKind("txt") : undefined;
}

/** Recognises the content of responses without a type. */
export function sniffKind(bytes: Uint8Array, named: string, accepted: ReadonlySet<string>): ContentKind | undefined {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 1024)).toString("latin1");
  if (/^\s*(<!doctype html|<html|<head|<body)/i.test(start.replace(/^\u00ef\u00bb\u00bf/, ""))) {
    return kindOf("text/html", named, accepted);
  }
  if (start.startsWith("%PDF-")) return kindOf("application/pdf", named, accepted);
  // For Office archives and other binary files, only the extension tells the type.
  if (start.includes("\0") || start.startsWith("PK\u0003\u0004")) {
    return kindOf("application/octet-stream", named, accepted);
  }
  return kindOf("text/plain", named, accepted);
}

/** `text/html; charset=utf-8` → `text/html`. */
export function mimeTypeOf(contentType: string): string {
  return (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();
}

function asKind(documentType: string): ContentKind {
  const hasLinks = documentType === "md" || documentType === "markdown" || documentType === "txt";
  return { form: hasLinks ? "text" : "file", documentType };
}

/** Returns the extension of the download's file name, or else of the URL. */
export function extensionOf(url: string, filename: string): string {
  return fileTypeOf(filename) || fileTypeOf(new URL(url).pathname.split("/").at(-1) ?? "");
}

const LIST_ROOT = /<(urlset|sitemapindex|rss|feed|rdf:RDF)[\s>]/;

/** Whether it is a sitemap or feed: a list of URLs, useless in a search. */
export function isAddressList(bytes: Uint8Array): boolean {
  return LIST_ROOT.test(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 4096)).toString("latin1"));
}
