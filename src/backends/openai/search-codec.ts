import type { ComparisonFilter, CompoundFilter } from "openai/resources/shared";
import type { VectorStoreSearchParams } from "openai/resources/vector-stores/vector-stores";
import { BadInputError, RemoteError } from "../../contracts/errors.ts";
import type { FileId } from "../../contracts/ids.ts";
import type { AttributeFilter, Attributes, SearchHit, SearchQuery, SearchScope } from "../../contracts/search-index.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { asObject, unexpected } from "./wire-codec.ts";

/** BadInputError for what the attributes of our files cannot tell: a search that ignored it would answer wrongly. */
export function toWireSearch(query: SearchQuery): VectorStoreSearchParams {
  const filters = toWireFilter(query);
  return {
    query: query.text,
    max_num_results: query.limit,
    ...(filters ? { filters } : {}),
    ...(query.scoreThreshold === undefined ? {} : { ranking_options: { score_threshold: query.scoreThreshold } }),
  };
}

export function toWireFilter(query: SearchQuery): ComparisonFilter | CompoundFilter | undefined {
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

export function readHits(body: unknown): SearchHit[] {
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
export function readResponseHits(body: unknown): SearchHit[] {
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
