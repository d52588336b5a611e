import type { Extractor } from "../../contracts/document.ts";
import type { DomainId, SourceId } from "../../contracts/ids.ts";
import type {
  DocumentCount,
  Generations,
  Index,
  IndexDraft,
  IndexedRef,
  SearchHit,
  SearchQuery,
} from "../../contracts/search-index.ts";
import { searchStore } from "../search/search-store.ts";
import { DEFAULT_RETENTION, type Retention, sweepAbandoned } from "../storage/cleanup.ts";
import { countDocuments } from "../storage/count-documents.ts";
import { documentsOfSource, type SourceKey } from "../storage/documents.ts";
import { abandonDrafts, openDrafts, visibleGenerations } from "../storage/generations.ts";
import { probeStore } from "../storage/probe-store.ts";
import { writeInTurn } from "../storage/state.ts";
import type { Store } from "../storage/store.ts";
import { EmbeddedDraft } from "./embedded-draft.ts";
import { EmbeddedGenerations } from "./embedded-generations.ts";
import { refOf } from "./ref-of.ts";
import { sourceKey } from "./source-key.ts";

const HOLDINGS_PAGE = 1000;

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
      await sweepAbandoned(store, Number.POSITIVE_INFINITY);
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

  async count(): Promise<DocumentCount> {
    const { domain } = this.#options;
    if (domain === undefined) throw withoutDomain("count documents");
    return countDocuments(await this.#options.store(), domain);
  }

  async search(query: SearchQuery): Promise<SearchHit[]> {
    return searchStore(await this.#options.store(), query);
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
