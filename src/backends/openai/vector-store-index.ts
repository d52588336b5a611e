import type { ComparisonFilter, CompoundFilter } from "openai/resources/shared";
import type { VectorStoreSearchParams } from "openai/resources/vector-stores/vector-stores";
import { BadInputError, RemoteError } from "../../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId, VectorStoreId } from "../../contracts/ids.ts";
import type { IndexAudit } from "../../contracts/index-audit.ts";
import type {
  AttributeFilter,
  Attributes,
  DocumentCount,
  Index,
  IndexDraft,
  IndexedDocument,
  IndexedRef,
  ReadableDocuments,
  SearchHit,
  SearchQuery,
  SearchScope,
  TextPart,
  TextRange,
} from "../../contracts/search-index.ts";
import type { UploadJournal } from "../../contracts/uploads.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { slicesOf } from "../../lib/slices-of.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { openStoreAudit, refOf } from "./audit-store.ts";
import { embedFiles } from "./embed-files.ts";
import { hasStatus } from "./service-error.ts";
import {
  assertStoreExists,
  countStoreFiles,
  findStore,
  findStoreFile,
  listFilePage,
  listStoreFiles,
  readFileText,
  type Store,
} from "./store-files.ts";
import { type StoreSnapshot, snapshotStore } from "./store-snapshot.ts";
import { findReusableUploads } from "./uploads.ts";
import { VectorStoreDraft } from "./vector-store-draft.ts";
import { asObject, isOfDomain, readFileType, type StoreFile, unexpected } from "./wire-codec.ts";

