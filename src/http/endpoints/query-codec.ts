import type { QueryAnswer, QuerySource } from "../../engine/query.ts";
import type { JsonSchema } from "../grammar/json-schema.ts";

const NO_METADATA = "[NO_METADATA_FOR_THIS_VECTOR_STORE]";

const SOURCE_SCHEMA: JsonSchema = {
  type: "object",
  required: ["data", "source", "metadata"],
  properties: {
    data: { type: "string", description: "The passage." },
    source: { type: "string", description: "Address of the document, else its name." },
    metadata: {
      type: "object",
      required: ["file_id", "score"],
      properties: { file_id: { type: "string" }, score: { type: "number" } },
    },
  },
};

export const QUERY_SCHEMA: JsonSchema = {
  type: "object",
  required: ["data"],
  properties: {
    data: {
      type: "object",
      required: ["query", "answer", "source_markers", "sources"],
      properties: {
        query: { type: "string" },
        answer: { type: "string" },
        source_markers: { type: "array", items: { type: "string" } },
        sources: { type: "array", items: SOURCE_SCHEMA },
      },
    },
  },
};

/** The answer of `/query` and `/query2`, field for field as older clients read it. */
export function toQueryJson(answer: QueryAnswer): Record<string, unknown> {
  return {
    data: {
      query: answer.query,
      answer: "",
      source_markers: ["【", "】"],
      sources: answer.sources.map(toSourceJson),
    },
  };
}

function toSourceJson(source: QuerySource): Record<string, unknown> {
  const { url: _shownAsSource, ...metadata } = source.metadata ?? {};
  const section = source.sectionPath === "" ? {} : { section_path: source.sectionPath };
  const own = { file_id: source.fileId, score: source.score, ...section };
  return {
    data: source.text,
    source: source.url || source.name || NO_METADATA,
    metadata: { ...own, ...source.attributes, ...metadata, ...own },
  };
}
