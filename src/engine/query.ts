import type { WordCounts } from "../contracts/answer.ts";
import type { Domain } from "../contracts/domain.ts";
import { BadInputError, CancelledError, DamagedError, explain, NotFoundError } from "../contracts/errors.ts";
import {
  type DomainId,
  type FileId,
  type ItemId,
  isDocumentId,
  type SourceId,
  type VectorStoreId,
} from "../contracts/ids.ts";
import type {
  AttributeFilter,
  Attributes,
  HitDetails,
  Index,
  SearchHit,
  SearchScope,
} from "../contracts/search-index.ts";
import type { DomainListing } from "../domains/domain-files.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { KnowledgeBase } from "../mirror/knowledge-base.ts";
import { identifyUrl, USUAL_RULES } from "../plan/web/item-identity.ts";
import type { EngineParts } from "./engine-parts.ts";
import { sayUnfinished } from "./erase/blocked-items.ts";
import { folderOfRun } from "./with-ledger.ts";

/** Maximum number of results. */
const MOST_HITS = 50;

export interface QueryRequest {
  readonly text: string;
  /** Only this store. */
  readonly vectorStoreId: VectorStoreId | undefined;
  /** Only the store of this domain. Without either: the configured default store, or the stores of all domains. */
  readonly domainId: DomainId | undefined;
  /** The stores of all domains, also where there is a default store. */
  readonly everywhere?: true;
  /** 1 to 50. */
  readonly limit: number;
  readonly filter?: AttributeFilter;
  readonly scope?: SearchScope;
  /** As of this generation; only where the backend keeps them. */
  readonly generation?: number;
  readonly using?: "text" | "vectors";
  /** Also tells how common the words of the question are, where the index knows. */
  readonly counted?: true;
  readonly signal?: AbortSignal | undefined;
}

export interface QuerySource {
  readonly text: string;
  readonly sectionPath: string;
  readonly score: number;
  readonly fileId: string;
  /** "" for a store that belongs to no domain. */
  readonly domainId: DomainId | "";
  readonly name: string;
  /** For people: the document's own title; without one, its name. Never "". */
  readonly title: string;
  /** "" if only the name of the file is known. */
  readonly url: string;
  /** `url`, where a browser opens it: no file, and no blob, which mostly wants a signature; else "". */
  readonly webUrl: string;
  readonly modifiedAt: string;
  /** When its source was last checked completely, ISO 8601 UTC; "" if unknown, and for results of an earlier generation. */
  readonly checkedAt: string;
  /** Its last update failed, or its removal is held. */
  readonly isBehind: boolean;
  readonly attributes: Attributes;
  /** The entry of `files_metadata.json`; null when there is none. */
  readonly metadata: Readonly<Record<string, unknown>> | null;
  /** Only from the embedded index; null otherwise. */
  readonly details: HitDetails | null;
}

export interface QueryAnswer {
  readonly query: string;
  /** "" if the stores of all domains were searched. */
  readonly vectorStoreId: VectorStoreId | "";
  readonly sources: readonly QuerySource[];
  /** If asked for, and known. */
  readonly words?: WordCounts;
  /** Notes about the result, one sentence each: what was ignored or could not be done. */
  readonly notes?: readonly string[];
}

type QueryParts = Pick<
  EngineParts,
  "domains" | "backend" | "ledgers" | "defaultVectorStoreId" | "erasures" | "crawlerFolder"
>;

/** A store to search. */
interface Searched {
  readonly store: VectorStoreId;
  readonly domain: Domain | undefined;
}

/** Stores that are searched at the same time. */
const STORES_AT_ONCE = 4;

