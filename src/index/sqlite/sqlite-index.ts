import type { DomainId, SourceId } from "../../contracts/ids.ts";
import type { Index, IndexDraft, IndexedRef, SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import { searchStore } from "../search/search-store.ts";
import { refOf } from "./apply-operations.ts";
import { DEFAULT_RETENTION, type Retention } from "./cleanup.ts";
import { documentsOfSource } from "./documents.ts";
import { deleteGeneration, uncommittedGenerations, visibleGenerations } from "./generations.ts";
import type { Store } from "./open-store.ts";
import type { BodyParts } from "./prepare-body.ts";
import { type SourceKey, sourceKey } from "./source-key.ts";
import { SqliteDraft } from "./sqlite-draft.ts";

const HOLDINGS_PAGE = 1000;

export interface SqliteIndexOptions {
  readonly parts: BodyParts;
  /** Called before every use: the store may have been deleted meanwhile, also by another process. Throws then. */
  readonly store: () => Store;
  /** undefined: only for searching. */
  readonly domain: DomainId | undefined;
  readonly retention?: Retention;
  readonly nowSeconds?: () => number;
}

/** One vector store of the embedded index, as the crawler sees it. */
export class SqliteIndex implements Index {
  readonly commits = "atomic";
  readonly #options: SqliteIndexOptions;

  constructor(options: SqliteIndexOptions) {
    this.#options = options;
  }

  async draft(sourceId: SourceId): Promise<IndexDraft> {
    const source = this.#keyOf(sourceId);
    const store = this.#options.store();
    if (uncommittedGenerations(store.db, source).length > 0) {
      store.db.write(() => {
        for (const generation of uncommittedGenerations(store.db, source)) deleteGeneration(store.db, generation);
      });
    }
    return new SqliteDraft({
      store,
      source,
      parts: this.#options.parts,
      retention: this.#options.retention ?? DEFAULT_RETENTION,
      nowSeconds: this.#options.nowSeconds ?? (() => Math.floor(Date.now() / 1000)),
    });
  }

  /** All pages show the generation that was active at the first, so a commit in between neither doubles nor hides an item. */
  async *holdings(sourceId: SourceId): AsyncGenerator<IndexedRef[]> {
    const source = this.#keyOf(sourceId);
    const { db } = this.#options.store();
    const visible = visibleGenerations(db);
    for (let afterId: number | undefined = 0; afterId !== undefined; ) {
      const page = documentsOfSource(db, source, { visible, afterId, limit: HOLDINGS_PAGE });
      yield page.rows.map(refOf);
      afterId = page.nextAfterId;
    }
  }

  async search(query: SearchQuery): Promise<SearchHit[]> {
    return searchStore(this.#options.store(), this.#options.parts.embedder, query);
  }

  #keyOf(source: SourceId): SourceKey {
    const { domain } = this.#options;
    if (domain !== undefined) return sourceKey(domain, source);
    throw new Error(`open source ${source}: without a domain the vector store can only be searched`);
  }
}
