import type { Principal } from "../../../contracts/access.ts";
import type { SearchHit } from "../../../contracts/search-index.ts";
import type { AnswerParts } from "./answer-parts.ts";
import type { FileSearch } from "./read-tools.ts";

export interface Asked {
  readonly text: string;
  readonly by: Principal | undefined;
  readonly signal: AbortSignal;
}

/** Weights order what was found; enough has to be found first. */
const MOST_HITS = 50;

/** What a file_search finds in all its stores, best first, as many as it asked for. */
export async function searchPassages(
  parts: Pick<AnswerParts, "search">,
  { storeIds, query, weights }: FileSearch,
  { text: question, by, signal }: Asked,
): Promise<SearchHit[]> {
  const { limit, scoreThreshold = 0 } = query;
  const asked = { ...query, text: question, signal, ...(weights && using(weights)) };
  let hits: SearchHit[] = [];
  for (const id of new Set(storeIds)) {
    const found = await parts.search(id, asked, by);
    hits = [...hits, ...(weights ? weigh(found, weights) : found)]
      .filter(({ score }) => score >= scoreThreshold)
      .sort((a, b) => b.score - a.score)
      .slice(0, limit);
  }
  return hits;
}

function using({ text, vector }: NonNullable<FileSearch["weights"]>): object {
  if (vector === 0) return { using: "text" };
  if (text === 0) return { using: "vectors" };
  return { limit: MOST_HITS, scoreThreshold: 0 };
}

/** The parts of a score are relative to the best of their search; how good that one is stays as the index judged it. */
function weigh(hits: readonly SearchHit[], { text, vector }: NonNullable<FileSearch["weights"]>): SearchHit[] {
  const best = hits.reduce((most, { score }) => Math.max(most, score), 0);
  return hits.map((hit) => {
    if (!hit.details || text === 0 || vector === 0) return hit;
    const { parts } = hit.details;
    return { ...hit, score: (best * (text * parts.text + vector * parts.vector)) / (text + vector) };
  });
}