/** Searches one vector store, or those of all domains; each passage has the URL of its document. */
export async function query(request: QueryRequest, parts: QueryParts): Promise<QueryAnswer> {
  const { stores, vectorStoreId, broken = [] } = await findStores(request, parts);
  const notSearched = (domainId: string, reason: string): string => `Domain '${domainId}' was not searched: ${reason}`;
  const notes = new Set(broken.map(({ domainId, reason }) => notSearched(domainId, reason)));
  const wanted = request.scope?.sourceId;
  // A store without a domain may have files of any source.
  const hasSource = ({ domain }: Searched): boolean => !domain || domain.sources.some((one) => one.sourceId === wanted);
  if (wanted !== undefined && !stores.some(hasSource))
    notes.add(`No domain that was searched has a source '${wanted}'.`);
  const found: QuerySource[][] = stores.map(() => []);
  const counts: WordCounts[] = [];
  const isOne = vectorStoreId !== "";
  const failures: unknown[] = [];
  await forEachConcurrent([...stores.entries()], STORES_AT_ONCE, async ([at, searched]) => {
    if (!request.text.trim() && !isOne) return;
    try {
      found[at] = [...(await searchOne(searched, request, parts, { notes, counts }))];
    } catch (error) {
      if (isOne || error instanceof CancelledError || error instanceof BadInputError) throw error;
      failures.push(error);
      notes.add(notSearched(searched.domain?.domainId ?? "", explain(error)));
    }
  });
  // One domain that does not answer hides no other; if none does, that is no empty answer.
  if (failures.length === stores.length) throw failures[0];
  const sources = isOne ? found.flat() : found.flat().sort((a, b) => b.score - a.score);
  const words = counts.length > 0 ? { words: addUp(counts) } : {};
  return { query: request.text, vectorStoreId, sources: sources.slice(0, request.limit), ...words, notes: [...notes] };
}

function addUp(counts: readonly WordCounts[]): WordCounts {
  const having = new Map<string, number>();
  for (const one of counts) for (const [word, count] of one.having) having.set(word, (having.get(word) ?? 0) + count);
  return { passages: counts.reduce((sum, { passages }) => sum + passages, 0), having };
}

/** Tells of results that a vector store gave over the wire what a query would have told. */
export async function describeHits(
  store: VectorStoreId,
  hits: readonly SearchHit[],
  parts: QueryParts,
): Promise<readonly QuerySource[]> {
  const domain = (await parts.domains.list()).domains.find(({ vectorStoreId }) => vectorStoreId === store);
  const index = domain && (await parts.backend.openIndex(store, domain.domainId));
  const notes = new Set<string>();
  const fileIds = hits.map(({ fileId }) => fileId);
  const metadata = domain && (await findMetadata(domain.domainId, fileIds, parts, notes));
  const titles = index ? await findTitles(hits, index, domain, parts) : new Map();
  const sources = hits.map((hit) => sourceOf(hit, metadata?.get(hit.fileId) ?? null, domain, titles));
  return index ? await withFreshness(sources, { index, domain, generation: undefined }, parts, notes) : sources;
}

async function searchOne(
  { store, domain }: Searched,
  request: QueryRequest,
  parts: QueryParts,
  { notes, counts }: { readonly notes: Set<string>; readonly counts: WordCounts[] },
): Promise<readonly QuerySource[]> {
  const index = await parts.backend.openIndex(store, domain?.domainId);
  if (!index) throw new NotFoundError(`Vector store '${store}' does not exist.`);
  if (request.generation !== undefined && !index.generations) {
    throw new BadInputError("This backend keeps no generations to search as of; only the embedded index does.");
  }
  const unfinished = domain ? await sayUnfinished(domain.domainId, parts.erasures) : "";
  if (unfinished !== "") notes.add(unfinished);
  if (!request.text.trim()) return [];
  if (request.counted && index.countWords) counts.push(await index.countWords(request.text));
  const sources = await searchFolded(index, request, domain, parts, notes);
  return await withFreshness(sources, { index, domain, generation: request.generation }, parts, notes);
}

/**
 * Returns `limit` results if there are as many: searches again with a higher limit if variants of one page were folded.
 */
async function searchFolded(
  index: Index,
  request: QueryRequest,
  domain: Domain | undefined,
  parts: QueryParts,
  notes: Set<string>,
): Promise<readonly QuerySource[]> {
  const { vectorStoreId: _store, domainId: _domain, everywhere: _all, counted: _counted, ...search } = request;
  for (let limit = request.limit; ; limit = Math.min(2 * limit, MOST_HITS)) {
    const hits = await index.search({ ...search, limit, tell: (note) => notes.add(note) });
    const fileIds = hits.map(({ fileId }) => fileId);
    const metadata = domain && (await findMetadata(domain.domainId, fileIds, parts, notes));
    const titles = await findTitles(hits, index, domain, parts);
    const sources = foldVariants(hits.map((hit) => sourceOf(hit, metadata?.get(hit.fileId) ?? null, domain, titles)));
    const isAll = hits.length < limit || limit >= MOST_HITS || sources.length === hits.length;
    if (isAll || sources.length >= request.limit) return sources.slice(0, request.limit);
  }
}

