import { BadInputError } from "../../contracts/errors.ts";
import type { SourceId } from "../../contracts/ids.ts";
import type { Index, IndexDraft, IndexedRef, SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import { searchStore } from "../search/search-store.ts";
import { refOf } from "./apply-operations.ts";
import { DEFAULT_RETENTION, type Retention } from "./cleanup.ts";
import { documentsOfSource } from "./documents.ts";
import { activeNumber, deleteGeneration, uncommittedGenerations } from "./generations.ts";
import type { Store } from "./open-store.ts";
import type { BodyParts } from "./prepare-body.ts";
import { SqliteDraft } from "./sqlite-draft.ts";
import { DIRECT_SOURCE } from "./store-schema.ts";

const HOLDINGS_PAGE = 1000;

export interface SqliteIndexOptions {
  readonly parts: BodyParts;
  /** Called before every use: the store may have been deleted meanwhile, also by another process. Throws then. */
  readonly store: () => Store;
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

  async draft(source: SourceId): Promise<IndexDraft> {
    if (source === DIRECT_SOURCE) throw new BadInputError(`open draft: the source id '${DIRECT_SOURCE}' is reserved`);
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
  async *holdings(source: SourceId): AsyncGenerator<IndexedRef[]> {
    const { db } = this.#options.store();
    const number = activeNumber(db);
    for (let afterItem = ""; ; ) {
      const rows = documentsOfSource(db, source, { number, afterItem, limit: HOLDINGS_PAGE });
      yield rows.map(refOf);
      const last = rows.at(-1);
      if (!last || rows.length < HOLDINGS_PAGE) return;
      afterItem = last.itemId;
    }
  }

  async search(query: SearchQuery): Promise<SearchHit[]> {
    return searchStore(this.#options.store(), this.#options.parts.embedder, query);
  }
}
