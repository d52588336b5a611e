import type { DomainId, FileId, SourceId, VectorStoreId } from "../../contracts/ids.ts";
import type {
  DocumentCount,
  Index,
  IndexDraft,
  IndexedRef,
  SearchHit,
  SearchQuery,
} from "../../contracts/search-index.ts";
import type { UploadJournal } from "../../contracts/uploads.ts";
import { collectLeftovers } from "./arrival.ts";
import { carryOthers } from "./carry-others.ts";
import { searchStore } from "./search-store.ts";
import { countStoreFiles, findStore, type Store } from "./store-files.ts";
import { type Survey, surveySource } from "./survey.ts";
import { VectorStoreDraft } from "./vector-store-draft.ts";
import { readContentHash, readFileType } from "./wire-codec.ts";

/** One vector store at OpenAI or Azure OpenAI. It may also hold files of others; those are searched, and left alone. */
export class VectorStoreIndex implements Index {
  readonly commits = "gradual";
  readonly #store: Store;
  readonly #domainId: DomainId | undefined;
  readonly #drafts = new Map<SourceId, VectorStoreDraft>();
  #sources: ReadonlySet<SourceId> | undefined;

  constructor(store: Store, domainId: DomainId | undefined) {
    this.#store = store;
    this.#domainId = domainId;
  }

  /**
   * A draft that was left open in this process is discarded. One of a process that died cannot be told from a commit
   * whose map rows were lost, so its completed files count as held: the caller adopts them or puts them again.
   */
  async draft(sourceId: SourceId): Promise<IndexDraft> {
    const domainId = this.#requireDomain();
    await this.#drafts.get(sourceId)?.discard();
    const store = this.#store;
    const survey = await this.#survey(sourceId);
    const journal = await this.#openJournal(domainId, sourceId, survey);
    const leftovers = collectLeftovers(await journal.unsettled());
    const draft = new VectorStoreDraft({ store, domainId, sourceId, survey, journal }, leftovers);
    this.#drafts.set(sourceId, draft);
    return draft;
  }

  /** Yields nothing before the whole store was listed. The service tells one time only, so both times are that one. */
  async *holdings(sourceId: SourceId): AsyncGenerator<IndexedRef[], void> {
    const refs: IndexedRef[] = [];
    const { items } = await this.#survey(sourceId);
    for (const [itemId, { current }] of items) {
      if (!current) continue;
      const [at, fileType] = [current.attachedAt, readFileType(current)];
      const known = {
        itemId,
        fileId: current.fileId,
        sha256: readContentHash(current),
        uploadedAt: at,
        embeddedAt: at,
      };
      refs.push(fileType === undefined ? known : { ...known, fileType });
    }
    yield refs;
  }

  /** As of the last listing: each is of the whole store. */
  async sources(): Promise<ReadonlySet<SourceId>> {
    return this.#sources ?? (await this.#survey("" as SourceId)).sources;
  }

  /** The service counts files, not whose they are. */
  async count(): Promise<DocumentCount> {
    return { documents: await countStoreFiles(this.#store) };
  }

  search(query: SearchQuery): Promise<SearchHit[]> {
    return searchStore(this.#store, query);
  }

  async carryOthers(into: VectorStoreId, signal: AbortSignal): Promise<readonly string[]> {
    const other = await findStore(this.#store.connection, into, signal);
    if (!other) return [`vector store '${into}' does not exist any more`];
    return carryOthers(this.#store, other, this.#requireDomain(), signal);
  }

  /** What the store keeps is known by its marks; what else the journal has waits to be taken over or deleted. */
  async #openJournal(domainId: DomainId, sourceId: SourceId, survey: Survey): Promise<UploadJournal> {
    const { storeId, connection } = this.#store;
    const journal = await connection.notes.journals.open({ domainId, sourceId, storeId });
    const strays = new Set([...survey.items.values()].flatMap((held) => held.strays.map(({ fileId: stray }) => stray)));
    const isKept = (fileId: FileId) => survey.files.get(fileId)?.status === "completed" && !strays.has(fileId);
    for (const { key, fileId } of await journal.unsettled()) if (fileId && isKept(fileId)) await journal.settle(key);
    return journal;
  }

  async #survey(sourceId: SourceId): Promise<Survey> {
    const survey = await surveySource(this.#store, this.#requireDomain(), sourceId);
    this.#sources = survey.sources;
    return survey;
  }

  #requireDomain(): DomainId {
    if (this.#domainId !== undefined) return this.#domainId;
    throw new Error(`open vector store ${this.#store.storeId}: without a domain it can only be searched`);
  }
}
