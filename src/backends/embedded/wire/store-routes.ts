import { Hono } from "hono";
import type { SearchHit, SearchQuery } from "../../../contracts/search-index.ts";
import { parseAttributeFilter } from "../../../lib/attribute-filter.ts";
import { keyOfStore, listStores, type StoreEntry, updateStore } from "../stores.ts";
import { toDeleted, toList, toSearchPage, toStoreObject } from "./codec.ts";
import { filesToAttach } from "./files-to-attach.ts";
import {
  asArray,
  asBoolean,
  asChunking,
  asMetadata,
  asNumber,
  asObject,
  asOneOf,
  asString,
  asText,
  MOST_SEARCHES,
  readFields,
  readListParams,
  readStoreExpiry,
  required,
  toPageRequest,
} from "./read-fields.ts";
import { findEntry, findOpenStore, type WireContext, type WireEnv } from "./wire-context.ts";
import { badRequest, noSuchStore } from "./wire-error.ts";

const LIST_LIMITS = { max: 100, usual: 20 };
const MAX_FILES_AT_CREATION = 500;
const CREATE_FIELDS = ["name", "description", "file_ids", "expires_after", "chunking_strategy", "metadata"];

/** Below `/vector_stores`: the stores themselves, and search. */
export function storeRoutes(context: WireContext): Hono<WireEnv> {
  const { catalog, stores } = context;
  const show = async (entry: StoreEntry): Promise<object> => {
    const usage = await context.usage.of(entry.id, await stores.open(entry));
    if (usage.inProgress > 0) await context.processing.takeOver();
    return toStoreObject(entry, usage, stores.isExpired(entry));
  };
  const find = (id: string): Promise<StoreEntry> => findEntry(context, id);
  const routes = new Hono<WireEnv>();
  routes.post("/", async ({ req, json }) => json(await show(await find(await createStore(context, req.raw)))));
  routes.get("/", async ({ req, json }) => {
    const params = readListParams(new URL(req.url).searchParams, LIST_LIMITS);
    const page = await listStores(catalog, await toPageRequest(params, (id) => keyOfStore(catalog, id)));
    const ids = page.rows.map(({ id }) => id);
    const objects: object[] = [];
    // One after the other: every store that is in use is open.
    for (const entry of page.rows) objects.push(await show(entry));
    return json(toList(objects, ids, page.hasMore));
  });
  routes.get("/:id", async ({ req, json }) => json(await show(await find(req.param("id")))));
  routes.post("/:id", async ({ req, json }) => {
    const { id } = await changeStore(context, await findOpenStore(context, req.param("id")), req.raw);
    return json(await show(await find(id)));
  });
  routes.delete("/:id", async ({ req, json }) => {
    const { id } = await find(req.param("id"));
    if (!(await stores.delete(id))) throw noSuchStore(id);
    context.usage.forget(id);
    return json(toDeleted(id, "vector_store.deleted"));
  });
  routes.post("/:id/search", async ({ req, json, env }) => {
    const entry = await findOpenStore(context, req.param("id"));
    return json(await searchPage((query) => context.search(entry.id, query, env.call.by), req.raw));
  });
  return routes;
}

async function createStore(context: WireContext, request: Request): Promise<string> {
  const { stores, attachments } = context;
  const fields = await readFields(request, CREATE_FIELDS);
  const text = (name: string): string => asText(fields[name] ?? "", name);
  const chunking = asChunking(fields["chunking_strategy"]);
  const ids = asArray(fields["file_ids"] ?? [], "file_ids").map((id) => asString(id, "file_ids"));
  if (ids.length > MAX_FILES_AT_CREATION) {
    throw badRequest(`'file_ids' has ${ids.length} ids; at most ${MAX_FILES_AT_CREATION} are allowed.`, "file_ids");
  }
  if (fields["chunking_strategy"] != null && ids.length === 0) {
    throw badRequest("'chunking_strategy' is only for the files in 'file_ids'.", "chunking_strategy");
  }
  const asked = {
    name: text("name"),
    description: text("description"),
    metadata: asMetadata(fields["metadata"]),
    expiresAfterDays: readStoreExpiry(fields["expires_after"]),
  };
  const files = await filesToAttach(context, ids);
  const id = await stores.create(asked);
  if (files.length > 0) {
    const attached = files.map((file) => ({ file, attributes: undefined, chunking }));
    await attachments.attach({ id, store: await stores.get(id) }, attached);
  }
  return id;
}