/** Says nothing of results of an earlier generation: the source was checked since, and they do not show what it found. */
async function withFreshness(
  sources: readonly QuerySource[],
  {
    index,
    domain,
    generation,
  }: {
    readonly index: Index;
    readonly domain: Domain | undefined;
    readonly generation: number | undefined;
  },
  { ledgers }: QueryParts,
  notes: Set<string>,
): Promise<readonly QuerySource[]> {
  if (!domain || sources.length === 0 || generation !== undefined) return sources;
  if ((await index.generations?.state())?.pinned) return sources;
  const text = ({ attributes }: QuerySource, key: string): string => String(attributes[key] ?? "");
  try {
    const items = new Set(sources.map((source) => text(source, "item_id") as ItemId));
    const { checkedAt, behind } = await ledgers.freshness(domain.domainId, [...items]);
    return sources.map((source) => ({
      ...source,
      checkedAt: checkedAt.get(text(source, "source_id") as SourceId) ?? "",
      isBehind: behind.has(text(source, "item_id") as ItemId),
    }));
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    notes.add(`When the sources were checked is not known: ${error.problem}`);
    return sources;
  }
}

/** Returns undefined, with a note, if the ledger is damaged: the search still works. */
async function findMetadata(
  domainId: DomainId,
  fileIds: readonly FileId[],
  { ledgers }: QueryParts,
  notes: Set<string>,
): Promise<Awaited<ReturnType<QueryParts["ledgers"]["metadata"]["find"]>> | undefined> {
  try {
    return await ledgers.metadata.find(domainId, fileIds);
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    notes.add(`Custom properties are missing: ${error.problem}`);
    return undefined;
  }
}

async function findStores(
  request: QueryRequest,
  { domains, defaultVectorStoreId }: QueryParts,
): Promise<{
  readonly stores: readonly Searched[];
  readonly vectorStoreId: VectorStoreId | "";
  /** Belong to what is searched, and cannot be read. */
  readonly broken?: DomainListing["broken"];
}> {
  if (request.domainId) {
    const domain = await domains.get(request.domainId);
    const { vectorStoreId: store } = domain;
    if (store) return { stores: [{ store, domain }], vectorStoreId: store };
    throw new NotFoundError(`Domain '${domain.domainId}' has no vector store yet. Crawl it first.`);
  }
  const { domains: all, broken } = await domains.list();
  const wanted = request.vectorStoreId ?? (request.everywhere ? "" : defaultVectorStoreId);
  if (wanted) {
    const store = wanted as VectorStoreId;
    return {
      stores: [{ store, domain: all.find(({ vectorStoreId }) => vectorStoreId === store) }],
      vectorStoreId: store,
    };
  }
  const stores = all.flatMap((domain) => (domain.vectorStoreId ? [{ store: domain.vectorStoreId, domain }] : []));
  const [only, ...others] = stores;
  if (!only) {
    throw new BadInputError("There is nothing to search yet: no domain was crawled. Create one and crawl it first.");
  }
  if (others.length > 0 && request.generation !== undefined) {
    throw new BadInputError("Generations are counted in each domain: say which domain to search as of one.");
  }
  return { stores, vectorStoreId: others.length === 0 ? only.store : "", broken };
}

/**
 * The embedded index has name and URL as of the searched generation. For other backends they come from our records:
 * they keep the name a file had when it was uploaded.
 */
function sourceOf(
  hit: SearchHit,
  metadata: Readonly<Record<string, unknown>> | null,
  domain: Domain | undefined,
  titles: ReadonlyMap<FileId, string>,
): QuerySource {
  const { details } = hit;
  const text = (key: string): string => (typeof metadata?.[key] === "string" ? metadata[key] : "");
  const url = details?.url || text("url");
  const name = details ? hit.name : text("filename") || hit.name;
  return {
    text: hit.text,
    sectionPath: hit.sectionPath,
    score: hit.score,
    fileId: hit.fileId,
    domainId: domain?.domainId ?? "",
    name,
    title: titleOfHit(hit, name, titles.get(hit.fileId) ?? ""),
    url,
    webUrl: webUrlOf(domain, String(hit.attributes["source_id"] ?? ""), url),
    modifiedAt: details?.modifiedAt || text("last_modified_utc"),
    checkedAt: "",
    isBehind: false,
    attributes: hit.attributes,
    metadata,
    details: details ?? null,
  };
}

