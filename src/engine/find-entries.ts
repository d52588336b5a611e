import type { Domain, SourceConfig } from "../contracts/domain.ts";
import type { Ledger, LedgerEntry } from "../contracts/ledger.ts";
import { nearestNames } from "../lib/nearest-names.ts";
import { Turn } from "../lib/turn.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import type { EngineParts } from "./engine-parts.ts";
import { findRetired } from "./retired-sources.ts";

/** A source with its map files open for reading. */
export interface OpenSource {
  readonly config: SourceConfig;
  readonly mirror: Mirror;
  readonly ledger: Ledger;
}

export interface FoundEntry {
  readonly source: OpenSource;
  readonly entry: LedgerEntry;
}

const MAX_FOUND = 10;

/** All sources of a domain, and those that were taken out of it while something of them is still there. */
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
 * What somebody calls a document: an id, a path, an address, a name, or a part of a name. Whatever fits best decides, so
 * a name that is spelt out does not bring in those it is a part of. `more`: how many beyond the first ten.
 */
export async function findEntries(
  called: string,
  sources: readonly OpenSource[],
): Promise<{ readonly found: readonly FoundEntry[]; readonly more: number }> {
  const wanted = new Wanted(called);
  let best = Number.POSITIVE_INFINITY;
  let found: FoundEntry[] = [];
  let count = 0;
  for await (const each of allEntries(sources)) {
    const rank = wanted.rank(each);
    if (rank > best || rank === Number.POSITIVE_INFINITY) continue;
    if (rank < best) [best, found, count] = [rank, [], 0];
    count += 1;
    if (found.length < MAX_FOUND) found.push(each);
  }
  return { found, more: count - found.length };
}

/** Names that somebody may have meant, and how many items were looked at. */
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
  const turn = new Turn();
  for (const source of sources) {
    for await (const entries of source.ledger.entries()) {
      for (const entry of entries) {
        yield { source, entry };
        if (turn.isOver()) await turn.next();
      }
    }
  }
}

class Wanted {
  readonly #exact: string;
  readonly #folded: string;
  readonly #address: string;

  constructor(called: string) {
    this.#exact = called.trim();
    this.#folded = this.#exact.toLowerCase();
    this.#address = plainAddress(this.#exact);
  }

  /** The lower, the surer; infinite: it is not meant. */
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

/** An address as it is copied from a browser may be encoded, and have a mark or a slash at its end. */
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
