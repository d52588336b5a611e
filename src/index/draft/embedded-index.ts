import type { Extractor } from "../../contracts/document.ts";
import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type {
  CleanUp,
  DocumentCount,
  Generations,
  Index,
  IndexDraft,
  IndexedRef,
  Reclaimed,
  SearchHit,
  SearchQuery,
} from "../../contracts/search-index.ts";
import { searchStore } from "../search/search-store.ts";
import {
  ALL_OF_IT,
  cleanupOldGenerations,
  DEFAULT_RETENTION,
  type Retention,
  sweepAbandoned,
} from "../storage/cleanup.ts";
import { countDocuments } from "../storage/count-documents.ts";
import { countUnseen } from "../storage/count-unseen.ts";
import { documentsOfSource, type SourceKey } from "../storage/documents.ts";
import { forgetItems, letGoOfItems } from "../storage/forget-items.ts";
import { abandonDrafts, openDrafts, visibleGenerations } from "../storage/generations.ts";
import { hiddenItems } from "../storage/hidden-items.ts";
import { probeStore } from "../storage/probe-store.ts";
import { writeInTurn } from "../storage/state.ts";
import type { Store } from "../storage/store.ts";
import { EmbeddedDraft } from "./embedded-draft.ts";
import { EmbeddedGenerations } from "./embedded-generations.ts";
import { refOf } from "./ref-of.ts";
import { sourceKey } from "./source-key.ts";

const HOLDINGS_PAGE = 1000;
const HIDDEN_PAGE = 1000;

export interface EmbeddedIndexOptions {
  /** Called before every use: the store may have been deleted meanwhile, also by another process. Throws then. */
  readonly store: () => Promise<Store>;
  readonly extractor: Extractor;
  /** undefined: only for searching. */
  readonly domain: DomainId | undefined;
  readonly retention?: Retention;
  readonly nowSeconds?: () => number;
}

/** One vector store of the embedded index, as the crawler sees it. */
export class EmbeddedIndex implements Index {
  readonly commits = "atomic";
  readonly generations: Generations;
  readonly #options: EmbeddedIndexOptions;
  readonly #nowSeconds: () => number;

  constructor(options: EmbeddedIndexOptions) {
    this.#options = options;
    this.#nowSeconds = options.nowSeconds ?? (() => Math.floor(Date.now() / 1000));
    const { store, domain } = options;
    this.generations = new EmbeddedGenerations({ store, domain, nowSeconds: this.#nowSeconds });
  }

  async draft(sourceId: SourceId, crawl = ""): Promise<IndexDraft> {
    const source = this.#keyOf(sourceId);
    const store = await this.#options.store();
    if ((await openDrafts(store.db, source)).length > 0) {
      await writeInTurn(store.db, (sql) => abandonDrafts(sql, this.#nowSeconds(), source));
      await sweepAbandoned(store);
    }
    return new EmbeddedDraft({
      store,
      source,
      crawl,
      extractor: this.#options.extractor,
      retention: this.#options.retention ?? DEFAULT_RETENTION,
      nowSeconds: this.#nowSeconds,
    });
  }

  /** All pages show the generation that was active at the first, so a commit in between neither doubles nor hides an item. */
  async *holdings(sourceId: SourceId): AsyncGenerator<IndexedRef[]> {
    const source = this.#keyOf(sourceId);
    const { db } = await this.#options.store();
    const visible = await visibleGenerations(db);
    for (let afterId = 0; ; ) {
      const rows = await documentsOfSource(db, source, { visible, afterId, limit: HOLDINGS_PAGE });
      if (rows.length > 0) yield rows.map(refOf);
      if (rows.length < HOLDINGS_PAGE) return;
      afterId = rows.at(-1)?.id ?? 0;
    }
  }

  async sources(): Promise<ReadonlySet<SourceId>> {
    return new Set((await this.count()).bySource?.keys());
  }

  async count(): Promise<DocumentCount> {
    const { domain } = this.#options;
    if (domain === undefined) throw withoutDomain("count documents");
    return countDocuments(await this.#options.store(), domain);
  }

  async search(query: SearchQuery): Promise<SearchHit[]> {
    return searchStore(await this.#options.store(), query);
  }

  async forget(source: SourceId, items: readonly ItemId[]): Promise<ItemId[]> {
    const key = this.#keyOf(source);
    return forgetItems(await this.#options.store(), key, items);
  }

  async letGo(source: SourceId, items: readonly ItemId[]): Promise<void> {
    const key = this.#keyOf(source);
    await letGoOfItems(await this.#options.store(), key, items);
  }

  async *hidden(source: SourceId): AsyncGenerator<ItemId[]> {
    const key = this.#keyOf(source);
    for (let after = ""; ; ) {
      const items = await hiddenItems((await this.#options.store()).db, key, { after, limit: HIDDEN_PAGE });
      if (items.length > 0) yield items;
      if (items.length < HIDDEN_PAGE) return;
      after = items.at(-1) ?? "";
    }
  }

  async cleanUp({ dryRun, checkpoint }: CleanUp): Promise<Reclaimed> {
    const store = await this.#options.store();
    const retention = this.#options.retention ?? DEFAULT_RETENTION;
    const options = { retention, nowSeconds: this.#nowSeconds() };
    const reclaimed = await countUnseen(store.db, options);
    const pace = checkpoint ? { ...ALL_OF_IT, checkpoint } : ALL_OF_IT;
    if (!dryRun) await cleanupOldGenerations(store, { ...options, ...pace });
    return reclaimed;
  }

  async probe(): Promise<void> {
    await probeStore((await this.#options.store()).db);
  }

  async refreshVectors(report: (line: string) => void, signal: AbortSignal): Promise<void> {
    const store = await this.#options.store();
    await store.spaces.refresh(store, report, signal);
  }

  #keyOf(source: SourceId): SourceKey {
    const { domain } = this.#options;
    if (domain !== undefined) return sourceKey(domain, source);
    throw withoutDomain(`open source ${source}`);
  }
}

function withoutDomain(verb: string): Error {
  return new Error(`${verb}: without a domain the vector store can only be searched`);
}