async function changeStore(
  { catalog, nowSeconds }: WireContext,
  entry: StoreEntry,
  request: Request,
): Promise<StoreEntry> {
  const fields = await readFields(request, ["name", "expires_after", "metadata"]);
  const { name, metadata, expires_after: expiry } = fields;
  await updateStore(catalog, entry.id, {
    name: name === undefined ? entry.name : asText(name ?? "", "name"),
    metadata: metadata === undefined ? entry.metadata : asMetadata(metadata),
    expiresAfterDays: expiry === undefined ? entry.expiresAfterDays : readStoreExpiry(expiry),
    lastActiveAt: nowSeconds(),
  });
  return entry;
}

const RANKERS = ["none", "auto", "default-2024-11-15"] as const;
const SEARCH_FIELDS = ["query", "rewrite_query", "max_num_results", "filters", "ranking_options"];
const LIMITS = { min: 1, max: 50, integer: true };

/** A search as the wire asks it and shows it. */
async function searchPage(search: (query: SearchQuery) => Promise<SearchHit[]>, request: Request): Promise<object> {
  const fields = await readFields(request, SEARCH_FIELDS);
  const queries = readQueries(required(fields, "query"));
  asBoolean(fields["rewrite_query"] ?? false, "rewrite_query");
  const limit = asNumber(fields["max_num_results"] ?? 10, "max_num_results", LIMITS);
  const scoreThreshold = readScoreThreshold(fields["ranking_options"]);
  const filters = fields["filters"];
  const filter = filters === undefined || filters === null ? {} : { filter: parseAttributeFilter(filters, "filters") };
  const { signal } = request;
  let hits: SearchHit[] = [];
  for (const text of queries) {
    const found = await search({ text, limit, scoreThreshold, unfolded: true, signal, ...filter });
    hits = queries.length === 1 ? found : bestOf([...hits, ...found], limit);
  }
  return toSearchPage(queries, hits);
}

function readScoreThreshold(value: unknown): number {
  const ranking = asObject(value ?? {}, "ranking_options");
  const unknown = Object.keys(ranking).find((key) => key !== "ranker" && key !== "score_threshold");
  if (unknown !== undefined) {
    throw badRequest(`Unknown parameter: 'ranking_options.${unknown}'.`, `ranking_options.${unknown}`);
  }
  asOneOf(ranking["ranker"] ?? "auto", "ranking_options.ranker", RANKERS);
  const range = { min: 0, max: 1, integer: false };
  return asNumber(ranking["score_threshold"] ?? 0, "ranking_options.score_threshold", range);
}

function readQueries(value: unknown): string[] {
  const queries: unknown[] = [value].flat();
  if (!queries.every((query) => typeof query === "string")) {
    throw badRequest("Invalid type for 'query': expected a string or an array of strings.", "query");
  }
  if (queries.length > MOST_SEARCHES) {
    throw badRequest(
      `'query' has ${queries.length} queries; at most ${MOST_SEARCHES} are searched for at a time.`,
      "query",
    );
  }
  if (queries.length === 0 || queries.every((query) => query.trim() === "")) {
    throw badRequest("'query' must not be empty.", "query");
  }
  return queries;
}

/** Several questions, one list: each text once, with the best score any of them gave it. */
function bestOf(hits: readonly SearchHit[], limit: number): SearchHit[] {
  const best = new Map<string, SearchHit>();
  for (const hit of hits) {
    const key = `${hit.fileId}\n${hit.text}`;
    if ((best.get(key)?.score ?? -1) < hit.score) best.set(key, hit);
  }
  return [...best.values()].sort((a, b) => b.score - a.score).slice(0, limit);
}
