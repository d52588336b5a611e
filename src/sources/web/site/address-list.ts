import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { XMLParser } from "fast-xml-parser";
import { explain } from "../../../contracts/errors.ts";
import type { ReadList } from "../../../contracts/site-memory.ts";
import type { Tell, WebClient, WebResponse, WebResult } from "../../../contracts/web.ts";
import { decodeEntities } from "../../../lib/html-entities.ts";
import { isJsonObject, parseJsonObject } from "../../../lib/json-object.ts";
import { later } from "../../../lib/later.ts";
import { followRedirects, MAX_REDIRECTS } from "../follow-redirects.ts";

/** Limits of the sitemap protocol. */
const MAX_BYTES = 50 * 1024 * 1024;
export const MAX_ADDRESSES = 50_000;
const NEITHER = "it is neither a sitemap nor a feed";
/** Feeds are small, and parsing them is slow. */
const MAX_FEED_BYTES = 5 * 1024 * 1024;
const MAX_ENTRY_LENGTH = 64 * 1024;
const unpack = promisify(gunzip);

/** The result of reading a sitemap or feed. */
export type AddressList =
  | ({ readonly kind: "list" } & ReadList)
  /** Missing, or not a list. */
  | { readonly kind: "none"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };

export interface ListRequest {
  readonly client: WebClient;
  readonly isOfSite: (url: string) => boolean;
  /** The result of the last read. */
  readonly known?: ReadList | undefined;
  readonly tell?: Tell;
  readonly signal: AbortSignal;
}

export async function readAddressList(
  url: string,
  { client, isOfSite, known, tell, signal }: ListRequest,
): Promise<AddressList> {
  const send = async (at: string): Promise<WebResult> => {
    const isFirst = at === url;
    if (!isFirst && !isOfSite(at)) {
      return { kind: "refused", why: "address", reason: `it redirects out of the site to ${at}` };
    }
    const { etag = "", lastModified = "" } = isFirst && known ? known : {};
    const request = { url: at, method: "GET", etag, lastModified, maxBytes: MAX_BYTES, signal } as const;
    return await client.send({ ...request, ...(tell && { tell }) });
  };
  const { answer, url: at, redirects } = await followRedirects(url, send);
  if (redirects > MAX_REDIRECTS) return { kind: "failed", reason: `it is redirected more than ${MAX_REDIRECTS} times` };
  if (answer.kind === "refused") return noList(answer.reason, known);
  if (answer.kind === "unavailable") return { kind: "failed", reason: answer.reason };
  if (answer.status === 200) return (await takeList(answer, url, at, signal)) ?? noList(NEITHER, known);
  await answer.cancel();
  if (answer.status === 304 && known) return { kind: "list", ...known };
  const reason = `the server answered ${answer.status}`;
  return answer.status === 404 || answer.status === 410 ? { kind: "none", reason } : noList(reason, known);
}

/** Returns "none", but "failed" if there was a list before: a sign-in page in its place does not mean that it is gone. */
function noList(reason: string, known: ReadList | undefined): AddressList {
  return { kind: known ? "failed" : "none", reason };
}

/** Returns undefined if the body is no list. */
async function takeList(
  answer: WebResponse,
  url: string,
  at: string,
  signal: AbortSignal,
): Promise<AddressList | undefined> {
  try {
    const bytes = await answer.body();
    const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
    const list = parseAddressList(isPacked ? await unpack(bytes, { maxOutputLength: MAX_BYTES }) : bytes, at);
    if (!list) return undefined;
    // After a redirect the validators belong to another URL.
    const { headers } = answer;
    const validators = at === url ? [headers.get("etag"), headers.get("last-modified")] : [];
    return { kind: "list", url, etag: validators[0] ?? "", lastModified: validators[1] ?? "", ...list };
  } catch (error) {
    if (signal.aborted) throw error;
    return { kind: "failed", reason: explain(error) };
  }
}

type Addresses = Pick<ReadList, "addresses" | "dates" | "lists" | "isCut">;

