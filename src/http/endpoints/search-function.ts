import { domainToUnicode } from "node:url";
import type { App } from "../../app/app.ts";
import { openableUrl } from "../../app/openable-url.ts";
import type { Domain } from "../../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { AttributeFilter, SearchScope } from "../../contracts/search-index.ts";
import type { SourceKind } from "../../contracts/source-kind.ts";
import type { StoredImage } from "../../contracts/web.ts";
import { type ItemView, REGISTERED_SOURCE } from "../../engine/ingest/ingest.ts";
import type { QueryAnswer, QueryRequest, QuerySource } from "../../engine/query.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import { type Answer, type Call, type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { bareEnvelope } from "../routing/envelope.ts";
import { type Arguments, optional, withDefault } from "../routing/parameters.ts";
import { domainId, json, text, trueOrFalse, type Value, wholeNumber } from "../routing/values.ts";
import { toImageJson } from "./item-codec.ts";
import { registryView } from "./registry-view.ts";

const searchType = oneOfWords(["keyword", "vector", "hybrid"]);
const contentType = oneOfWords(["text", "image"]);
const sourceType = oneOfWords(["url", "sharepoint", "file", "blob"]);

const contentTypes: Value<readonly string[]> = {
  accepts: "text, image, or both with a comma between them",
  schema: { type: "array", items: { type: "string" } },
  read(raw) {
    const list = typeof raw === "string" ? raw.split(",").map((part) => part.trim()) : raw;
    if (!Array.isArray(list) || list.length === 0) return undefined;
    const read = list.map((one) => contentType.read(one));
    return read.every((one) => one !== undefined) ? read : undefined;
  },
};

const MOST_RESULTS = 50;
const USUAL_RESULTS = 10;
const MOST_ROUNDS = 10;

/** The same parameters by GET and in a JSON body. The original functions had two names for some of them, and clients use either. */
const searchParameters = {
  query: withDefault(text, "", "What to search for."),
  q: withDefault(text, "", "The same."),
  searchType: optional(
    searchType,
    "What to go by; without it, keyword by GET and hybrid by POST; OpenAI and Azure have hybrid alone.",
  ),
  type: optional(searchType, "The same."),
  contentTypes: optional(contentTypes, "text for pages, image for their pictures, or both; without it, text."),
  content: optional(contentTypes, "The same."),
  maxResults: optional(wholeNumber({ from: 1, to: MOST_RESULTS }), "At most this many; without it, 10."),
  page: optional(wholeNumber({ from: 1, to: MOST_RESULTS }), "Which part of them, 1 for the first."),
  pageSize: optional(wholeNumber({ from: 1, to: MOST_RESULTS }), "How many are a part; without it, 10."),
  filters: optional(
    json,
    'An object: {"fileTypes":["pdf"],"dateRange":{"start":"2026-01-01","end":"2026-01-31"},"sourceType":"url","sourceHost":"docs.example.com"}.',
  ),
  generation: optional(wholeNumber({ from: 0, to: 999_999_999 }), "As of this generation of the domain."),
  nestImages: withDefault(trueOrFalse, false, "true attaches the pictures of each page to its result."),
  domain_id: optional(domainId, "The domain to search; without it, the one that registered addresses go to."),
};

type SearchParameters = Arguments<typeof searchParameters>;

/** `/api/Search`, as the original functions answered it: pages with their passages and pictures. */
export function searchFunction(app: App): Endpoint {
  const path = "/api/Search";
  return endpoint({
    path,
    methods: ["GET", "POST"],
    formats: ["json"],
    description:
      "Searches the pages and documents of a domain: one result for each, with the passages that were found. Give the parameters in the address, or as a JSON body.",
    changes: null,
    query: searchParameters,
    body: searchParameters,
    examples: [
      "?q=travel+expenses&type=hybrid&maxResults=5&domain_id=DEMO",
      `curl '{origin}${path}' -H 'content-type: application/json' -d '{"query":"travel expenses","searchType":"Hybrid","domain_id":"DEMO","nestImages":true,"filters":{"fileTypes":["md"]}}'`,
    ],
    bareGet: "answer",
    envelope: bareEnvelope,
    run: ({ body, ...query }, call) => answer(app, readSearch(app, query, body), call),
  });
}

