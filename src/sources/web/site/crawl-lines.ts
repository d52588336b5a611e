import { createHash } from "node:crypto";
import type { ItemId } from "../../../contracts/ids.ts";
import type { Visit } from "../../../contracts/web.ts";
import { isJsonObject } from "../../../lib/json-object.ts";

/** The first line: whose crawl this is. */
export interface CrawlHead {
  /** Of everything that decides which pages are looked at and how. */
  readonly digest: string;
  /** Of the start addresses: links are remembered within their sites only. */
  readonly site: string;
  readonly startedAt: string;
}

/** A page that was looked at. */
export interface CrawlLine {
  readonly id: ItemId;
  readonly url: string;
  /** Links from a start address. */
  readonly depth: number;
  readonly outcome: Visit["outcome"];
  /** The item it turned out to be; "" when it was only read on the way to that. */
  readonly item: ItemId | "";
  readonly aliases: readonly ItemId[];
  /** Within the site, whether or not they were followed. */
  readonly links: readonly string[];
  readonly feeds: readonly string[];
  /** Of what it shows beside the date in its address, "" for none. */
  readonly undated: string;
  /** What it links to is not known, or only a part of it. Nobody may take this line for all there is. */
  readonly isBlind: boolean;
}

/** A sitemap, a feed or an `llms.txt` that was read. */
export interface ListLine {
  readonly url: string;
  readonly etag: string;
  readonly lastModified: string;
  readonly addresses: readonly string[];
  /** When each was changed, as it is written there, "" for those that say nothing; [] when none does. */
  readonly dates: readonly string[];
  /** Further sitemaps. */
  readonly lists: readonly string[];
  /** It names more than is taken from one list. */
  readonly isCut: boolean;
}

const VERSION = 1;
const LIST_ID = "list:";

/** Lists are remembered under their address. */
export function listId(url: string): string {
  return `${LIST_ID}${createHash("sha256").update(url).digest("hex").slice(0, 32)}`;
}

export function formatList({ url, etag, lastModified, addresses, dates, lists, isCut }: ListLine): string {
  const cut = { ...(dates.length > 0 && { dates }), ...(isCut && { cut: true }) };
  return `${JSON.stringify({ id: listId(url), url, etag, last_modified: lastModified, addresses, lists, ...cut })}\n`;
}

export function parseList(text: string): ListLine | undefined {
  const value = parse(text);
  if (!value || !String(value["id"]).startsWith(LIST_ID)) return undefined;
  return {
    url: String(value["url"]),
    etag: String(value["etag"]),
    lastModified: String(value["last_modified"]),
    addresses: texts(value["addresses"]),
    dates: texts(value["dates"]),
    lists: texts(value["lists"]),
    isCut: value["cut"] === true,
  };
}

export function formatHead({ digest, site, startedAt }: CrawlHead): string {
  return `${JSON.stringify({ version: VERSION, digest, site, started_at: startedAt })}\n`;
}

export function parseHead(text: string): CrawlHead | undefined {
  const value = parse(text);
  if (!value || value["version"] !== VERSION) return undefined;
  return { digest: String(value["digest"]), site: String(value["site"]), startedAt: String(value["started_at"]) };
}

/** The id comes first, and then whether it is blind: both are found without reading the rest. */
export function formatLine(line: CrawlLine): string {
  const { id, url, depth, outcome, item, aliases, links, feeds, undated, isBlind } = line;
  const origin = new URL(url).origin;
  const short = links.map((link) => (link.startsWith(`${origin}/`) ? link.slice(origin.length) : link));
  const blind = isBlind ? { blind: true } : {};
  return `${JSON.stringify({ id, ...blind, url, depth, outcome, item, aliases, links: short, feeds, ...(undated && { undated }) })}\n`;
}

export function parseLine(text: string): CrawlLine | undefined {
  const value = parse(text);
  if (!value || typeof value["id"] !== "string" || typeof value["url"] !== "string") return undefined;
  if (value["id"].startsWith(LIST_ID)) return undefined;
  const origin = URL.parse(value["url"])?.origin ?? "";
  return {
    id: value["id"] as ItemId,
    url: value["url"],
    depth: Number(value["depth"]),
    outcome: value["outcome"] as CrawlLine["outcome"],
    item: String(value["item"] ?? "") as ItemId | "",
    aliases: texts(value["aliases"]) as ItemId[],
    links: texts(value["links"]).map((link) => (link.startsWith("/") ? origin + link : link)),
    feeds: texts(value["feeds"]),
    undated: String(value["undated"] ?? ""),
    isBlind: value["blind"] === true,
  };
}

const ID = /^\{"id":"([^"]{1,80})"(?!,"blind":true)/;

/** undefined: it is nobody's, or there is nothing in it to remember. */
export function idOfLine(text: string): string | undefined {
  const id = ID.exec(text)?.[1];
  // A copy: a part of a text holds on to all of it, and whoever keeps the ids would keep the file.
  return id && Buffer.from(id).toString();
}

function texts(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((each): each is string => typeof each === "string") : [];
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
