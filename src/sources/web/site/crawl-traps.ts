import { createHash } from "node:crypto";
import type { CrawledPage } from "../../../contracts/site-memory.ts";
import { type DatedAddress, readDatedAddress } from "../../../plan/web/dated-pages.ts";
import type { WebSourceConfig } from "../web-source-codec.ts";

type CalendarPage = Pick<CrawledPage, "url" | "depth" | "outcome" | "links" | "undated">;

/** Pages that show nothing but another date, one after the other, before no more are looked for: a year to both sides of a month. */
const ENOUGH = 24;
/** So many tell that it is a calendar. */
const A_FEW = 3;
const MAX_FAMILIES = 10_000;
const MAX_PRINTS = 16;
const MAX_RELATIVES = 100;

/** Addresses that differ in nothing but a date. */
interface Family {
  /** What its pages show beside their date, the latest last. */
  readonly prints: string[];
  /** Others whose pages are linked from pages that are empty: the link, or "" when it was not always the same. */
  readonly leadsTo: Map<string, string>;
  /** Pages that showed nothing else than earlier ones, since the last one that did. */
  emptyCount: number;
  /** Links that were not followed. */
  passedOver: number;
}

/**
 * Calendars without end, known by what they show: pages whose addresses and texts differ in nothing but a date. Whatever a page that
 * shows more links to is followed.
 */
export class Calendars {
  readonly #families = new Map<string, Family>();
  readonly #maxDepth: number;

  constructor({ maxDepth }: Pick<WebSourceConfig, "maxDepth">) {
    this.#maxDepth = maxDepth;
  }

  /** Which of the links of a page that was looked at are to be followed. */
  linksOf({ url, depth, outcome, links, undated }: CalendarPage): readonly string[] {
    const own = readDatedAddress(url);
    const isUnknown = outcome === "failed" || (undated === "" && links.length > 0);
    if (!own || isUnknown) return links;
    const family = this.#familyOf(own);
    const dated = links.map((link) => ({ link, family: readDatedAddress(link)?.family }));
    if (undated !== "") {
      const print = printOf([undated, ...new Set(dated.map((each) => each.family ?? each.link).sort())]);
      if (!family.prints.includes(print)) {
        family.prints.push(print);
        if (family.prints.length > MAX_PRINTS) family.prints.shift();
        family.emptyCount = 0;
        return links;
      }
    }
    family.emptyCount += 1;
    for (const { link, family: other } of dated) {
      if (!other || family.leadsTo.size > MAX_RELATIVES) continue;
      family.leadsTo.set(other, (family.leadsTo.get(other) ?? link) === link ? link : "");
    }
    // Whoever goes no further because of its depth would not have found anything else there.
    const enough = depth < this.#maxDepth ? ENOUGH : 1;
    return dated.filter((each) => !each.family || !this.#isOver(each.family, enough)).map(({ link }) => link);
  }

  /** A sentence for each of which not all was looked at. */
  sentences(): string[] {
    const ended = [...this.#families].filter(([, { passedOver }]) => passedOver > 0);
    return ended.map(
      ([name, { emptyCount }]) =>
        `${emptyCount} pages of ${name} in a row show nothing but other dates: what only such pages link to is not looked at.`,
    );
  }

  /** Days of which each has a file of its own are no empty days. */
  #isOver(name: string, enough: number): boolean {
    const family = this.#families.get(name);
    if (!family || family.emptyCount < enough || family.leadsTo.size > MAX_RELATIVES) return false;
    const tells = (other: string): boolean => (this.#families.get(other)?.emptyCount ?? A_FEW) < A_FEW;
    if ([...family.leadsTo].some(([other, link]) => link === "" && other !== name && tells(other))) return false;
    family.passedOver += 1;
    return true;
  }

  #familyOf({ family: name }: DatedAddress): Family {
    const known = this.#families.get(name);
    if (known) return known;
    const [oldest] = this.#families.keys();
    if (this.#families.size >= MAX_FAMILIES && oldest !== undefined) this.#families.delete(oldest);
    const family = { prints: [], leadsTo: new Map<string, string>(), emptyCount: 0, passedOver: 0 };
    this.#families.set(name, family);
    return family;
  }
}

function printOf(parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("base64url");
}

const MAX_ADDRESS_CHARACTERS = 2000;
const MAX_EQUAL_SEGMENTS = 3;
/** A visitor's number in the address: the page is the same without it. */
const SESSION = /^(phpsessid|jsessionid|aspsessionid\w*|cfid|cftoken)$/i;
/** The like, or the number of an article: the value tells. */
const MAYBE_SESSION = /^(sid|sessid|session_?id)$/i;
const SESSION_VALUE = /^[\w-]{16,}$/;
const SESSION_IN_PATH = /;(?:(?:jsessionid|phpsessid)=[^/?#]*|sid=[\w-]{16,})/gi;

/** The address without a session's number; undefined: one that only a site without end would link to. */
export function withoutTraps(url: string): string | undefined {
  if (url.length > MAX_ADDRESS_CHARACTERS) return undefined;
  const mayHaveSession = /[?;]/.test(url) && /sess|sid|cfid|cftoken/i.test(url);
  const address = mayHaveSession ? withoutSession(url) : url;
  const path = /^[^:]+:\/\/[^/?#]*([^?#]*)/.exec(address)?.[1] ?? "";
  return repeatsItself(path) ? undefined : address;
}

function withoutSession(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return url;
  const isSession = ([name, value]: [string, string]): boolean =>
    SESSION.test(name) || (MAYBE_SESSION.test(name) && SESSION_VALUE.test(value));
  const sessions = [...parsed.searchParams].filter(isSession).map(([name]) => name);
  const path = parsed.pathname.replaceAll(SESSION_IN_PATH, "");
  if (sessions.length === 0 && path === parsed.pathname) return url;
  for (const name of sessions) parsed.searchParams.delete(name);
  parsed.pathname = path;
  return parsed.href;
}

/** `/a/b/a/b/a/b/a/b`: what a relative link on a page that answers under every address leads to. */
function repeatsItself(path: string): boolean {
  const segments = path.split("/").filter((segment) => segment !== "");
  if (segments.length <= MAX_EQUAL_SEGMENTS) return false;
  const counts = new Map<string, number>();
  for (const segment of segments) {
    const count = (counts.get(segment) ?? 0) + 1;
    if (count > MAX_EQUAL_SEGMENTS) return true;
    counts.set(segment, count);
  }
  return false;
}
