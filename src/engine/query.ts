import type { Domain } from "../contracts/domain.ts";
import { BadInputError, DamagedError, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, FileId, VectorStoreId } from "../contracts/ids.ts";
import type {
  AttributeFilter,
  Attributes,
  HitDetails,
  Index,
  SearchHit,
  SearchScope,
} from "../contracts/search-index.ts";
import { identifyUrl, USUAL_RULES } from "../plan/web/item-identity.ts";
import type { EngineParts } from "./engine-parts.ts";
import { sayUnfinished } from "./erase/blocked-items.ts";

/** Maximum number of results. */
const MOST_HITS = 50;

export interface QueryRequest {
  readonly text: string;
  /** undefined: the configured default store, or that of the only domain. */
  readonly vectorStoreId: VectorStoreId | undefined;
  /** Instead of a store: the store of this domain. */
  readonly domainId: DomainId | undefined;
  /** 1 to 50. */
  readonly limit: number;
  readonly filter?: AttributeFilter;
  readonly scope?: SearchScope;
  /** As of this generation; only where the backend keeps them. */
  readonly generation?: number;
  readonly using?: "text" | "vectors";
  readonly signal?: AbortSignal | undefined;
}

export interface QuerySource {
  readonly text: string;
  readonly sectionPath: string;
  readonly score: number;
  readonly fileId: string;
  readonly name: string;
  /** "" if only the name of the file is known. */
  readonly url: string;
  readonly modifiedAt: string;
  readonly attributes: Attributes;
  /** The entry of `files_metadata.json`; null when there is none. */
  readonly metadata: Readonly<Record<string, unknown>> | null;
  /** Only from the embedded index; null otherwise. */
  readonly details: HitDetails | null;
}

export interface QueryAnswer {
  readonly query: string;
  readonly vectorStoreId: VectorStoreId;
  readonly sources: readonly QuerySource[];
  /** Notes about the result, one sentence each: what was ignored or could not be done. */
  readonly notes?: readonly string[];
}

type QueryParts = Pick<EngineParts, "domains" | "backend" | "ledgers" | "erasures" | "defaultVectorStoreId">;

/** Searches one vector store; each passage has the URL of its document. */
export async function query(request: QueryRequest, parts: QueryParts): Promise<QueryAnswer> {
  const { store, domain } = await findStore(request, parts);
  const index = await parts.backend.openIndex(store, domain?.domainId);
  if (!index) throw new NotFoundError(`Vector store '${store}' does not exist.`);
  if (request.generation !== undefined && !index.generations) {
    throw new BadInputError("This backend keeps no generations to search as of; only the embedded index does.");
  }
  const notes = new Set<string>();
  const unfinished = domain ? await sayUnfinished(domain.domainId, parts.erasures) : "";
  if (unfinished !== "") notes.add(unfinished);
  const sources = request.text.trim() ? await searchFolded(index, request, domain, parts, notes) : [];
  return { query: request.text, vectorStoreId: store, sources, notes: [...notes] };
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
  const { vectorStoreId: _store, domainId: _domain, ...search } = request;
  for (let limit = request.limit; ; limit = Math.min(2 * limit, MOST_HITS)) {
    const hits = await index.search({ ...search, limit, tell: (note) => notes.add(note) });
    const fileIds = hits.map(({ fileId }) => fileId);
    const metadata = domain && (await findMetadata(domain.domainId, fileIds, parts, notes));
    const sources = foldVariants(hits.map((hit) => sourceOf(hit, metadata?.get(hit.fileId) ?? null)));
    const isAll = hits.length < limit || limit >= MOST_HITS || sources.length === hits.length;
    if (isAll || sources.length >= request.limit) return sources.slice(0, request.limit);
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

async function findStore(
  request: QueryRequest,
  { domains, defaultVectorStoreId }: QueryParts,
): Promise<{ store: VectorStoreId; domain: Domain | undefined }> {
  if (request.domainId) {
    const domain = await domains.get(request.domainId);
    if (domain.vectorStoreId) return { store: domain.vectorStoreId, domain };
    throw new NotFoundError(`Domain '${domain.domainId}' has no vector store yet. Crawl it first.`);
  }
  const all = (await domains.list()).domains;
  const wanted = request.vectorStoreId ?? defaultVectorStoreId;
  if (wanted) {
    return { store: wanted as VectorStoreId, domain: all.find(({ vectorStoreId }) => vectorStoreId === wanted) };
  }
  const [only, ...others] = all.filter(({ vectorStoreId }) => vectorStoreId !== "");
  if (only?.vectorStoreId && others.length === 0) return { store: only.vectorStoreId, domain: only };
  throw new BadInputError(
    "Missing 'vsid' (in /v2/search 'domain_id' or 'vector_store_id'): say which vector store to search, or set SEARCH_DEFAULT_GLOBAL_VECTOR_STORE_ID for a default.",
  );
}

/**
 * The embedded index has name and URL as of the searched generation. For other backends they come from our records:
 * they keep the name a file had when it was uploaded.
 */
function sourceOf(hit: SearchHit, metadata: Readonly<Record<string, unknown>> | null): QuerySource {
  const { details } = hit;
  const text = (key: string): string => (typeof metadata?.[key] === "string" ? metadata[key] : "");
  return {
    text: hit.text,
    sectionPath: hit.sectionPath,
    score: hit.score,
    fileId: hit.fileId,
    name: details ? hit.name : text("filename") || hit.name,
    url: details?.url || text("url"),
    modifiedAt: details?.modifiedAt || text("last_modified_utc"),
    attributes: hit.attributes,
    metadata,
    details: details ?? null,
  };
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
