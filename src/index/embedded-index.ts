import type { WordCounts } from "../contracts/answer.ts";
import type { Extractor } from "../contracts/document.ts";
import { BadInputError } from "../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId } from "../contracts/ids.ts";
import type { IndexAudit } from "../contracts/index-audit.ts";
import type {
  CopyOfDocument,
  CrawlDraft,
  CrawlDrafts,
  DocumentCount,
  DocumentVersion,
  DocumentWanted,
  ErasedDocuments,
  GarbageOptions,
  Generation,
  GenerationChange,
  GenerationState,
  Generations,
  Index,
  IndexDraft,
  IndexedDocument,
  IndexedRef,
  ItemTraces,
  Preview,
  ReadableDocuments,
  Reclaimed,
  RetainedDocuments,
  SearchHit,
  SearchQuery,
  SectionsFound,
  SectionsWanted,
  ShownDocuments,
} from "../contracts/search-index.ts";
import type { SqlDatabase } from "../lib/sql/sql.ts";
import { auditDocument, auditStored } from "./audit-document.ts";
import { readBodyText, sectionsOfDocument } from "./bodies.ts";
import {
  countDocuments,
  documentsCalled,
  documentsOfSource,
  draftedDocuments,
  newestDocuments,
  type ReadableRow,
  readableDocument,
  readableDocuments,
  recentDocuments,
  type SourceKey,
  shownDocuments,
  sourcesOf,
  titlesOf,
} from "./documents.ts";
import { DraftGeneration, fromUnixSeconds, refOf } from "./embedded-draft.ts";
import { describeItem, documentsWithHash, eraseItems, itemsWithText, textsOfItem } from "./erase-documents.ts";
import {
  abandonDrafts,
  abandonGeneration,
  committedGenerations,
  countDraft,
  type DifferenceRow,
  differenceBetween,
  documentVersions,
  draftCalled,
  findGeneration,
  generationsBetween,
  isKept,
  keptGenerations,
  openCrawlDrafts,
  openDrafts,
  rollbackTo,
  unpin,
} from "./generations.ts";
import {
  cleanupOldGenerations,
  countGarbage,
  DEFAULT_RETENTION,
  endGracePeriod,
  listHiddenItems,
  purgeItems,
  type Retention,
  sweepAbandoned,
  UNLIMITED,
} from "./retention.ts";
import { countWords, generationOf, searchStore } from "./search/search-store.ts";
import { DIRECT_SOURCE } from "./shared-schema.ts";
import type { Store } from "./store.ts";
import { probeStore, readState, writeLocked } from "./store-state.ts";

const PAGE = 1000;

interface EmbeddedIndexOptions {
  /** Called before every use. Throws if the store was deleted meanwhile, also by another process. */
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
  readonly retained: RetainedDocuments;
  readonly documents: ReadableDocuments;
  readonly crawlDrafts: CrawlDrafts;
  readonly shown: ShownDocuments;
  readonly #options: EmbeddedIndexOptions;
  readonly #nowSeconds: () => number;

