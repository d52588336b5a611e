import type { SearchHit, SearchQuery } from "../../../contracts/search-index.ts";
import { parseAttributeFilter } from "../../../lib/attribute-filter.ts";
import { toSearchPage } from "./codec.ts";
import { asBoolean, asNumber, asObject, asOneOf, MOST_SEARCHES, readFields, required } from "./read-fields.ts";
import { badRequest } from "./wire-error.ts";

const RANKERS = ["none", "auto", "default-2024-11-15"] as const;
const SEARCH_FIELDS = ["query", "rewrite_query", "max_num_results", "filters", "ranking_options"];
const LIMITS = { min: 1, max: 50, integer: true };

/** A search as the wire asks it and shows it. */
export async function searchPage(
  search: (query: SearchQuery) => Promise<SearchHit[]>,
  request: Request,
): Promise<object> {
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
