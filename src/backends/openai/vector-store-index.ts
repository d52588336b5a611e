import type { DomainId, SourceId } from "../../contracts/ids.ts";
import type { Index, IndexDraft, IndexedRef, SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import { hasStatus, Refusal } from "./refusal.ts";
import type { Store } from "./store-files.ts";
import { surveySource } from "./survey.ts";
import { VectorStoreDraft } from "./vector-store-draft.ts";
import { readContentHash, readFileType, readHits, toWireSearch } from "./wire-codec.ts";

/** One vector store at OpenAI or Azure OpenAI. It may also hold files of others; those are searched, and left alone. */
export class VectorStoreIndex implements Index {
  readonly commits = "gradual";
  readonly #store: Store;
  readonly #domainId: DomainId | undefined;
  readonly #drafts = new Map<SourceId, VectorStoreDraft>();

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
    const held = await surveySource(this.#store, domainId, sourceId);
    const draft = new VectorStoreDraft({ store: this.#store, domainId, sourceId, held });
    this.#drafts.set(sourceId, draft);
    return draft;
  }

  /** Yields nothing before the whole store was listed. The service tells one time only, so both times are that one. */
  async *holdings(sourceId: SourceId): AsyncGenerator<IndexedRef[], void> {
    const refs: IndexedRef[] = [];
    for (const [itemId, { current }] of await surveySource(this.#store, this.#requireDomain(), sourceId)) {
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

  async search(query: SearchQuery): Promise<SearchHit[]> {
    const { storeId, connection } = this.#store;
    const path = `/vector_stores/${encodeURIComponent(storeId)}/search`;
    const headers = { "OpenAI-Beta": "assistants=v2" };
    try {
      return await connection.calls.run(`search vector store ${storeId}`, async () =>
        // Read as plain JSON: the client's own page turns any body without `data` into "nothing found".
        readHits(await connection.client.post<unknown>(path, { body: toWireSearch(query), headers })),
      );
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
      throw new Refusal(
        `search vector store ${storeId}: the service answered 404; the store is gone, or this endpoint offers no search`,
        { status: 404, cause: error },
      );
    }
  }

  #requireDomain(): DomainId {
    if (this.#domainId !== undefined) return this.#domainId;
    throw new Error(`open vector store ${this.#store.storeId}: without a domain it can only be searched`);
  }
}