const LONGEST_TITLE = 200;

/** Titles of hits that come without: from the index, else from the texts that we made of a tree's files. */
export async function findTitles(
  hits: readonly Pick<SearchHit, "fileId" | "attributes" | "details">[],
  index: Index,
  domain: Domain | undefined,
  { crawlerFolder }: Pick<QueryParts, "crawlerFolder">,
): Promise<ReadonlyMap<FileId, string>> {
  const untitled = hits.filter(({ details }) => details === undefined);
  if (untitled.length === 0) return new Map();
  if (index.titles) return index.titles(untitled.map(({ fileId }) => fileId));
  const titles = new Map<FileId, string>();
  for (const { fileId, attributes } of untitled) {
    const config = domain?.sources.find(({ sourceId }) => sourceId === attributes["source_id"]);
    const item = attributes["item_id"];
    if (!domain || !config?.kind.abilities.keepsTexts || !isDocumentId(item) || titles.has(fileId)) continue;
    const base = new KnowledgeBase(folderOfRun({ domainId: domain.domainId, config }, { crawlerFolder }));
    titles.set(fileId, (await base.current(item))?.title ?? "");
  }
  return titles;
}

/** The title is Markdown where it is a heading. Backends without titles have one if the passage begins with the first heading. */
function titleOfHit({ details, text, sectionPath, fileId }: SearchHit, name: string, found: string): string {
  const heading = details ? details.title : found || (/^# +(\S.*)$/m.exec(text.slice(0, 1000))?.[1] ?? "");
  const title = withoutMarks(heading) || (sectionPath.split(" > ")[0] ?? "");
  return titleOf({ title, name, path: details?.path ?? "" }) || fileId;
}

/** Returns the document's own title, as it may stand in a heading; without one its name; "" if it has neither. */
export function titleOf({ title, name, path }: { title: string; name: string; path: string }): string {
  const folder = path.split("/").at(-2) ?? "";
  // `_index.md` and the like say nothing; their folder does.
  const called = /^_?(?:index|readme|default)\.\w+$/i.test(name) && folder !== "" ? folder : name;
  return withoutMarks(title).slice(0, LONGEST_TITLE).trim() || called;
}

function withoutMarks(heading: string): string {
  return heading
    .replaceAll(/!?\[([^[\]]*)\]\([^()\s]*\)/g, "$1")
    .replaceAll(/\*\*|__|`/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** Returns the address of a document if a browser opens it: no file, and no blob, which mostly wants a signature; else "". */
export function webUrlOf(domain: Domain | undefined, source: string, url: string): string {
  const config = domain?.sources.find(({ sourceId }) => sourceId === source);
  return config?.kind.foundAs !== "blob" && opensInBrowser(url) ? url : "";
}

/** A repository without pages has addresses like `https://host/repository.git#path`, which open no document. */
function opensInBrowser(url: string): boolean {
  const { protocol, hash, pathname } = URL.parse(url) ?? {};
  return (protocol === "https:" || protocol === "http:") && !(hash && pathname?.endsWith(".git"));
}

/**
 * URLs of one content group (http and https, query variants, the index page of a folder) with the same content are one
 * result, under the shortest URL. Their items stay separate.
 */
export function foldVariants(sources: readonly QuerySource[]): readonly QuerySource[] {
  const shown = new Map<string, QuerySource>();
  for (const source of sources) {
    const key = variantKey(source);
    const known = key && shown.get(key);
    if (key && (!known || isFirst(source.url, known.url))) shown.set(key, source);
  }
  return sources.filter((source) => {
    const key = variantKey(source);
    return key === "" || shown.get(key)?.fileId === source.fileId;
  });
}

function isFirst(url: string, other: string): boolean {
  return url.length === other.length ? url < other : url.length < other.length;
}

/** "" for anything but a page with a content hash. */
function variantKey({ attributes, url }: QuerySource): string {
  const hash = String(attributes["content_hash"] ?? "");
  if (hash === "" || !String(attributes["item_id"] ?? "").startsWith("url_")) return "";
  try {
    const { contentGroupId } = identifyUrl(url, USUAL_RULES);
    return `${contentGroupId} ${hash}`;
  } catch (error) {
    if (error instanceof BadInputError) return "";
    throw error;
  }
}