interface SearchRequest {
  readonly text: string;
  readonly searchType: "keyword" | "vector" | "hybrid";
  readonly contentTypes: readonly string[];
  readonly limit: number;
  readonly page: number;
  readonly pageSize: number;
  readonly filters: SearchFilters;
  readonly generation: number | undefined;
  readonly nestImages: boolean;
  readonly domainId: SearchParameters["domain_id"];
}

/** The body takes precedence over the address. */
function readSearch(app: App, query: SearchParameters, body: Partial<SearchParameters>): SearchRequest {
  const posted = Object.keys(body).length > 0;
  const given: SearchParameters = posted ? merge(query, body) : query;
  const words = (given.query || given.q).trim();
  if (words === "") throw new BadInputError(posted ? "Query is required" : "Query parameter is required");
  const page = given.page ?? 1;
  const pageSize = given.pageSize ?? given.maxResults ?? USUAL_RESULTS;
  const paged = given.page !== undefined || given.pageSize !== undefined;
  return {
    text: words,
    searchType: given.searchType ?? given.type ?? (posted || isRemote(app) ? "hybrid" : "keyword"),
    contentTypes: given.contentTypes ?? given.content ?? ["text"],
    limit: given.maxResults ?? (paged ? MOST_RESULTS : USUAL_RESULTS),
    page,
    pageSize,
    filters: readFilters(given.filters),
    generation: given.generation,
    nestImages: given.nestImages,
    domainId: given.domain_id,
  };
}

/** Remote backends only search by words and vectors together. */
function isRemote({ config }: App): boolean {
  return config.backend.kind !== "embedded";
}

function merge(query: SearchParameters, body: Partial<SearchParameters>): SearchParameters {
  const given = Object.entries(body).filter(([, value]) => value !== undefined && value !== "" && value !== false);
  return { ...query, ...Object.fromEntries(given) };
}

async function answer(app: App, request: SearchRequest, call: Call): Promise<Answer<object>> {
  const startedAtMs = performance.now();
  const found = await search(app, request, call);
  const documents = await findDocuments(app, found, request.filters);
  const results = toResultsJson(documents, { ...request, origin: call.origin }).slice(0, request.limit);
  const from = (request.page - 1) * request.pageSize;
  return ok({
    schemaVersion: "1.1",
    query: request.text,
    totalResults: results.length,
    executionTime: Math.round((performance.now() - startedAtMs) * 1000) / 1000,
    searchType: request.searchType,
    page: request.page,
    pageSize: request.pageSize,
    results: results.slice(from, from + request.pageSize),
    notes: found.notes ?? [],
  });
}

const USING = { keyword: "text", vector: "vectors", hybrid: undefined } as const;

/** Before the first address is indexed, the default domain is empty, which is not an error. */
async function search(app: App, request: SearchRequest, call: Call): Promise<QueryAnswer> {
  const { defaultDomain } = app.config.web;
  try {
    return await searchOn(app, request, call);
  } catch (error) {
    if (!(error instanceof NotFoundError) || (request.domainId ?? defaultDomain) !== defaultDomain) throw error;
    const notes = [`Nothing is indexed in domain '${defaultDomain}' yet.`];
    return { query: request.text, vectorStoreId: "" as VectorStoreId, sources: [], notes };
  }
}

/**
 * One long document may fill the first result: then the search is repeated without the documents found, until there are enough or no more.
 * Scores are relative to the best result of a search, so those of later searches are capped at the lowest score so far.
 */
