import { createHash } from "node:crypto";
import type { CrawledPage } from "../../../contracts/site-memory.ts";
import { type DatedAddress, readDatedAddress } from "../../../plan/web/dated-pages.ts";
import type { WebSourceConfig } from "../web-source-codec.ts";

type CalendarPage = Pick<CrawledPage, "url" | "depth" | "outcome" | "links" | "undated">;

/** Empty pages in a row, differing only in their date, after which a calendar is not followed further: a year to both sides of a month. */
const ENOUGH = 24;
/** Empty pages after which a family counts as a calendar. */
const A_FEW = 3;
const MAX_FAMILIES = 10_000;
const MAX_FINGERPRINTS = 16;
const MAX_RELATIVES = 100;

/** URLs that differ only in a date. */
interface Family {
  /** Hashes of what its pages show besides their date, latest last. */
  readonly fingerprints: string[];
  /** Other families that empty pages link to: the link, or "" if it differed. */
  readonly leadsTo: Map<string, string>;
  /** Pages in a row that showed nothing new. */
  emptyCount: number;
  /** Number of links that were not followed. */
  skippedCount: number;
}

/**
 * Recognises endless calendars by their content: pages whose URLs and texts differ only in a date. Links of a page that
 * shows anything else are followed.
 */
export class Calendars {
  readonly #families = new Map<string, Family>();
  readonly #maxDepth: number;

  constructor({ maxDepth }: Pick<WebSourceConfig, "maxDepth">) {
    this.#maxDepth = maxDepth;
  }

  /** Returns the links of a visited page that should be followed. */
  linksOf({ url, depth, outcome, links, undated }: CalendarPage): readonly string[] {
    const own = readDatedAddress(url);
    const isUnknown = outcome === "failed" || (undated === "" && links.length > 0);
    if (!own || isUnknown) return links;
    const family = this.#familyOf(own);
    const dated = links.map((link) => ({ link, family: readDatedAddress(link)?.family }));
    if (undated !== "") {
      const fingerprint = fingerprintOf([undated, ...new Set(dated.map((entry) => entry.family ?? entry.link).sort())]);
      if (!family.fingerprints.includes(fingerprint)) {
        family.fingerprints.push(fingerprint);
        if (family.fingerprints.length > MAX_FINGERPRINTS) family.fingerprints.shift();
        family.emptyCount = 0;
        return links;
      }
    }
    family.emptyCount += 1;
    for (const { link, family: other } of dated) {
      if (!other || family.leadsTo.size > MAX_RELATIVES) continue;
      family.leadsTo.set(other, (family.leadsTo.get(other) ?? link) === link ? link : "");
    }
    // At the depth limit one empty page is enough: its links would not be followed anyway.
    const enough = depth < this.#maxDepth ? ENOUGH : 1;
    return dated.filter((entry) => !entry.family || !this.#isOver(entry.family, enough)).map(({ link }) => link);
  }

  /** Returns a sentence for each calendar that was not followed to the end. */
  sentences(): string[] {
    const ended = [...this.#families].filter(([, { skippedCount }]) => skippedCount > 0);
    return ended.map(
      ([name, { emptyCount }]) =>
        `${emptyCount} pages of ${name} in a row differ only in their dates: links of further ones are not followed.`,
    );
  }

  /** Whether links to the family are skipped. Not if its pages lead to different pages of a family that is not empty, such as one file per day. */
  #isOver(name: string, enough: number): boolean {
    const family = this.#families.get(name);
    if (!family || family.emptyCount < enough || family.leadsTo.size > MAX_RELATIVES) return false;
    const isNotEmpty = (other: string): boolean => (this.#families.get(other)?.emptyCount ?? A_FEW) < A_FEW;
    if ([...family.leadsTo].some(([other, link]) => link === "" && other !== name && isNotEmpty(other))) return false;
    family.skippedCount += 1;
    return true;
  }

  #familyOf({ family: name }: DatedAddress): Family {
    const known = this.#families.get(name);
    if (known) return known;
    const [oldest] = this.#families.keys();
    if (this.#families.size >= MAX_FAMILIES && oldest !== undefined) this.#families.delete(oldest);
    const family = { fingerprints: [], leadsTo: new Map<string, string>(), emptyCount: 0, skippedCount: 0 };
    this.#families.set(name, family);
    return family;
  }
}

function fingerprintOf(parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("base64url");
}

const MAX_ADDRESS_CHARACTERS = 2000;
const MAX_EQUAL_SEGMENTS = 3;
/** Whether only an endless site would link to this URL. */
export function isTrap(url: string): boolean {
  if (url.length > MAX_ADDRESS_CHARACTERS) return true;
  return repeatsItself(/^[^:]+:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] ?? "");
}

/** Whether a segment repeats too often, as in `/a/b/a/b/a/b/a/b`: the result of a relative link on a site that serves the same page at every path. */
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
