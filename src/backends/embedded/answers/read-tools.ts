import type { SearchQuery } from "../../../contracts/search-index.ts";
import { parseAttributeFilter } from "../../../lib/attribute-filter.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json-object.ts";
import { asArray, asNumber, asObject, asOneOf, asString, MOST_SEARCHES } from "../wire/read-fields.ts";
import { badRequest } from "../wire/wire-error.ts";

/** One file_search tool of a request. */
export interface FileSearch {
  readonly storeIds: readonly string[];
  readonly query: Omit<SearchQuery, "text">;
  /** How much words and vectors count; undefined: as the index thinks best. */
  readonly weights: { readonly text: number; readonly vector: number } | undefined;
}

export interface Tools {
  readonly searches: readonly FileSearch[];
  /** As they are told back, with what was left out filled in. */
  readonly tools: readonly JsonObject[];
  readonly toolChoice: unknown;
}

const RANKERS = ["auto", "default-2024-11-15"] as const;
const MODES = ["none", "auto", "required"] as const;
/** A model may leave these alone; ours always does. The others are services that are not there. */
const NEVER_CALLED: ReadonlySet<unknown> = new Set(["function", "custom"]);

export function readTools(tools: unknown, toolChoice: unknown): Tools {
  const given = asArray(tools ?? [], "tools");
  checkCount(given.length, "tools", "tools");
  const list = given.map((tool, at) => readTool(asObject(tool, `tools[${at}]`), `tools[${at}]`));
  const searches = list.flatMap(({ search }) => (search ? [search] : []));
  checkCount(searches.flatMap(({ storeIds }) => storeIds).length, "tools", "vector stores");
  const wanted = wantsSearch(toolChoice ?? "auto", list.length);
  return {
    searches: wanted ? searches : [],
    tools: list.map(({ shown }) => shown),
    toolChoice: toolChoice ?? "auto",
  };
}

function checkCount(count: number, param: string, noun: string): void {
  if (count <= MOST_SEARCHES) return;
  throw badRequest(`'${param}' has ${count} ${noun}; a request may have at most ${MOST_SEARCHES}.`, param);
}

/** Of the choices only those that ask for something nobody can do are refused. */
function wantsSearch(choice: unknown, tools: number): boolean {
  if (isJsonObject(choice)) {
    if (choice["type"] === "file_search") return true;
    if (choice["type"] === "allowed_tools") {
      return asArray(choice["tools"], "tool_choice.tools").some(
        (one) => isJsonObject(one) && one["type"] === "file_search",
      );
    }
    throw badRequest("'tool_choice' can ask for file_search only: no other tool is ever called here.", "tool_choice");
  }
  const mode = asOneOf(choice, "tool_choice", MODES);
  if (mode === "required" && tools === 0) {
    throw badRequest("'tool_choice' is 'required', but 'tools' is empty.", "tool_choice");
  }
  return mode !== "none";
}

function readTool(tool: Readonly<JsonObject>, param: string): { shown: JsonObject; search?: FileSearch } {
  const type = asString(tool["type"], `${param}.type`);
  if (NEVER_CALLED.has(type)) return { shown: tool };
  if (type !== "file_search") {
    throw badRequest(`The embedded backend has no tool '${type}'; it has file_search.`, `${param}.type`);
  }
  return readFileSearch(tool, param);
}

function readFileSearch(tool: Readonly<JsonObject>, param: string): { shown: JsonObject; search: FileSearch } {
  const at = `${param}.vector_store_ids`;
  const storeIds = asArray(tool["vector_store_ids"], at).map((id) => asString(id, at));
  if (storeIds.length === 0) throw badRequest(`'${at}' must name at least one vector store.`, at);
  const range = { min: 1, max: 50, integer: true };
  const limit = asNumber(tool["max_num_results"] ?? 20, `${param}.max_num_results`, range);
  const ranking = asObject(tool["ranking_options"] ?? {}, `${param}.ranking_options`);
  const ranker = asOneOf(ranking["ranker"] ?? "auto", `${param}.ranking_options.ranker`, RANKERS);
  const threshold = `${param}.ranking_options.score_threshold`;
  const scoreThreshold = asNumber(ranking["score_threshold"] ?? 0, threshold, { min: 0, max: 1, integer: false });
  const filters = tool["filters"] ?? null;
  const filter = filters === null ? {} : { filter: parseAttributeFilter(filters, `${param}.filters`) };
  const hybrid = ranking["hybrid_search"] ?? undefined;
  const weights = hybrid === undefined ? undefined : readWeights(hybrid, `${param}.ranking_options.hybrid_search`);
  return {
    shown: {
      type: "file_search",
      vector_store_ids: storeIds,
      max_num_results: limit,
      ranking_options: { ranker, score_threshold: scoreThreshold, ...(weights && { hybrid_search: hybrid }) },
      filters,
    },
    search: { storeIds, query: { limit, scoreThreshold, ...filter }, weights },
  };
}

function readWeights(value: unknown, param: string): { text: number; vector: number } {
  const fields = asObject(value, param);
  const range = { min: 0, max: 1_000_000, integer: false };
  const vector = asNumber(fields["embedding_weight"], `${param}.embedding_weight`, range);
  const text = asNumber(fields["text_weight"], `${param}.text_weight`, range);
  if (vector + text === 0) throw badRequest(`One of the weights of '${param}' must be above 0.`, param);
  return { text, vector };
}