/** Recognises the format by the content. Returns undefined for anything else. */
function parseAddressList(bytes: Uint8Array, url: string): Addresses | undefined {
  const text = decode(bytes);
  const [, prefix = "", root] = /<(\w+:)?(urlset|sitemapindex|rss|feed|RDF)[\s>]/.exec(text.slice(0, 4096)) ?? [];
  if (root === "urlset") {
    const found = locations(text, prefix);
    const addresses = [...found.map(({ address }) => address), ...alternates(text)];
    const isCut = breaksOff(text, `${prefix}${root}`);
    return listOf({ addresses, dates: found.map(({ date }) => date), isCut }, url);
  }
  if (root === "sitemapindex") {
    const lists = locations(text, prefix).map(({ address }) => address);
    return listOf({ lists, isCut: breaksOff(text, `${prefix}${root}`) }, url);
  }
  if (root !== undefined && bytes.byteLength <= MAX_FEED_BYTES) return listOf({ addresses: feedLinks(text) }, url);
  const lines = root === undefined ? addressLines(text) : undefined;
  if (lines) return listOf({ addresses: lines }, url);
  const json = /^\s*\{/.test(text) && bytes.byteLength <= MAX_FEED_BYTES ? jsonFeedLinks(text) : undefined;
  return json && listOf({ addresses: json }, url);
}

/** UTF-8, or UTF-16 with a byte order mark. */
function decode(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  return new TextDecoder(first === 0xfe && second === 0xff ? "utf-16be" : "utf-8").decode(bytes);
}

/** Whether the sitemap is truncated: pages it does not name may exist. */
function breaksOff(text: string, root: string): boolean {
  return !text.includes(`</${root}`) && !new RegExp(`<${root}[^<>]*/>`).test(text.slice(0, MAX_ENTRY_LENGTH));
}

function listOf({ addresses = [], dates = [], lists = [], isCut = false }: Partial<Addresses>, url: string): Addresses {
  const absolute = (address: string): string => URL.parse(address.trim(), url)?.href ?? "";
  const dated = addresses
    .slice(0, MAX_ADDRESSES)
    .map((address, at) => ({ url: absolute(address), date: dates[at] ?? "" }));
  const found = dated.filter((entry) => entry.url !== "");
  return {
    addresses: found.map((entry) => entry.url),
    dates: found.some(({ date }) => date !== "") ? found.map(({ date }) => date) : [],
    lists: lists.slice(0, MAX_ADDRESSES).map(absolute).filter(Boolean),
    isCut: isCut || addresses.length + lists.length > MAX_ADDRESSES,
  };
}

interface Location {
  readonly address: string;
  /** `<lastmod>`, "" for none. */
  readonly date: string;
}

/**
 * Returns the texts of `<loc>` with their `<lastmod>`, in one pass over the text; one more than the limit, so that the
 * caller notices. `<loc>` of images has another prefix than the list and is left out.
 */
function locations(text: string, prefix: string): Location[] {
  const [opening, closing] = [`<${prefix}loc>`, `</${prefix}loc>`];
  const date = new RegExp(`<${prefix}lastmod>([^<]{1,200})</${prefix}lastmod>`);
  const found: Location[] = [];
  let before = 0;
  let at = text.indexOf(opening);
  while (at >= 0 && found.length <= MAX_ADDRESSES) {
    const end = text.indexOf(closing, at);
    if (end < 0) break;
    const inside = text.slice(at + opening.length, end).trim();
    const address = inside.startsWith("<![CDATA[") ? inside.slice(9, -3) : decodeEntities(inside);
    const next = text.indexOf(opening, end);
    const around = { ahead: text.slice(before, at), behind: text.slice(end, next < 0 ? end + MAX_ENTRY_LENGTH : next) };
    found.push({ address, date: date.exec(entryOf(around, prefix))?.[1]?.trim() ?? "" });
    before = end;
    at = next;
  }
  return found;
}

/** Returns the content of the `<url>` around a `<loc>`, which may stand first or last in it; "" for none. */
function entryOf({ ahead, behind }: { readonly ahead: string; readonly behind: string }, prefix: string): string {
  const [start, end] = [ahead.lastIndexOf(`<${prefix}url>`), behind.indexOf(`</${prefix}url>`)];
  return start < 0 || end < 0 ? "" : `${ahead.slice(start)}${behind.slice(0, end)}`;
}

/** Returns the pages in other languages: `<xhtml:link rel="alternate" hreflang="de" href="…"/>`. */
function alternates(text: string): string[] {
  const found = new Set<string>();
  if (!text.includes("hreflang")) return [];
  for (const [, attributes = ""] of text.matchAll(/<(?:\w{1,20}:)?link\s([^<>]{1,4096})>/g)) {
    const href = /\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(attributes);
    const address = href?.[1] ?? href?.[2] ?? "";
    if (/\bhreflang\s*=/.test(attributes) && address !== "") found.add(decodeEntities(address));
    if (found.size > MAX_ADDRESSES) break;
  }
  return [...found];
}

const ADDRESS_LINE = /^(?:https?:\/\/|\/(?!\/))\S{1,2048}$/i;

/** Parses a text sitemap: one URL per line. Skips comments, and other lines as long as they are fewer than the URLs. */
function addressLines(text: string): string[] | undefined {
  const found: string[] = [];
  let others = 0;
  for (const line of text.replace(/^\ufeff/, "").split(/\r\n?|\n/)) {
    const address = line.trim();
    if (address === "" || address.startsWith("#")) continue;
    if (!ADDRESS_LINE.test(address)) others += 1;
    else if (found.push(address) > MAX_ADDRESSES) break;
  }
  return found.length > others ? found : undefined;
}

const xml = later<typeof import("fast-xml-parser")>("fast-xml-parser");
/** Created for the first feed. */
let reader: XMLParser | undefined;

function readXml(text: string): unknown {
  reader ??= new (xml().XMLParser)({
    ignoreAttributes: false,
    attributeNamePrefix: "@",
    removeNSPrefix: true,
    parseTagValue: false,
    processEntities: true,
    isArray: (name) => name === "item" || name === "entry" || name === "link",
  });
  return reader.parse(text);
}

function feedLinks(text: string): string[] {
  const parsed = readXml(text);
  if (!isJsonObject(parsed)) return [];
  const feed = inside(parsed, "feed");
  if (feed) return entries(feed, "entry").flatMap(atomLink);
  const rss = inside(parsed, "rss") ?? inside(parsed, "RDF");
  const channel = rss && inside(rss, "channel");
  return [...entries(channel, "item"), ...entries(rss, "item")].flatMap(rssLink);
}

function inside(value: Record<string, unknown>, name: string): Record<string, unknown> | undefined {
  const found = value[name];
  return isJsonObject(found) ? found : undefined;
}

function entries(value: Record<string, unknown> | undefined, name: string): Record<string, unknown>[] {
  const found = value?.[name];
  return Array.isArray(found) ? found.filter(isJsonObject) : [];
}

/** Returns the link to the entry itself, not to its images or edit form. */
function atomLink(entry: Record<string, unknown>): string[] {
  const own = entries(entry, "link").find((link) => ["alternate", undefined].includes(link["@rel"] as string));
  const href = own?.["@href"];
  return typeof href === "string" ? [href] : [];
}

function rssLink(item: Record<string, unknown>): string[] {
  const links = Array.isArray(item["link"]) ? item["link"] : [];
  const text = links.find((link) => typeof link === "string");
  return typeof text === "string" ? [text] : [];
}

function jsonFeedLinks(text: string): string[] | undefined {
  const feed = parseJsonObject(text);
  if (!feed || !String(feed["version"]).startsWith("https://jsonfeed.org/")) return undefined;
  return entries(feed, "items").flatMap(({ url }) => (typeof url === "string" ? [url] : []));
}
