import { domainToUnicode } from "node:url";
import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { AttributeFilter, SearchScope } from "../../contracts/search-index.ts";
import { REGISTERED_SOURCE } from "../../engine/ingest/ingest.ts";
import type { QueryAnswer, QueryRequest, QuerySource } from "../../engine/query.ts";
import { type Answer, type Call, type Endpoint, endpoint, ok } from "../grammar/endpoint.ts";
import { bareEnvelope } from "../grammar/envelope.ts";
import { type Arguments, optional, withDefault } from "../grammar/parameters.ts";
import { domainId, json, text, trueOrFalse, wholeNumber } from "../grammar/values.ts";
import { findDocuments, isAskedFor, toResultsJson } from "./function-results.ts";
import {
  contentTypes,
  type FoundSourceType,
  readFilters,
  type SearchFilters,
  searchType,
} from "./function-search-values.ts";

const MOST_RESULTS = 50;
const USUAL_RESULTS = 10;
const MOST_ROUNDS = 10;

/** The same by GET and in a JSON body. The functions had two names for some of them, and clients use either. */
const asked = {
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
  nestImages: withDefault(trueOrFalse, false, "true attaches the pictures of each page to its result."),
  domain_id: optional(domainId, "The domain to search; without it, the one that registered addresses go to."),
};

type Asked = Arguments<typeof asked>;

export function searchFunction(app: App): Endpoint {
  const path = "/api/Search";
  return endpoint({
    path,
    methods: ["GET", "POST"],
    formats: ["json"],
    description:
      "Searches the pages and documents of a domain: one result for each, with the passages that were found. Give the parameters in the address, or as a JSON body.",
    changes: null,
    query: asked,
    body: asked,
    examples: [
      "?q=travel+expenses&type=hybrid&maxResults=5&domain_id=DEMO",
      `curl '{origin}${path}' -H 'content-type: application/json' -d '{"query":"travel expenses","searchType":"Hybrid","domain_id":"DEMO","nestImages":true,"filters":{"fileTypes":["md"]}}'`,
    ],
    bareGet: "answer",
    envelope: bareEnvelope,
    run: ({ body, ...query }, call) => answer(app, readWish(app, query, body), call),
  });
}

interface Wish {
  readonly text: string;
  readonly searchType: "keyword" | "vector" | "hybrid";
  readonly contentTypes: readonly string[];
  readonly limit: number;
  readonly page: number;
  readonly pageSize: number;
  readonly filters: SearchFilters;
  readonly nestImages: boolean;
  readonly domainId: Asked["domain_id"];
}

/** What the body says goes before what the address says. */
function readWish(app: App, query: Asked, body: Partial<Asked>): Wish {
  const posted = Object.keys(body).length > 0;
  const said: Asked = posted ? merge(query, body) : query;
  const words = (said.query || said.q).trim();
  if (words === "") throw new BadInputError(posted ? "Query is required" : "Query parameter is required");
  const page = said.page ?? 1;
  const pageSize = said.pageSize ?? said.maxResults ?? USUAL_RESULTS;
  const paged = said.page !== undefined || said.pageSize !== undefined;
  return {
    text: words,
    searchType: said.searchType ?? said.type ?? (posted || isRemote(app) ? "hybrid" : "keyword"),
    contentTypes: said.contentTypes ?? said.content ?? ["text"],
    limit: said.maxResults ?? (paged ? MOST_RESULTS : USUAL_RESULTS),
    page,
    pageSize,
    filters: readFilters(said.filters),
    nestImages: said.nestImages,
    domainId: said.domain_id,
  };
}

/** Other backends search by words and meaning together, and in no other way. */
function isRemote({ config }: App): boolean {
  return config.backend.kind !== "embedded";
}

function merge(query: Asked, body: Partial<Asked>): Asked {
  const given = Object.entries(body).filter(([, value]) => value !== undefined && value !== "" && value !== false);
  return { ...query, ...Object.fromEntries(given) };
}