async function searchOn(app: App, request: SearchRequest, call: Call): Promise<QueryAnswer> {
  const query = await toQueryRequest(app, request);
  const first = await app.query(query, call);
  const found = Map.groupBy(first.sources, ({ fileId }) => fileId);
  for (let round = 1; round < MOST_ROUNDS && found.size > 0; round++) {
    const isWanted = ([best]: readonly QuerySource[]): boolean => !!best && matchesFilters(best, request.filters);
    if ([...found.values()].filter(isWanted).length >= request.limit) break;
    const known = [...found.values()].flat();
    const lowest = Math.min(...known.map(({ score }) => score));
    const { sources } = await app.query({ ...query, filter: without(known, query.filter) }, call);
    const fresh = Map.groupBy(
      sources.filter(({ fileId }) => !found.has(fileId)).map((one) => ({ ...one, score: Math.min(one.score, lowest) })),
      ({ fileId }) => fileId,
    );
    if (fresh.size === 0) break;
    for (const [fileId, passages] of fresh) found.set(fileId, passages);
  }
  return { ...first, sources: [...found.values()].flat() };
}

function without(sources: readonly QuerySource[], filter: AttributeFilter | undefined): AttributeFilter {
  const ids = new Set(sources.map(({ attributes }) => String(attributes["item_id"] ?? "")));
  const others: AttributeFilter = { type: "nin", key: "item_id", value: [...ids] };
  return filter ? { type: "and", filters: [filter, others] } : others;
}

async function toQueryRequest(app: App, request: SearchRequest): Promise<QueryRequest> {
  const { filters, searchType: type } = request;
  const domain = await app.domains.get(request.domainId ?? app.config.web.defaultDomain);
  const using = USING[type];
  return {
    text: request.text,
    domainId: domain.domainId,
    vectorStoreId: undefined,
    // Several passages may belong to one page, and results of other hosts or types are filtered afterwards.
    limit: MOST_RESULTS,
    scope: isRemote(app) ? filters.scope : { ...filters.scope, ...ofHost(domain.sources, filters.sourceHost) },
    ...(using && { using }),
    ...(request.generation !== undefined && { generation: request.generation }),
    ...(filters.sourceType && { filter: ofKind(domain.sources, filters.sourceType, app) }),
  };
}

/** Paths of web pages begin with their host, so the index can filter by it; paths of other sources do not. */
function ofHost(sources: Domain["sources"], host: string): SearchScope {
  if (host === "" || sources.some((source) => source.kind.hostOf?.(source) === host)) return {};
  const { hostname } = new URL(`http://${host}`);
  return { pathPrefix: domainToUnicode(hostname) || hostname };
}

/** Single files and blobs are among the registered addresses. Where the index can compare texts, their ids distinguish them from pages. */
function ofKind(sources: Domain["sources"], kind: FoundSourceType, app: App): AttributeFilter {
  const meant = sources.filter((source) => source.kind.foundAs === kind);
  // No source has the id "": without a source of this type, nothing is found.
  const ids = meant.length > 0 ? meant.map(({ sourceId }) => sourceId) : [""];
  const whole: AttributeFilter = { type: "in", key: "source_id", value: ids };
  if (kind === "sharepoint") return whole;
  const single: AttributeFilter = { type: "eq", key: "source_id", value: REGISTERED_SOURCE };
  const called = (type: "gte" | "lt"): AttributeFilter[] =>
    isRemote(app) ? [] : [{ type, key: "item_id", value: "url_" }];
  if (kind === "url") return { type: "and", filters: [whole, ...called("gte")] };
  return { type: "or", filters: [whole, { type: "and", filters: [single, ...called("lt")] }] };
}

/** A page or document with its found passages, best first. */
interface FoundDocument {
  readonly passages: readonly [QuerySource, ...QuerySource[]];
  /** The page's registry entry; undefined for other documents. */
  readonly view: ItemView | undefined;
}

const SUMMARY_LENGTH = 150;
const MOST_IMAGES = 10;

/** Returns documents in the order of their best passages. */
async function findDocuments(app: App, { sources }: QueryAnswer, filters: SearchFilters): Promise<FoundDocument[]> {
  const byDocument = Map.groupBy(sources, ({ fileId }) => fileId);
  const found = await Promise.all(
    [...byDocument.values()].map(async ([first, ...more]): Promise<FoundDocument[]> => {
      if (first === undefined || !matchesFilters(first, filters)) return [];
      return [{ passages: [first, ...more], view: await registryView(app, first) }];
    }),
  );
  return found.flat();
}

