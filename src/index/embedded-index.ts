import type { Extractor } from "../contracts/document.ts";
import { BadInputError } from "../contracts/errors.ts";
import type { DomainId, ItemId, SourceId } from "../contracts/ids.ts";
import type { IndexAudit } from "../contracts/index-audit.ts";
import type {
  CleanUp,
  DocumentCount,
  DocumentVersion,
  DocumentWanted,
  Generation,
  GenerationChange,
  GenerationState,
  Generations,
  Index,
  IndexDraft,
  IndexedRef,
  Reclaimed,
  SearchHit,
  SearchQuery,
} from "../contracts/search-index.ts";
import type { SqlDatabase } from "../lib/sql/sql.ts";
import { auditDocument, disownBody } from "./audit-document.ts";
import { countDocuments, documentsOfSource, type SourceKey } from "./documents.ts";
import { EmbeddedDraft, fromUnixSeconds, refOf } from "./embedded-draft.ts";
import {
  abandonDrafts,
  type DifferenceRow,
  differenceBetween,
  documentVersions,
  generationsBetween,
  isKept,
  keptGenerations,
  openDrafts,
  releasePin,
  rollbackTo,
  visibleGenerations,
} from "./generations.ts";
import {
  ALL_OF_IT,
  cleanupOldGenerations,
  countUnseen,
  DEFAULT_RETENTION,
  forgetItems,
  hiddenItems,
  letGoOfItems,
  type Retention,
  sweepAbandoned,
} from "./retention.ts";
import { searchStore } from "./search/search-store.ts";
import { DIRECT_SOURCE } from "./shared-schema.ts";
import type { Store } from "./store.ts";
import { probeStore, readState, writeInTurn } from "./store-state.ts";

const HOLDINGS_PAGE = 1000;
const HIDDEN_PAGE = 1000;

interface EmbeddedIndexOptions {
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

  async openAudit(sourceId: SourceId): Promise<IndexAudit> {
    const source = this.#keyOf(sourceId);
    const { extractor } = this.#options;
    return {
      basis: "label, text, sections, chunks, vectors",
      check: async (file, signal) => auditDocument(await this.#options.store(), extractor, source, file, signal),
      leftovers: async function* () {},
      disown: async (itemId) => disownBody(await this.#options.store(), source, itemId),
    };
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

const PAGE = 1000;

interface EmbeddedGenerationsOptions {
  readonly store: () => Promise<Store>;
  /** undefined: changes of all domains. */
  readonly domain: DomainId | undefined;
  readonly nowSeconds: () => number;
}

/** The kept states of a vector store. All domains of a store go back together: they share its generations. */
class EmbeddedGenerations implements Generations {
  readonly #options: EmbeddedGenerationsOptions;

  constructor(options: EmbeddedGenerationsOptions) {
    this.#options = options;
  }

  async state(): Promise<GenerationState> {
    const { active, pinned } = await readState((await this.#options.store()).db);
    return { active, pinned: pinned === 1 };
  }

  async kept(): Promise<Generation[]> {
    const { db } = await this.#options.store();
    return db.read(async (sql) => {
      const { active } = await readState(sql);
      const crawls = new Set<string>();
      return (await keptGenerations(sql)).map(({ id: _, committedAt, ...row }) => {
        // Newest first: of what a crawl committed, the first that is met is how it ended.
        const intermediate = row.crawl !== "" && crawls.has(row.crawl);
        crawls.add(row.crawl);
        return { ...row, intermediate, committedAt: fromUnixSeconds(committedAt), visible: row.number <= active };
      });
    });
  }

  async rollback(number: number): Promise<void> {
    const { db } = await this.#options.store();
    await writeInTurn(db, async (sql) => {
      if (!(await rollbackTo(sql, number))) throw await notKept(sql, "roll back", number);
      // What an open draft would end or leave alone was read from the state that is left here.
      await abandonDrafts(sql, this.#options.nowSeconds());
    });
  }

  async release(): Promise<void> {
    await writeInTurn((await this.#options.store()).db, releasePin);
  }

  async *difference(from: number, to: number): AsyncGenerator<GenerationChange[]> {
    const { db } = await this.#options.store();
    for (const number of [from, to]) {
      if (!(await isKept(db, number))) throw await notKept(db, "compare generations", number);
    }
    for (const generation of await generationsBetween(db, from, to)) {
      for (const end of ["born", "died"] as const) {
        for await (const rows of pages(db, { from, to }, { end, generation })) {
          const changes = rows.filter((row) => this.#isOurs(row)).flatMap(changeOf);
          if (changes.length > 0) yield changes;
        }
      }
    }
  }

  async versions(wanted: DocumentWanted): Promise<DocumentVersion[]> {
    const { domain } = this.#options;
    if (domain === undefined) return [];
    const rows = await documentVersions((await this.#options.store()).db, domain, wanted);
    return rows.map((row) => ({ ...row, visible: row.visible === 1 }));
  }

  #isOurs({ domainId }: DifferenceRow): boolean {
    return this.#options.domain === undefined || this.#options.domain === domainId;
  }
}

async function* pages(
  db: SqlDatabase,
  range: { readonly from: number; readonly to: number },
  which: { readonly end: "born" | "died"; readonly generation: number },
): AsyncGenerator<DifferenceRow[]> {
  for (let afterId = 0; ; ) {
    const rows = await differenceBetween(db, range, { ...which, afterId, limit: PAGE });
    yield rows;
    if (rows.length < PAGE) return;
    afterId = rows.at(-1)?.id ?? 0;
  }
}

/** Each item has at most one row that `from` shows and one that `to` shows; the latter speaks for both. */
function changeOf(row: DifferenceRow): GenerationChange[] {
  const { sourceId, itemId, name, path, inFrom, inTo, hasOther } = row;
  if (inFrom === inTo) return [];
  if (inTo) return [{ kind: hasOther ? "changed" : "added", sourceId, itemId, name, path }];
  return hasOther ? [] : [{ kind: "removed", sourceId, itemId, name, path }];
}

async function notKept(sql: Parameters<typeof keptGenerations>[0], verb: string, number: number): Promise<Error> {
  const kept = (await keptGenerations(sql)).map((row) => row.number);
  const which = kept.length === 0 ? "none is kept" : `kept are ${kept.join(", ")}`;
  return new BadInputError(`${verb}: there is no generation ${number} any more, or not yet; ${which}`);
}

/** Throws for the id under which files attached over the wire are kept: a crawl would take them for its own. */
function sourceKey(domainId: DomainId, sourceId: SourceId): SourceKey {
  if (sourceId === DIRECT_SOURCE) throw new BadInputError(`open source: the source id '${DIRECT_SOURCE}' is reserved`);
  return { domainId, sourceId };
}