async function answer(app: App, wish: Wish, call: Call): Promise<Answer<object>> {
  const startedAtMs = performance.now();
  const found = await search(app, wish, call);
  const documents = await findDocuments(app, found, wish.filters);
  const results = toResultsJson(documents, wish).slice(0, wish.limit);
  const from = (wish.page - 1) * wish.pageSize;
  return ok({
    schemaVersion: "1.1",
    query: wish.text,
    totalResults: results.length,
    executionTime: Math.round((performance.now() - startedAtMs) * 1000) / 1000,
    searchType: wish.searchType,
    page: wish.page,
    pageSize: wish.pageSize,
    results: results.slice(from, from + wish.pageSize),
    notes: found.notes ?? [],
  });
}

const USING = { keyword: "text", vector: "vectors", hybrid: undefined } as const;

/** Until the first address was registered and indexed, the default domain holds nothing, and that is not an error. */
async function search(app: App, wish: Wish, call: Call): Promise<QueryAnswer> {
  const { defaultDomain } = app.config.web;
  try {
    return await searchOn(app, wish, call);
  } catch (error) {
    if (!(error instanceof NotFoundError) || (wish.domainId ?? defaultDomain) !== defaultDomain) throw error;
    const notes = [`Nothing is indexed in domain '${defaultDomain}' yet.`];
    return { query: wish.text, vectorStoreId: "" as VectorStoreId, sources: [], notes };
  }
}

/**
 * A long document may be all that is found at first: then the others are searched for without it, until there are enough or
 * no more. Scores are relative to the best of a search, so none of a later one is above what was found before.
 */
async function searchOn(app: App, wish: Wish, call: Call): Promise<QueryAnswer> {
  const request = await requestOf(app, wish);
  const first = await app.query(request, call);
  const found = Map.groupBy(first.sources, ({ fileId }) => fileId);
  for (let round = 1; round < MOST_ROUNDS && found.size > 0; round++) {
    const isWanted = ([best]: readonly QuerySource[]): boolean => !!best && isAskedFor(best, wish.filters);
    if ([...found.values()].filter(isWanted).length >= wish.limit) break;
    const known = [...found.values()].flat();
    const lowest = Math.min(...known.map(({ score }) => score));
    const { sources } = await app.query({ ...request, filter: without(known, request.filter) }, call);
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

async function requestOf(app: App, wish: Wish): Promise<QueryRequest> {
  const { filters, searchType: type } = wish;
  const domain = await app.domains.get(wish.domainId ?? app.config.web.defaultDomain);
  const using = USING[type];
  return {
    text: wish.text,
    domainId: domain.domainId,
    vectorStoreId: undefined,
    // Several passages may be of one page, and what is of other hosts or kinds is left out afterwards.
    limit: MOST_RESULTS,
    scope: isRemote(app) ? filters.scope : { ...filters.scope, ...ofHost(domain.sources, filters.sourceHost) },
    ...(using && { using }),
    ...(filters.sourceType && { filter: ofKind(domain.sources, filters.sourceType, app) }),
  };
}

/** Paths of web pages begin with their host, so the index can leave out others by itself; those of other sources do not. */
function ofHost(sources: Domain["sources"], host: string): SearchScope {
  if (host === "" || sources.some((source) => source.kind.hostOf?.(source) === host)) return {};
  const { hostname } = new URL(`http://${host}`);
  return { pathPrefix: domainToUnicode(hostname) || hostname };
}

/** Single files and blobs are among the registered addresses; where the index compares texts, their ids tell them from pages. */
function ofKind(sources: Domain["sources"], kind: FoundSourceType, app: App): AttributeFilter {
  const meant = sources.filter((source) => source.kind.foundAs === kind);
  // No source is called "": without any of the kind, nothing is found.
  const ids = meant.length > 0 ? meant.map(({ sourceId }) => sourceId) : [""];
  const whole: AttributeFilter = { type: "in", key: "source_id", value: ids };
  if (kind === "sharepoint") return whole;
  const single: AttributeFilter = { type: "eq", key: "source_id", value: REGISTERED_SOURCE };
  const called = (type: "gte" | "lt"): AttributeFilter[] =>
    isRemote(app) ? [] : [{ type, key: "item_id", value: "url_" }];
  if (kind === "url") return { type: "and", filters: [whole, ...called("gte")] };
  return { type: "or", filters: [whole, { type: "and", filters: [single, ...called("lt")] }] };
}