/** Applies filters that not every index can: by host, and single file or page. */
function matchesFilters(source: QuerySource, { sourceType, sourceHost }: SearchFilters): boolean {
  if (sourceType !== undefined && sourceTypeOf(source) !== sourceType) return false;
  return sourceHost === "" || hostOf(source.url) === sourceHost || URL.parse(source.url)?.hostname === sourceHost;
}

/** Local files have the host `file`, as in the registry. */
function hostOf(address: string): string {
  const url = URL.parse(address);
  return url?.protocol === "file:" ? url.host || "file" : (url?.host ?? "");
}

function toResultsJson(
  pages: readonly FoundDocument[],
  request: { readonly contentTypes: readonly string[]; readonly nestImages: boolean; readonly origin: string },
): object[] {
  return pages.flatMap((page) => [
    ...(request.contentTypes.includes("text") ? [toPageJson(page, request)] : []),
    ...(request.contentTypes.includes("image") ? imagesOf(page).map((image) => toImageResultJson(page, image)) : []),
  ]);
}

function toPageJson(
  page: FoundDocument,
  { nestImages, origin }: { readonly nestImages: boolean; readonly origin: string },
): object {
  const [best, ...more] = page.passages;
  const text = [best, ...more].map((passage) => passage.text.trim()).join("\n\n");
  return {
    id: page.view?.item.id ?? best.fileId,
    score: best.score,
    type: "text",
    summary: summaryOf(best.text),
    url: openableUrl(best, origin),
    content: { text, metadata: toMetadataJson(page) },
    ...(nestImages && { images: imagesOf(page).map(toImageJson) }),
  };
}

function toMetadataJson({ passages: [best], view }: FoundDocument): object {
  const item = view?.item;
  return {
    title: item?.title || item?.content.foundTitle || best.name,
    created: item?.scheduling.firstSeen ?? "",
    modified: best.modifiedAt,
    fileSize: item ? item.http.contentLength || item.file.length : 0,
    contentType: item?.content.mimeType ?? "",
    sourceContainer: best.attributes["source_id"] ?? "",
    sourceType: sourceTypeOf(best),
    sourceHost: item?.sourceHost || hostOf(best.url),
    language: item?.content.language || (best.details?.language ?? ""),
    section: best.sectionPath,
    fileId: best.fileId,
  };
}

/** Pages, files and blobs have ids of lockstep; the address tells a file from a blob. */
function sourceTypeOf({ url, attributes, metadata }: QuerySource): FoundSourceType {
  const id = String(attributes["item_id"] ?? metadata?.["sharepoint_unique_file_id"]);
  if (id.startsWith("url_")) return "url";
  if (!/^(file|doc)_/.test(id)) return "sharepoint";
  return url.startsWith("file:") ? "file" : "blob";
}

function toImageResultJson({ passages: [best] }: FoundDocument, image: StoredImage): object {
  const { id, url, alt, caption, surroundings, mimeType, bytes, width, height, parentPageId, parentPageUrl } = image;
  const words = [alt, caption, surroundings].filter((part) => part !== "");
  return {
    id,
    score: best.score,
    type: "image",
    summary: summaryOf(alt || caption || surroundings),
    url,
    thumbnail: toImageJson(image).thumbnail,
    content: {
      text: words.join("\n"),
      metadata: {
        title: alt || caption,
        contentType: mimeType,
        fileSize: bytes,
        width,
        height,
        parentPageId,
        parentPageUrl,
        source: parentPageUrl,
      },
    },
  };
}

function imagesOf({ view }: FoundDocument): readonly StoredImage[] {
  return (view?.images ?? []).slice(0, MOST_IMAGES);
}

function summaryOf(text: string): string {
  const plain = text.replaceAll(/\s+/g, " ").trim();
  return plain.length > SUMMARY_LENGTH ? `${plain.slice(0, SUMMARY_LENGTH)}...` : plain;
}

