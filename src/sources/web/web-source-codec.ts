import { REGISTERED_SOURCE, type SourceConfig } from "../../contracts/domain.ts";
import type { OwnFields } from "../../contracts/source-kind.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { readCount, readFlag, readTexts } from "../../lib/read-fields.ts";
import { findAddressSecret } from "../../lib/secret-parameters.ts";

/** A web site; without start URLs (REGISTERED_SOURCE only) the addresses that were registered one by one. */
export interface WebSourceConfig extends SourceConfig {
  /** Pages, sitemaps, feeds, `llms.txt`. */
  readonly startUrls: readonly string[];
  /** Globs over the whole URL or its path; [] takes everything of the site. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** Links from a start URL; 0 for the start URLs alone. */
  readonly maxDepth: number;
  /** Limit of documents. A crawl holds their ids, and those of further URLs, in memory. */
  readonly maxPages: number;
  /** Also stores the images of its pages. */
  readonly images: boolean;
}

export const USUAL_DEPTH = 10;
export const USUAL_PAGES = 10_000;
/** A crawl holds the ids of all pages in memory. */
const MAX_PAGES = 1_000_000;
/** URLs and globs may contain commas. */
const BLANKS = /\s+/;

/** Parses the fields of a web site. Adds every mistake to `problems`. */
export function parseWebPlace(value: JsonObject, where: string, problems: string[]): OwnFields<WebSourceConfig> {
  return {
    startUrls: readStartUrls(value, where, problems),
    include: readGlobs(value["include"], `${where}.include`, problems),
    exclude: readGlobs(value["exclude"], `${where}.exclude`, problems),
    maxDepth: readCount(value["max_depth"], `${where}.max_depth`, { usual: USUAL_DEPTH, min: 0, max: 1000 }, problems),
    maxPages: readCount(
      value["max_pages"],
      `${where}.max_pages`,
      { usual: USUAL_PAGES, min: 1, max: MAX_PAGES },
      problems,
    ),
    images: readFlag(value["images"], `${where}.images`, problems),
  };
}

/** Leaves out fields with default values, unless they were there before. */
export function formatWebPlace(source: WebSourceConfig, earlier: JsonObject): JsonObject {
  const json: JsonObject = { start_urls: [...source.startUrls] };
  const set = (key: string, value: JsonObject[string], isUsual: boolean): void => {
    if (!isUsual || key in earlier) json[key] = value;
  };
  set("include", [...source.include], source.include.length === 0);
  set("exclude", [...source.exclude], source.exclude.length === 0);
  set("max_depth", source.maxDepth, source.maxDepth === USUAL_DEPTH);
  set("max_pages", source.maxPages, source.maxPages === USUAL_PAGES);
  set("images", source.images, !source.images);
  return json;
}

function readStartUrls(value: JsonObject, where: string, problems: string[]): readonly string[] {
  const urls = readTexts(value["start_urls"], `${where}.start_urls`, BLANKS, problems);
  if (urls.length === 0 && value["source_id"] !== REGISTERED_SOURCE) {
    problems.push(`${where}.start_urls must name at least one address, like "https://docs.example.com/".`);
  }
  for (const [at, url] of urls.entries()) {
    // Messages never repeat the URL: it may contain a password.
    const parsed = URL.parse(url);
    if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.hostname === "") {
      problems.push(
        `${where}.start_urls must be addresses like "https://docs.example.com/"; number ${at + 1} is none.`,
      );
    }
  }
  return urls;
}

/** Rejects secrets in start URLs of new or changed sources. An existing source keeps working, and warns in each crawl. */
export function refuseStartSecrets({ startUrls }: WebSourceConfig, where: string, problems: string[]): void {
  for (const [at, url] of startUrls.entries()) {
    const secret = findAddressSecret(new URL(url));
    if (!secret) continue;
    problems.push(
      `${where}.start_urls must not contain secrets; number ${at + 1} does. It holds ${secret}: give it without. Secrets are not kept, and pages behind them cannot be crawled.`,
    );
  }
}

/** Possible beginnings of a path or URL. */
const GLOB = /^(\/|https?:|[*?{[(!@+])/i;

function readGlobs(value: unknown, where: string, problems: string[]): readonly string[] {
  const globs = readTexts(value, where, BLANKS, problems);
  for (const [at, glob] of globs.entries()) {
    if (GLOB.test(glob)) continue;
    problems.push(
      `${where} must begin with "/", "*" or "https://", like "/guide/**"; number ${at + 1} matches no page.`,
    );
  }
  return globs;
}
