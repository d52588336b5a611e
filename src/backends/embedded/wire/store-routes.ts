import { Hono } from "hono";
import type { SearchHit } from "../../../contracts/search-index.ts";
import { searchStore } from "../../../index/search/search-store.ts";
import { attachFile } from "../attach-file.ts";
import type { StoreEntry } from "../catalog.ts";
import { type FileCounts, toDeleted, toList, toSearchPage, toStoreObject } from "./codec.ts";
import {
  asArray,
  asChunking,
  asFilter,
  asMetadata,
  asNumber,
  asObject,
  asOneOf,
  asString,
  readFields,
} from "./read-fields.ts";
import { readListParams, toPageRequest } from "./read-list-params.ts";
import { fileToAttach } from "./store-file-routes.ts";
import type { WireContext } from "./wire.ts";
import { badRequest, noSuchStore } from "./wire-error.ts";

const LIST_LIMITS = { max: 100, usual: 20 };
const MAX_FILES_AT_CREATION = 500;
const RANKERS = ["none", "auto", "default-2024-11-15"] as const;
const CREATE_FIELDS = ["name", "description", "file_ids", "expires_after", "chunking_strategy", "metadata"];
const SEARCH_FIELDS = ["query", "rewrite_query", "max_num_results", "filters", "ranking_options"];

/** Below `/vector_stores`: the stores themselves, and search. */
export function storeRoutes(context: WireContext): Hono {
  const { catalog, stores } = context;
  const find = (id: string): StoreEntry => {
    const entry = catalog.store(id);
    if (!entry) throw noSuchStore(id);
    return entry;
  };
  const show = (entry: StoreEntry): object => toStoreObject(entry, ...usageOf(context, entry));
  const routes = new Hono();
  routes.post("/", async ({ req, json }) => json(show(find(await createStore(context, req.raw)))));
  routes.get("/", ({ req, json }) => {
    const params = readListParams(new URL(req.url).searchParams, LIST_LIMITS);
    const page = catalog.stores(toPageRequest(params, (id) => catalog.storeKey(id)));
    return json(
      toList(
        page.rows.map(show),
        page.rows.map(({ id }) => id),
        page.hasMore,
      ),
    );
  });
  routes.get("/:id", ({ req, json }) => json(show(find(req.param("id")))));
  routes.post("/:id", async ({ req, json }) => {
    const fields = await readFields(req.raw, ["name", "expires_after", "metadata"]);
    const entry = find(req.param("id"));
    refuseExpiry(fields["expires_after"]);
    const { name, metadata } = fields;
    catalog.updateStore(entry.id, {
      name: name === undefined ? entry.name : name === null ? "" : asString(name, "name"),
      metadata: metadata === undefined ? entry.metadata : asMetadata(metadata),
      lastActiveAt: nowSeconds(),
    });
    return json(show(find(entry.id)));
  });
  routes.delete("/:id", ({ req, json }) => {
    const { id } = find(req.param("id"));
    stores.delete(id);
    return json(toDeleted(id, "vector_store.deleted"));
  });
  routes.post("/:id/search", async ({ req, json }) => json(await search(context, find(req.param("id")), req.raw)));
  return routes;
}

async function createStore({ stores, shelf, parts, catalog }: WireContext, request: Request): Promise<string> {
  const fields = await readFields(request, CREATE_FIELDS);
  refuseExpiry(fields["expires_after"]);
  const name = fields["name"] === undefined || fields["name"] === null ? "" : asString(fields["name"], "name");
  const metadata = asMetadata(fields["metadata"]);
  const chunking = asChunking(fields["chunking_strategy"]);
  const ids = asArray(fields["file_ids"] ?? [], "file_ids").map((id) => asString(id, "file_ids"));
  if (ids.length > MAX_FILES_AT_CREATION) {
    throw badRequest(`'file_ids' has ${ids.length} ids; at most ${MAX_FILES_AT_CREATION} are allowed.`, "file_ids");
  }
  const files = [];
  for (const id of new Set(ids)) files.push(await fileToAttach(shelf, id));
  const id = stores.create({ name, metadata }, nowSeconds());
  for (const file of files) {
    await attachFile(stores.get(id), parts, { file, attributes: undefined, chunking }, request.signal);
  }
  catalog.touchStore(id, nowSeconds());
  return id;
}

function refuseExpiry(value: unknown): void {
  if (value === undefined || value === null) return;
  throw badRequest("The embedded backend does not expire vector stores: leave out 'expires_after'.", "expires_after");
}

/** What the active generation shows. */
function usageOf({ stores }: WireContext, entry: StoreEntry): [FileCounts, number] {
  const { db } = stores.get(entry.id);
  const counts = { completed: 0, failed: 0 };
  let usageBytes = 0;
  for (const row of db
    .statement("SELECT status, count(*) AS files, sum(bytes) AS bytes FROM documents_active GROUP BY status")
    .all()) {
    const status = row["status"] === "completed" ? "completed" : "failed";
    counts[status] = Number(row["files"]);
    if (status === "completed") usageBytes = Number(row["bytes"]);
  }
  const total = counts.completed + counts.failed;
  return [{ in_progress: 0, cancelled: 0, ...counts, total }, usageBytes];
}

async function search({ stores, parts, catalog }: WireContext, entry: StoreEntry, request: Request): Promise<object> {
  const fields = await readFields(request, SEARCH_FIELDS);
  const queries = readQueries(fields["query"]);
  if (fields["rewrite_query"] !== undefined && typeof fields["rewrite_query"] !== "boolean") {
    throw badRequest("Invalid type for 'rewrite_query': expected a boolean.", "rewrite_query");
  }
  const limit = asNumber(fields["max_num_results"] ?? 10, "max_num_results", { min: 1, max: 50, integer: true });
  const ranking = asObject(fields["ranking_options"] ?? {}, "ranking_options");
  const unknown = Object.keys(ranking).find((key) => key !== "ranker" && key !== "score_threshold");
  if (unknown !== undefined)
    throw badRequest(`Unknown parameter: 'ranking_options.${unknown}'.`, `ranking_options.${unknown}`);
  asOneOf(ranking["ranker"] ?? "auto", "ranking_options.ranker", RANKERS);
  const range = { min: 0, max: 1, integer: false };
  const scoreThreshold = asNumber(ranking["score_threshold"] ?? 0, "ranking_options.score_threshold", range);
  const filters = fields["filters"];
  const filter = filters === undefined || filters === null ? {} : { filter: asFilter(filters) };
  const hits: SearchHit[] = [];
  for (const text of queries) {
    hits.push(...(await searchStore(stores.get(entry.id), parts.embedder, { text, limit, scoreThreshold, ...filter })));
  }
  if (entry.lastActiveAt < nowSeconds() - 60) catalog.touchStore(entry.id, nowSeconds());
  return toSearchPage(queries, queries.length === 1 ? hits : bestOf(hits, limit));
}

function readQueries(value: unknown): string[] {
  if (value === undefined) throw badRequest("Missing required parameter: 'query'.", "query");
  const queries = typeof value === "string" ? [value] : asArray(value, "query").map((one) => asString(one, "query"));
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

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
