import type { Domain, SourceConfig } from "../../contracts/domain.ts";
import type { Ledger, LedgerEntry } from "../../contracts/ledger.ts";
import { nearestNames } from "../../lib/nearest-names.ts";
import { TimeSlice } from "../../lib/time-slice.ts";
import { sourceFolder } from "../../mirror/layout.ts";
import { Mirror } from "../../mirror/mirror.ts";
import type { EngineParts } from "../engine-parts.ts";
import { findRetired } from "../retired-sources.ts";

export const MAX_FOUND = 10;

/** A source with its ledger open for reading. */
export interface OpenSource {
  readonly config: SourceConfig;
  readonly mirror: Mirror;
  readonly ledger: Ledger;
}

export interface FoundEntry {
  readonly source: OpenSource;
  readonly entry: LedgerEntry;
}

/** Opens all sources of a domain, including removed ones that still have a folder. */
export async function openSources(
  domain: Domain,
  parts: Pick<EngineParts, "domains" | "crawlerFolder" | "ledgers">,
): Promise<OpenSource[]> {
  const opened: OpenSource[] = [];
  for (const config of [...domain.sources, ...(await findRetired(domain, parts))]) {
    const root = sourceFolder(domain.domainId, config);
    const ledger = await parts.ledgers.open({ domainId: domain.domainId, config }, { readOnly: true });
    opened.push({ config, mirror: new Mirror(parts.crawlerFolder, root), ledger });
  }
  return opened;
}

/**
 * Finds documents by id, path, URL, name, or part of a name. Only the best rank counts, so a complete name does not
 * match names that contain it. `more`: how many beyond the first ten.
 */
export async function findEntries(
  called: string,
  sources: readonly OpenSource[],
): Promise<{ readonly found: readonly FoundEntry[]; readonly more: number }> {
  const matcher = new DocumentMatcher(called);
  let best = Number.POSITIVE_INFINITY;
  let found: FoundEntry[] = [];
  let count = 0;
  for await (const entry of allEntries(sources)) {
    const rank = matcher.rank(entry);
    if (rank > best || rank === Number.POSITIVE_INFINITY) continue;
    if (rank < best) [best, found, count] = [rank, [], 0];
    count += 1;
    if (found.length < MAX_FOUND) found.push(entry);
  }
  return { found, more: count - found.length };
}

/** Returns similar names, and the number of items compared. */
export async function closeNames(
  called: string,
  sources: readonly OpenSource[],
): Promise<{ readonly names: readonly string[]; readonly items: number }> {
  let names: string[] = [];
  let items = 0;
  let page = new Set<string>();
  const wanted = called.split("/").at(-1) ?? called;
  for await (const { entry } of allEntries(sources)) {
    items += 1;
    page.add((entry.seen ?? entry.mirrored ?? entry.indexed)?.name ?? "");
    if (page.size < 500) continue;
    names = nearestNames(wanted, [...names, ...page]);
    page = new Set();
  }
  return { names: nearestNames(wanted, [...new Set([...names, ...page])]), items };
}

async function* allEntries(sources: readonly OpenSource[]): AsyncGenerator<FoundEntry> {
  const timeSlice = new TimeSlice();
  for (const source of sources) {
    for await (const entries of source.ledger.entries()) {
      for (const entry of entries) {
        yield { source, entry };
        if (timeSlice.isOver()) await timeSlice.next();
      }
    }
  }
}

class DocumentMatcher {
  readonly #exact: string;
  readonly #folded: string;
  readonly #address: string;

  constructor(called: string) {
    this.#exact = called.trim();
    this.#folded = this.#exact.toLowerCase();
    this.#address = plainAddress(this.#exact);
  }

  /** Lower is better; infinity: no match. */
  rank({ source, entry }: FoundEntry): number {
    const { itemId, seen, mirrored, indexed } = entry;
    if (this.#exact === "") return Number.POSITIVE_INFINITY;
    if (itemId === this.#exact || indexed?.fileId === this.#exact) return 0;
    const file = mirrored?.file || indexed?.file;
    const paths = [seen?.serverPath, mirrored?.serverPath, file && source.mirror.relativePath(file)];
    if (paths.some((path) => path && fold(path) === this.#folded)) return 1;
    if (seen && this.#address === plainAddress(seen.rawUrl)) return 2;
    const names = [seen?.name, mirrored?.name, indexed?.name].map((name) => fold(name ?? ""));
    if (names.includes(this.#folded)) return 3;
    return names.some((name) => name.includes(this.#folded)) ? 4 : Number.POSITIVE_INFINITY;
  }
}

function fold(text: string): string {
  return text.toLowerCase();
}

/** Normalises a URL as copied from a browser, which may be encoded and end in `?web=1`, a fragment or a slash. */
function plainAddress(url: string): string {
  try {
    return fold(
      decodeURI(
        url
          .replace(/#.*$/, "")
          .replace(/[?&]web=1$/, "")
          .replace(/\/$/, ""),
      ),
    );
  } catch {
    return fold(url);
  }
}