/** One vector store at OpenAI or Azure OpenAI. It may also hold files of others, which are searched but never changed. */
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
   * Discards a draft that was left open in this process. A draft of a dead process looks like a commit whose map rows were
   * lost, so its completed files count as stored: the caller adopts them or puts them again.
   */
  async draft(sourceId: SourceId): Promise<IndexDraft> {
    const domainId = this.#requireDomain();
    await this.#drafts.get(sourceId)?.discard();
    const store = this.#store;
    const snapshot = await this.#snapshot(sourceId);
    const journal = await this.#openJournal(domainId, sourceId, snapshot);
    const reusable = findReusableUploads(await journal.unsettled());
    const draft = new VectorStoreDraft({ store, domainId, sourceId, snapshot, journal }, reusable);
    this.#drafts.set(sourceId, draft);
    return draft;
  }

  /** Yields nothing before the whole store was listed. The service has one time per file, so both times are the same. */
  async *holdings(sourceId: SourceId): AsyncGenerator<IndexedRef[], void> {
    const refs: IndexedRef[] = [];
    const { items } = await this.#snapshot(sourceId);
    for (const [itemId, { current }] of items) {
      if (current) refs.push(refOf(itemId, current));
    }
    yield refs;
  }

  async openAudit(sourceId: SourceId): Promise<IndexAudit> {
    return openStoreAudit(await this.#snapshot(sourceId), { domainId: this.#requireDomain(), sourceId });
  }

  /** As of the last listing, which is always of the whole store. */
  async sources(): Promise<ReadonlySet<SourceId>> {
    return this.#sources ?? (await this.#snapshot("" as SourceId)).sources;
  }

  /** The service counts all files of a store, also those that others attached. */
  async count(): Promise<DocumentCount> {
    return { documents: await countStoreFiles(this.#store) };
  }

  search(query: SearchQuery): Promise<SearchHit[]> {
    return searchStore(this.#store, query);
  }

  get documents(): ReadableDocuments {
    const [store, domainId] = [this.#store, this.#requireDomain()];
    return {
      async list({ after, limit }) {
        const { entries, hasMore } = await listFilePage(store, after, limit);
        const next = hasMore ? entries.at(-1)?.fileId : undefined;
        const documents = entries.map((file) => toIndexed(file, domainId));
        return { documents, ...(next !== undefined && { next }) };
      },
      async find(fileId) {
        const file = await findStoreFile(store, fileId);
        return file?.status === "completed" ? toIndexed(file, domainId) : undefined;
      },
      async read(fileId, range) {
        const text = await readFileText(store, fileId);
        return text === undefined ? undefined : partOf(text, range);
      },
    };
  }

  async carryOthers(into: VectorStoreId, signal: AbortSignal): Promise<readonly string[]> {
    const other = await findStore(this.#store.connection, into, signal);
    if (!other) return [`vector store '${into}' does not exist any more`];
    return carryOthers(this.#store, other, this.#requireDomain(), signal);
  }

  /** Settles uploads that the store holds; the others in the journal wait to be reused or deleted. */
  async #openJournal(domainId: DomainId, sourceId: SourceId, snapshot: StoreSnapshot): Promise<UploadJournal> {
    const { storeId, connection } = this.#store;
    const journal = await connection.records.journals.open({ domainId, sourceId, storeId });
    const strays = new Set(
      [...snapshot.items.values()].flatMap((held) => held.strays.map(({ fileId: stray }) => stray)),
    );
    const isAttached = (fileId: FileId) => snapshot.files.get(fileId)?.status === "completed" && !strays.has(fileId);
    for (const { key, fileId } of await journal.unsettled())
      if (fileId && isAttached(fileId)) await journal.settle(key);
    return journal;
  }

  async #snapshot(sourceId: SourceId): Promise<StoreSnapshot> {
    const snapshot = await snapshotStore(this.#store, this.#requireDomain(), sourceId);
    this.#sources = snapshot.sources;
    return snapshot;
  }

  #requireDomain(): DomainId {
    if (this.#domainId !== undefined) return this.#domainId;
    throw new Error(`open vector store ${this.#store.storeId}: without a domain it can only be searched`);
  }
}

/** The service tells neither name nor address; others may give their files attributes like ours. */
function toIndexed(file: StoreFile, domainId: DomainId): IndexedDocument {
  const { source_id, item_id, last_modified } = file.attributes;
  const isOurs = isOfDomain(file, domainId) && typeof source_id === "string";
  return {
    fileId: file.fileId,
    sourceId: isOurs ? source_id : "",
    itemId: (isOurs ? item_id : file.fileId) as ItemId,
    name: "",
    path: "",
    url: "",
    title: "",
    modifiedAt: typeof last_modified === "string" ? last_modified : "",
    fileType: readFileType(file) ?? "",
    language: "",
  };
}

/** The service numbers no passages, so `passage` is not looked for. */
function partOf(text: string, { offset = 0, limit }: TextRange): TextPart {
  const characters = [...text];
  return {
    text: characters.slice(offset, offset + limit).join(""),
    offset: Math.min(offset, characters.length),
    total: characters.length,
  };
}

const SLICE = 500;

/**
 * Attaches to `into` what others put into `from`: all files without the attributes of this domain. Returns an error message for
 * each file that could not be attached.
 */
async function carryOthers(from: Store, into: Store, domainId: DomainId, signal: AbortSignal): Promise<string[]> {
  const there = new Set((await listStoreFiles(into, undefined, signal)).map(({ fileId }) => fileId));
  const others = (await listStoreFiles(from, undefined, signal))
    .filter((file) => file.status === "completed" && !isOfDomain(file, domainId) && !there.has(file.fileId))
    .map(({ fileId, attributes }) => ({ fileId, attributes: { ...attributes } }));
  const failures: string[] = [];
  for (const slice of slicesOf(others, SLICE)) {
    for (const [fileId, outcome] of await embedFiles(into, slice, signal)) {
      if (outcome.status === "failed") failures.push(`file ${fileId}, which others attached: ${outcome.reason}`);
    }
  }
  return failures;
}

/**
 * Some Azure endpoints have vector stores without search. The first search of a connection detects that; from then on a
 * model searches, which costs a model call each time.
 */
async function searchStore(store: Store, query: SearchQuery): Promise<SearchHit[]> {
  const { unsupported } = store.connection;
  if (unsupported.search) return searchByModel(store, query);
  try {
    return await search(store, query);
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    await assertStoreExists(store, "search", error);
    unsupported.search = true;
    return searchByModel(store, query);
  }
}

function search({ storeId, connection }: Store, query: SearchQuery): Promise<SearchHit[]> {
  const path = `/vector_stores/${encodeURIComponent(storeId)}/search`;
  const body = toWireSearch(query);
  const headers = { "OpenAI-Beta": "assistants=v2" };
  const what = `search vector store ${storeId}`;
  return connection.interactiveCalls.run(
    what,
    async (_attempt, signal) =>
      // Read as plain JSON: the client's page class turns any body without `data` into "nothing found".
      readHits(await connection.client.post<unknown>(path, { body, headers, signal })),
    query.signal,
  );
}

const INSTRUCTIONS =
  "Call the file search tool once, with the user's message as the query, unchanged. Then answer with the word done.";

async function searchByModel({ storeId, connection }: Store, query: SearchQuery): Promise<SearchHit[]> {
  const { client, interactiveCalls, model, modelSetting } = connection;
  const filters = toWireFilter(query);
  if (!model) {
    throw new RemoteError(
      `search vector store ${storeId}: this service offers no search; set ${modelSetting} to a model that can search in its place`,
    );
  }
  const { limit, scoreThreshold } = query;
  const body = {
    model,
    input: query.text,
    instructions: INSTRUCTIONS,
    tools: [
      {
        type: "file_search",
        vector_store_ids: [storeId],
        max_num_results: limit,
        ...(filters ? { filters } : {}),
        ...(scoreThreshold === undefined ? {} : { ranking_options: { score_threshold: scoreThreshold } }),
      },
    ],
    tool_choice: { type: "file_search" },
    include: ["file_search_call.results"],
    store: false,
  };
  const what = `search vector store ${storeId} by ${model}`;
  const hits = await interactiveCalls.run(
    what,
    async (_attempt, signal) => readResponseHits(await client.post<unknown>("/responses", { body, signal })),
    query.signal,
  );
  return hits.filter(({ score }) => score >= (scoreThreshold ?? 0)).slice(0, limit);
}

/** Throws BadInputError for conditions that the attributes cannot express: ignoring them would give wrong results. */
function toWireSearch(query: SearchQuery): VectorStoreSearchParams {
  const filters = toWireFilter(query);
  return {
    query: query.text,
    max_num_results: query.limit,
    ...(filters ? { filters } : {}),
    ...(query.scoreThreshold === undefined ? {} : { ranking_options: { score_threshold: query.scoreThreshold } }),
  };
}

function toWireFilter(query: SearchQuery): ComparisonFilter | CompoundFilter | undefined {
  assertSupported(query);
  const filters = [...(query.filter ? [query.filter] : []), ...scopeFilters(query.scope ?? {})];
  const filter = filters.length > 1 ? ({ type: "and", filters } as const) : filters[0];
  return filter as ComparisonFilter | CompoundFilter | undefined;
}

function assertSupported({ generation, using, scope }: SearchQuery): void {
  const unsupported: [unknown, string][] = [
    [generation, "search as of a generation"],
    [using, "search by words or by vectors alone"],
    [scope?.pathPrefix, "narrow a search to a path"],
    [scope?.languages, "narrow a search to a language"],
  ];
  const [, what] = unsupported.find(([value]) => value !== undefined) ?? [];
  if (what) throw new BadInputError(`This backend cannot ${what}; only the embedded index can. Leave it out.`);
}

function scopeFilters(scope: SearchScope): AttributeFilter[] {
  const { domainId, sourceId, fileTypes, modifiedFrom, modifiedBefore } = scope;
  return [
    ...(domainId === undefined ? [] : [{ type: "eq", key: "domain_id", value: domainId } as const]),
    ...(sourceId === undefined ? [] : [{ type: "eq", key: "source_id", value: sourceId } as const]),
    ...(fileTypes === undefined ? [] : [{ type: "in", key: "file_type", value: fileTypes } as const]),
    ...(modifiedFrom === undefined
      ? []
      : [{ type: "gte", key: "last_modified", value: toAttributeTime(modifiedFrom) } as const]),
    ...(modifiedBefore === undefined
      ? []
      : [{ type: "lt", key: "last_modified", value: toAttributeTime(modifiedBefore) } as const]),
  ];
}

/** Formats a time like our attributes: of equal length, so that comparing texts compares times. */
function toAttributeTime(instant: string): string {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime()))
    throw new BadInputError(`'${instant}' is not a time; write it as 2026-01-31T12:00:00Z.`);
  return toUtcMicros(date);
}

function readHits(body: unknown): SearchHit[] {
  const { data } = asObject(body, "search results");
  if (!Array.isArray(data)) throw unexpected("search results");
  return data.map((entry: unknown) => {
    const result = asObject(entry, "a search result");
    const { content } = result;
    if (!Array.isArray(content)) throw unexpected("a search result");
    const text = content.map((part: unknown) => (isJsonObject(part) ? String(part["text"] ?? "") : "")).join("\n\n");
    return readHit(result, text);
  });
}

/** Reads the hits of all file searches in a response of the responses API. */
function readResponseHits(body: unknown): SearchHit[] {
  const { output } = asObject(body, "a response");
  if (!Array.isArray(output)) throw unexpected("a response");
  const calls = output.filter((item): item is JsonObject => isJsonObject(item) && item["type"] === "file_search_call");
  const lists = calls.map(({ results }) => results).filter((results) => Array.isArray(results));
  if (lists.length === 0) throw new RemoteError("read the model's answer: it did not search the files");
  const hits = lists.flat().map((entry: unknown) => {
    const result = asObject(entry, "a search result");
    return readHit(result, String(result["text"] ?? ""));
  });
  return hits.toSorted((a, b) => b.score - a.score);
}

function readHit({ file_id, filename, score, attributes }: JsonObject, text: string): SearchHit {
  if (typeof file_id !== "string") throw unexpected("a search result");
  return {
    fileId: file_id as FileId,
    name: String(filename ?? ""),
    score: Number(score ?? 0),
    attributes: isJsonObject(attributes) ? (attributes as Attributes) : {},
    sectionPath: "",
    text,
  };
}
