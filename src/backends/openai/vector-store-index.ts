import type { ComparisonFilter, CompoundFilter } from "openai/resources/shared";
import type { VectorStoreSearchParams } from "openai/resources/vector-stores/vector-stores";
import { BadInputError, RemoteError } from "../../contracts/errors.ts";
import type { DomainId, FileId, SourceId, VectorStoreId } from "../../contracts/ids.ts";
import type { IndexAudit } from "../../contracts/index-audit.ts";
import type {
  AttributeFilter,
  Attributes,
  DocumentCount,
  Index,
  IndexDraft,
  IndexedRef,
  SearchHit,
  SearchQuery,
  SearchScope,
} from "../../contracts/search-index.ts";
import type { UploadJournal } from "../../contracts/uploads.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { openStoreAudit } from "./audit-store.ts";
import { embedFiles } from "./embed-files.ts";
import { hasStatus } from "./refusal.ts";
import { assertStoreExists, countStoreFiles, findStore, listStoreFiles, type Store } from "./store-files.ts";
import { type Survey, surveySource } from "./survey.ts";
import { collectLeftovers } from "./uploads.ts";
import { VectorStoreDraft } from "./vector-store-draft.ts";
import { asObject, isOfDomain, readContentHash, readFileType, unexpected } from "./wire-codec.ts";

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

  async openAudit(sourceId: SourceId): Promise<IndexAudit> {
    return openStoreAudit(await this.#survey(sourceId), { domainId: this.#requireDomain(), sourceId });
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

const SLICE = 500;

/**
 * Attaches to `into` what somebody else put into `from`: everything that does not carry the marks of this domain. Tells
 * what could not be attached, one sentence each.
 */
async function carryOthers(from: Store, into: Store, domainId: DomainId, signal: AbortSignal): Promise<string[]> {
  const there = new Set((await listStoreFiles(into, undefined, signal)).map(({ fileId }) => fileId));
  const others = (await listStoreFiles(from, undefined, signal))
    .filter((file) => file.status === "completed" && !isOfDomain(file, domainId) && !there.has(file.fileId))
    .map(({ fileId, attributes }) => ({ fileId, attributes: { ...attributes } }));
  const failures: string[] = [];
  for (let at = 0; at < others.length; at += SLICE) {
    for (const [fileId, outcome] of await embedFiles(into, others.slice(at, at + SLICE), signal)) {
      if (outcome.status === "failed") failures.push(`file ${fileId}, which others attached: ${outcome.reason}`);
    }
  }
  return failures;
}

/**
 * Some Azure endpoints have vector stores without search. The first search of a connection finds that out; from then on
 * a model is made to search, which costs a call to it each time.
 */
async function searchStore(store: Store, query: SearchQuery): Promise<SearchHit[]> {
  const { lacks } = store.connection;
  if (lacks.search) return searchByModel(store, query);
  try {
    return await search(store, query);
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    await assertStoreExists(store, "search", error);
    lacks.search = true;
    return searchByModel(store, query);
  }
}

function search({ storeId, connection }: Store, query: SearchQuery): Promise<SearchHit[]> {
  const path = `/vector_stores/${encodeURIComponent(storeId)}/search`;
  const body = toWireSearch(query);
  const headers = { "OpenAI-Beta": "assistants=v2" };
  const what = `search vector store ${storeId}`;
  return connection.questions.run(
    what,
    async (_attempt, signal) =>
      // Read as plain JSON: the client's own page turns any body without `data` into "nothing found".
      readHits(await connection.client.post<unknown>(path, { body, headers, signal })),
    query.signal,
  );
}

const INSTRUCTIONS =
  "Call the file search tool once, with the user's message as the query, unchanged. Then answer with the word done.";

async function searchByModel({ storeId, connection }: Store, query: SearchQuery): Promise<SearchHit[]> {
  const { client, questions, model, modelSetting } = connection;
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
  const hits = await questions.run(
    what,
    async (_attempt, signal) => readResponseHits(await client.post<unknown>("/responses", { body, signal })),
    query.signal,
  );
  return hits.filter(({ score }) => score >= (scoreThreshold ?? 0)).slice(0, limit);
}

/** BadInputError for what the attributes of our files cannot tell: a search that ignored it would answer wrongly. */
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
  refuseUntold(query);
  const filters = [...(query.filter ? [query.filter] : []), ...scopeFilters(query.scope ?? {})];
  const filter = filters.length > 1 ? ({ type: "and", filters } as const) : filters[0];
  return filter as ComparisonFilter | CompoundFilter | undefined;
}

function refuseUntold({ generation, using, scope }: SearchQuery): void {
  const untold: [unknown, string][] = [
    [generation, "search as of a generation"],
    [using, "search by words or by vectors alone"],
    [scope?.pathPrefix, "narrow a search to a path"],
    [scope?.languages, "narrow a search to a language"],
  ];
  const [, what] = untold.find(([value]) => value !== undefined) ?? [];
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
      : [{ type: "gte", key: "last_modified", value: asMark(modifiedFrom) } as const]),
    ...(modifiedBefore === undefined
      ? []
      : [{ type: "lt", key: "last_modified", value: asMark(modifiedBefore) } as const]),
  ];
}

/** As the marks have it: of the same length, so that comparing texts compares times. */
function asMark(instant: string): string {
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

/** The hits of every file search in an answer of the responses API. */
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