/** Reads words in any case (`Hybrid`, `hybrid`), as the original functions did. */
function oneOfWords<const T extends string>(choices: readonly T[]): Value<T> {
  return {
    accepts: choices.join(" or "),
    schema: { type: "string" },
    read: (raw) => choices.find((choice) => typeof raw === "string" && choice === raw.toLowerCase()),
  };
}

/** The type of a result's source, in the words of the functions. */
type FoundSourceType = SourceKind["foundAs"];

interface SearchFilters {
  readonly scope: SearchScope;
  readonly sourceType: FoundSourceType | undefined;
  /** As in addresses; "" for all hosts. */
  readonly sourceHost: string;
}

const NAMES = ["fileType", "fileTypes", "dateRange", "sourceType", "sourceHost"];
const RANGE_NAMES = ["from", "to", "start", "end"];

function readFilters(raw: unknown): SearchFilters {
  const given = objectOf(raw ?? {}, "filters", NAMES);
  const range = objectOf(given["dateRange"] ?? {}, "filters.dateRange", RANGE_NAMES);
  const from = range["from"] === undefined ? "start" : "from";
  const to = range["to"] === undefined ? "end" : "to";
  const fileTypes = readTypes(given["fileTypes"] ?? given["fileType"]);
  const kind = given["sourceType"];
  const read = kind === undefined ? undefined : sourceType.read(kind);
  if (kind !== undefined && read === undefined) throw wrong("filters.sourceType", sourceType.accepts);
  return {
    scope: withoutAbsent({
      fileTypes,
      modifiedFrom: readInstant(range[from], `filters.dateRange.${from}`),
      modifiedBefore: readEnd(range[to], `filters.dateRange.${to}`),
    }),
    sourceType: read,
    sourceHost: readHost(given["sourceHost"]),
  };
}

function objectOf(raw: unknown, name: string, accepted: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isJsonObject(raw)) throw wrong(name, "a JSON object");
  const unknown = Object.keys(raw).find((key) => !accepted.includes(key));
  if (unknown === undefined) return raw;
  throw new BadInputError(`Unknown field '${name}.${unknown.slice(0, 80)}'. Accepted: ${accepted.join(", ")}.`);
}

function readTypes(raw: unknown): readonly string[] | undefined {
  if (raw === undefined) return undefined;
  const list: unknown[] = Array.isArray(raw) ? raw : [raw];
  return list.map((one) => readText(one, "filters.fileTypes").toLowerCase().replace(/^\./, ""));
}

function readText(raw: unknown, name: string): string {
  if (raw === undefined) return "";
  if (typeof raw === "string") return raw.trim();
  throw wrong(name, "text");
}

function readHost(raw: unknown): string {
  const text = readText(raw, "filters.sourceHost");
  if (text === "") return "";
  const host = URL.parse(`http://${text}`)?.host;
  if (host) return host;
  throw wrong("filters.sourceHost", "a host name, as docs.example.com");
}

const DAY = /^\d{4}-\d\d-\d\d$/;
const DAY_MS = 24 * 3600 * 1000;

function readInstant(raw: unknown, name: string): string | undefined {
  const text = readText(raw, name);
  if (text === "") return undefined;
  if (/^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d)?)?$/.test(text)) {
    const ms = Date.parse(DAY.test(text) || /(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
    if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  }
  throw wrong(name, "a date or a time, as 2026-01-31 or 2026-01-31T12:00:00Z");
}

/** Returns the exclusive end: the given day or instant is included. */
function readEnd(raw: unknown, name: string): string | undefined {
  const instant = readInstant(raw, name);
  if (instant === undefined) return undefined;
  const more = typeof raw === "string" && DAY.test(raw.trim()) ? DAY_MS : 1;
  return new Date(Date.parse(instant) + more).toISOString();
}

function wrong(name: string, accepts: string): BadInputError {
  return new BadInputError(`'${name}' must be ${accepts}.`);
}
