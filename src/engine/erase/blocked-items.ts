import { isSameSource } from "../../contracts/domain.ts";
import type { BlockedItems, ErasedItem, ErasureStore } from "../../contracts/erasure.ts";
import { UnreadableError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { Listing, Sighting, Source } from "../../contracts/source.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import { erasedKey, pathHash } from "../../domains/erasure-store.ts";
import { plural } from "../../lib/text.ts";

/** What a listing left out, for the log. */
export interface SkippedErased {
  readonly key: string;
  readonly reason: string;
}

/** The erased items of one source, read when its listing begins. */
class BlockedInSource implements BlockedItems {
  readonly #run: SourceRun;
  readonly #byKey = new Map<string, ErasedItem>();
  readonly #byContent = new Map<string, ErasedItem>();
  readonly #byPath = new Map<string, ErasedItem>();
  readonly #skipped = new Map<string, SkippedErased>();
  /** Further paths, by the key of the item. */
  readonly #met = new Map<string, Set<string>>();

  constructor(run: SourceRun, erased: readonly ErasedItem[]) {
    this.#run = run;
    for (const item of erased) {
      this.#byKey.set(item.item, item);
      for (const hash of item.contentHashes) this.#byContent.set(hash, item);
      for (const hash of item.pathHashes) this.#byPath.set(hash, item);
    }
  }

  hasItem(item: ItemId): boolean {
    return this.#byKey.size > 0 && this.#byKey.has(erasedKey(item));
  }

  hasPath(path: string): boolean {
    return this.#byPath.size > 0 && this.#byPath.has(this.#hashOf(path));
  }

  hasContent(hash: string): boolean {
    return this.#byContent.has(hash);
  }

  skipItem(item: ItemId): void {
    this.#skip(this.#byKey.get(erasedKey(item)), erasedKey(item));
  }

  skipFile(path: string, contentHash?: string): void {
    const hash = this.#hashOf(path);
    const item = this.#byPath.get(hash) ?? this.#byContent.get(contentHash ?? "");
    if (!item) return;
    this.#skip(item, hash);
    if (!item.pathHashes.includes(hash)) this.#met.set(item.item, (this.#met.get(item.item) ?? new Set()).add(hash));
  }

  get skipped(): readonly SkippedErased[] {
    return [...this.#skipped.values()];
  }

  /** Returns the erased items with the paths at which they were met. */
  withPaths(erased: readonly ErasedItem[]): readonly ErasedItem[] {
    if (this.#met.size === 0) return erased;
    return erased.map((item) => {
      const met = isSameSource(item, this.#run.config) ? this.#met.get(item.item) : undefined;
      return met ? { ...item, pathHashes: [...new Set([...item.pathHashes, ...met])] } : item;
    });
  }

  #hashOf(path: string): string {
    return pathHash(this.#run.config, path);
  }

  #skip(item: ErasedItem | undefined, by: string): void {
    if (item) this.#skipped.set(by, { key: item.item, reason: whyBlocked(item) });
  }
}

export function whyBlocked({ startedAt, reason }: Pick<ErasedItem, "startedAt" | "reason">): string {
  return `erased on ${startedAt.slice(0, 10)} and blocked from being crawled again${reason ? ` (${reason})` : ""}`;
}

/** Reads what is blocked in this source on first use. */
export function blockedIn(run: SourceRun, erasures: Pick<ErasureStore, "read">): () => Promise<BlockedInSource> {
  let opening: Promise<BlockedInSource> | undefined;
  const open = async (): Promise<BlockedInSource> => {
    const { erased } = await erasures.read(run.domainId);
    return new BlockedInSource(
      run,
      erased.filter((item) => isSameSource(item, run.config)),
    );
  };
  return () => {
    opening ??= open();
    return opening;
  };
}

/**
 * The source without its erased items: they are neither listed nor in its table. At its end, `close` notes the paths at which
 * erased files were met.
 */
export function withoutErased(
  source: Source,
  run: SourceRun,
  open: () => Promise<BlockedInSource>,
  erasures: ErasureStore,
  { dryRun }: { readonly dryRun: boolean },
): Source {
  let blocked: BlockedInSource | undefined;
  const rows = new Set<number>();
  const isListed = (sighting: Pick<Sighting, "itemId" | "form" | "listItemId">): boolean => {
    if (!blocked?.hasItem(sighting.itemId)) return true;
    blocked.skipItem(sighting.itemId);
    if (sighting.form === "row") rows.add(sighting.listItemId);
    return false;
  };
  const { id, hiddenRows, leftOut, sayLeftOut, feed, table } = source;
  return {
    id,
    ...(hiddenRows && { hiddenRows: () => hiddenRows.call(source) }),
    ...(leftOut && { leftOut: () => leftOut.call(source) }),
    ...(sayLeftOut && { sayLeftOut }),
    skipped: () => blocked?.skipped ?? [],
    async *list(signal): Listing {
      blocked = await open();
      const listing = source.list(signal);
      try {
        for (;;) {
          const { done, value } = await listing.next();
          if (done) return value;
          yield value.filter((entry) => entry.kind !== "sighting" || isListed(entry));
        }
      } finally {
        // A reader that stops early also ends the listing.
        await listing.return("partial");
      }
    },
    ...(feed && {
      feed: {
        cursor: (signal) => feed.cursor(signal),
        async since(cursor, isKnown, signal) {
          blocked = await open();
          const changes = await feed.since(cursor, isKnown, signal);
          return changes && { ...changes, touched: changes.touched.filter(isListed) };
        },
      },
    }),
    ...(table && {
      table: { path: table.path, export: (before, keep) => table.export(before, keep, rows) },
    }),
    fetch: (item, signal) => source.fetch(item, signal),
    conclude: async (outcome) => await source.conclude?.(outcome),
    async close() {
      await source.close?.();
      const met = blocked;
      if (!met || dryRun) return;
      const { erased } = await erasures.read(run.domainId);
      if (met.withPaths(erased) === erased) return;
      await erasures.change(run.domainId, (records) => ({ ...records, erased: met.withPaths(records.erased) }));
    },
    diagnose: (signal) => source.diagnose(signal),
  };
}

/** What readers should know: a document that is being erased may still be found. "" if there is none. */
export async function sayUnfinished(domainId: DomainId, erasures: Pick<ErasureStore, "read">): Promise<string> {
  try {
    const { erased } = await erasures.read(domainId);
    const count = erased.filter(({ finishedAt }) => finishedAt === "").length;
    if (count === 0) return "";
    return `The erasing of ${plural(count, "document")} was interrupted or is under way: something of ${count === 1 ? "it" : "them"} may still be found. The next crawl or maintenance finishes it.`;
  } catch (error) {
    if (error instanceof UnreadableError) return error.message;
    throw error;
  }
}
