import type { QueryAnswer, QuerySource } from "../../engine/query.ts";

const NO_METADATA = "[NO_METADATA_FOR_THIS_VECTOR_STORE]";

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