  constructor(options: EmbeddedIndexOptions) {
    this.#options = options;
    this.#nowSeconds = options.nowSeconds ?? (() => Math.floor(Date.now() / 1000));
    const { store, domain } = options;
    this.generations = new EmbeddedGenerations({ store, domain });
    this.retained = new EmbeddedRetainedDocuments(options, this.#nowSeconds);
    this.documents = documentsToRead(store, domain);
    this.crawlDrafts = {
      open: (crawl) => this.#openCrawlDraft(crawl),
      listOpen: async (before) => {
        const latest = before ? before.getTime() / 1000 : Number.POSITIVE_INFINITY;
        return (await this.#openDrafts()).flatMap((one) => (one.createdAt < latest ? [one.generationId] : []));
      },
      count: async (generationId) => countDraft((await options.store()).db, generationId),
      sweep: (generationIds) => this.#sweepDrafts(generationIds),
    };
    this.shown = {
      of: (source, items) => this.#shownOf(source, items),
      newest: (source, items, preview) => this.#newestOf(source, items, preview),
      called: (name, source, preview) => this.#called(name, source, preview),
      sections: (wanted) => this.#sections(wanted),
    };
  }

  async draft(sourceId: SourceId, crawl = ""): Promise<IndexDraft> {
    const source = sourceKey(this.#options.domain, sourceId);
    const store = await this.#options.store();
    if ((await openDrafts(store.db, source)).length > 0) {
      await writeLocked(store.db, (sql) => abandonDrafts(sql, this.#nowSeconds(), source));
      await sweepAbandoned(store);
    }
    return new DraftGeneration({ ...this.#draftContext(store), sourceId, crawl }).source(sourceId);
  }

  #draftContext(store: Store) {
    const { domain, extractor, retention = DEFAULT_RETENTION, store: assertStore } = this.#options;
    if (domain === undefined) throw withoutDomain("open draft");
    return { store, assertStore, domainId: domain, extractor, retention, nowSeconds: this.#nowSeconds };
  }

  async #openCrawlDraft(crawl: string): Promise<CrawlDraft> {
    return new DraftGeneration({ ...this.#draftContext(await this.#options.store()), crawl });
  }

  async #openDrafts(): Promise<Awaited<ReturnType<typeof openCrawlDrafts>>> {
    const { store, domain } = this.#options;
    if (domain === undefined) throw withoutDomain("list drafts");
    return openCrawlDrafts((await store()).db, domain);
  }

  async #sweepDrafts(generationIds: readonly string[]): Promise<void> {
    const dead = (await this.#openDrafts()).filter(({ generationId }) => generationIds.includes(generationId));
    if (dead.length === 0) return;
    const store = await this.#options.store();
    await writeLocked(store.db, async (sql) => {
      for (const { id } of dead) await abandonGeneration(sql, id, this.#nowSeconds());
    });
    await sweepAbandoned(store);
  }

  /** All pages are of the generation that is the newest at the first, so a commit in between neither repeats nor hides an item. */
  async *holdings(sourceId: SourceId): AsyncGenerator<IndexedRef[]> {
    const source = sourceKey(this.#options.domain, sourceId);
    const { db } = await this.#options.store();
    const visible = await committedGenerations(db);
    for (let afterId = 0; ; ) {
      const rows = await documentsOfSource(db, source, { visible, afterId, limit: PAGE });
      if (rows.length > 0) yield rows.map(refOf);
      if (rows.length < PAGE) return;
      afterId = rows.at(-1)?.id ?? 0;
    }
  }

  async #shownOf(sourceId: SourceId, items: readonly ItemId[]): Promise<IndexedRef[]> {
    const source = sourceKey(this.#options.domain, sourceId);
    const { db } = await this.#options.store();
    return (await shownDocuments(db, source, items)).map(refOf);
  }

  async #newestOf(
    sourceId: SourceId,
    items: readonly ItemId[],
    { draft: generationId }: Preview = {},
  ): Promise<IndexedRef[]> {
    const source = sourceKey(this.#options.domain, sourceId);
    return (await this.#options.store()).db.read(async (sql) => {
      // If the draft is not open any more, the newest generation has its content.
      const draft = generationId === undefined ? undefined : await draftCalled(sql, generationId);
      const rows =
        draft === undefined
          ? await newestDocuments(sql, source, items)
          : await draftedDocuments(sql, source, items, draft);
      return rows.map(refOf);
    });
  }

  async #called(
    called: string,
    sourceId: SourceId | undefined,
    { draft: generationId }: Preview = {},
  ): Promise<SectionsFound["documents"]> {
    const { domain } = this.#options;
    if (domain === undefined) throw withoutDomain("look for documents");
    return (await this.#options.store()).db.read(async (sql) => {
      const draft = generationId === undefined ? undefined : await draftCalled(sql, generationId);
      const view =
        draft === undefined ? { at: (await readState(sql)).newest, isDraft: false } : { at: draft, isDraft: true };
      const rows = await documentsCalled(sql, { domainId: domain, sourceId, called }, view);
      return rows.map(({ bodyId: _, ...document }) => document);
    });
  }

  async #sections({ called, sourceId, generation, offset, limit }: SectionsWanted): Promise<SectionsFound> {
    const { domain } = this.#options;
    if (domain === undefined) throw withoutDomain("read sections");
    return (await this.#options.store()).db.read(async (sql) => {
      const { number: at } = await generationOf(sql, generation);
      const rows = await documentsCalled(sql, { domainId: domain, sourceId, called }, { at, isDraft: false });
      const documents = rows.map(({ bodyId: _, ...document }) => document);
      const [{ fileId, bodyId } = {}, ...others] = rows;
      if (fileId === undefined || bodyId == null || others.length > 0) return { documents, sections: [], total: 0 };
      return { documents, ...(await sectionsOfDocument(sql, { fileId, bodyId }, { offset, limit })) };
    });
  }

  async sources(): Promise<ReadonlySet<SourceId>> {
    const { domain } = this.#options;
    if (domain === undefined) throw withoutDomain("list sources");
    return sourcesOf(await this.#options.store(), domain);
  }

  async openAudit(sourceId: SourceId): Promise<IndexAudit> {
    const source = sourceKey(this.#options.domain, sourceId);
    const { extractor } = this.#options;
    return {
      basis: "label, text, sections, chunks, vectors",
      check: async (file, signal) => auditDocument(await this.#options.store(), extractor, source, file, signal),
      checkStored: async (file) => auditStored(await this.#options.store(), source, file),
      leftovers: async function* () {},
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

  async countWords(text: string): Promise<WordCounts> {
    return countWords(await this.#options.store(), text);
  }

  async titles(files: readonly FileId[]): Promise<ReadonlyMap<FileId, string>> {
    return titlesOf((await this.#options.store()).db, files);
  }

  async probe(): Promise<void> {
    await probeStore((await this.#options.store()).db);
  }

  async refreshVectors(
    report: (line: string) => void,
    signal: AbortSignal,
    mayAnswer?: (preview: Preview) => Promise<boolean>,
  ): Promise<void> {
    const store = await this.#options.store();
    await store.spaces.refresh(store, report, signal, mayAnswer && ((vectors) => mayAnswer({ vectors })));
  }
}

function documentsToRead(store: () => Promise<Store>, domain: DomainId | undefined): ReadableDocuments {
  // What another domain left in the store is, for this one, a file like those that others attached.
  const toIndexed = ({ id: _, bodyId: __, domainId, ...row }: ReadableRow): IndexedDocument =>
    domainId === domain ? row : { ...row, sourceId: "", itemId: row.fileId as string as ItemId };
  return {
    async list({ after = "0", limit }) {
      if (!/^\d{1,15}$/.test(after)) throw new BadInputError("list documents: the place to go on from is not valid");
      const rows = await readableDocuments((await store()).db, Number(after), limit);
      const next = rows.length < limit ? undefined : rows.at(-1)?.id;
      return { documents: rows.map(toIndexed), ...(next !== undefined && { next: String(next) }) };
    },
    async find(fileId) {
      const row = await readableDocument((await store()).db, fileId);
      return row && toIndexed(row);
    },
    async read(fileId, range) {
      return (await store()).db.read(async (sql) => {
        const bodyId = (await readableDocument(sql, fileId))?.bodyId;
        return bodyId == null ? undefined : readBodyText(sql, bodyId, range);
      });
    },
    recent: async (limit) => (await recentDocuments((await store()).db, limit)).map(toIndexed),
    revision: async () => String((await readState((await store()).db)).visibleRevision),
  };
}

function withoutDomain(verb: string): Error {
  return new Error(`${verb}: without a domain the vector store can only be searched`);
}

class EmbeddedRetainedDocuments implements RetainedDocuments {
  readonly #options: EmbeddedIndexOptions;
  readonly #nowSeconds: () => number;

  constructor(options: EmbeddedIndexOptions, nowSeconds: () => number) {
    this.#options = options;
    this.#nowSeconds = nowSeconds;
  }

  async endGracePeriod(source: SourceId, items: readonly ItemId[]): Promise<void> {
    const key = sourceKey(this.#options.domain, source);
    await endGracePeriod(await this.#options.store(), key, items);
  }

  async purge(
    source: SourceId,
    items: readonly ItemId[],
    { dryRun }: { readonly dryRun: boolean } = { dryRun: false },
  ): Promise<ItemId[]> {
    const key = sourceKey(this.#options.domain, source);
    return purgeItems(await this.#options.store(), key, items, { ...this.#keeping(), dryRun });
  }

  async erase(
    source: SourceId,
    items: readonly ItemId[],
    options: { readonly dryRun: boolean },
  ): Promise<ErasedDocuments> {
    const store = await this.#options.store();
    const erased = await eraseItems(store, sourceKey(this.#options.domain, source), items, options);
    if (!options.dryRun) await store.spaces.forgetLearnt(store);
    return erased;
  }

  async describe(source: SourceId, item: ItemId): Promise<readonly ItemTraces[]> {
    return describeItem((await this.#options.store()).db, sourceKey(this.#options.domain, source), item);
  }

  async *texts(source: SourceId, item: ItemId): AsyncGenerator<string, void> {
    yield* textsOfItem((await this.#options.store()).db, sourceKey(this.#options.domain, source), item);
  }

  async *mentioning(text: string): ReturnType<typeof itemsWithText> {
    const { domain } = this.#options;
    if (domain === undefined) throw withoutDomain("look for documents");
    yield* itemsWithText((await this.#options.store()).db, domain, text);
  }

  async withContent(hashes: readonly string[]): Promise<readonly CopyOfDocument[]> {
    const found = await documentsWithHash((await this.#options.store()).db, hashes);
    return found.map((one) => (one.sourceId === DIRECT_SOURCE ? { ...one, domainId: "" } : one));
  }

  async *listHidden(source: SourceId): AsyncGenerator<ItemId[]> {
    const key = sourceKey(this.#options.domain, source);
    for (let after = ""; ; ) {
      const items = await listHiddenItems((await this.#options.store()).db, key, { after, limit: PAGE });
      if (items.length > 0) yield items;
      if (items.length < PAGE) return;
      after = items.at(-1) ?? "";
    }
  }

  async collectGarbage({ dryRun, checkpoint }: GarbageOptions): Promise<Reclaimed> {
    const store = await this.#options.store();
    const options = this.#keeping();
    const reclaimed = await countGarbage(store.db, options);
    const effort = checkpoint ? { ...UNLIMITED, checkpoint } : UNLIMITED;
    if (!dryRun) await cleanupOldGenerations(store, { ...options, ...effort });
    return reclaimed;
  }

  #keeping() {
    return { retention: this.#options.retention ?? DEFAULT_RETENTION, nowSeconds: this.#nowSeconds() };
  }
}

interface EmbeddedGenerationsOptions {
  readonly store: () => Promise<Store>;
  /** undefined: changes of all domains. */
  readonly domain: DomainId | undefined;
}

/** The kept generations of a vector store. All domains of a store share them, and roll back together. */
class EmbeddedGenerations implements Generations {
  readonly #options: EmbeddedGenerationsOptions;

  constructor(options: EmbeddedGenerationsOptions) {
    this.#options = options;
  }

  async state(): Promise<GenerationState> {
    const { db } = await this.#options.store();
    return db.read(async (sql) => {
      const { shown, newest, pinned } = await readState(sql);
      const idOf = async (number: number): Promise<string> => (await findGeneration(sql, number))?.generationId ?? "";
      return { shown, shownId: await idOf(shown), newest, newestId: await idOf(newest), pinned: pinned === 1 };
    });
  }

  async list(): Promise<Generation[]> {
    const { db } = await this.#options.store();
    return db.read(async (sql) => {
      const { shown } = await readState(sql);
      const crawls = new Set<string>();
      return (await keptGenerations(sql)).map(({ id: _, committedAt, ...row }) => {
        // Newest first: the first generation of a crawl seen here is its last one.
        const intermediate = row.crawl !== "" && crawls.has(row.crawl);
        crawls.add(row.crawl);
        return { ...row, intermediate, committedAt: fromUnixSeconds(committedAt), visible: row.number <= shown };
      });
    });
  }

  async rollback(number: number): Promise<void> {
    const { db } = await this.#options.store();
    await writeLocked(db, async (sql) => {
      if (!(await rollbackTo(sql, number))) throw await notKept(sql, "roll back", number);
    });
  }

  async release(): Promise<void> {
    await writeLocked((await this.#options.store()).db, unpin);
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

/** A changed item has a row in each generation; it is reported for the one in `to`. */
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

/** Throws without a domain, and for the id of files attached over the wire: a crawl would take them for its own. */
function sourceKey(domainId: DomainId | undefined, sourceId: SourceId): SourceKey {
  if (domainId === undefined) throw withoutDomain(`open source ${sourceId}`);
  if (sourceId === DIRECT_SOURCE) throw new BadInputError(`open source: the source id '${DIRECT_SOURCE}' is reserved`);
  return { domainId, sourceId };
}
