/** One chunk as a possible answer, shown under one of the documents that have it. */
export interface Candidate {
  readonly documentId: number;
  readonly chunkId: number;
  /** How well the words match, relative to the best of this search: 0 to 1. */
  readonly text: number;
  /** How well name, path and title of the document match: 1 when they have every word of the question. */
  readonly label: number;
  /** Cosine, -1 to 1; 0 where there is no vector. */
  readonly similarity: number;
}

export interface Scored {
  readonly documentId: number;
  readonly chunkId: number;
  /** 0 to 1. */
  readonly score: number;
  /** Each 0 to 1, before they are weighed. */
  readonly parts: { readonly text: number; readonly vector: number; readonly label: number };
}

/** Words lead, vectors bring in what says the same in other words, and a document named like the question comes far up. */
const WEIGHTS = { text: 1, vector: 0.6, label: 0.6 };
/** Cosines of some models lie so close together that, spread out, they would make much of nothing. */
const MIN_SPREAD = 0.2;
/** The second and third chunk of a document step back behind the best chunk of others; further ones are left out. */
const PLACE_IN_DOCUMENT = [1, 0.8, 0.6];

/**
 * Adds up what the candidates have of each part, relative to the best of this search. `textShare` is how much of the question
 * texts can answer at all: the best text for a question that asks for a name is not a good one.
 */
export function fuseScores(candidates: readonly Candidate[], threshold: number, textShare = 1): Scored[] {
  const spread = spreadOf(candidates);
  const weights = { ...WEIGHTS, text: WEIGHTS.text * textShare };
  // Where a name is asked for, only a fitting name deserves full marks.
  const full = fullMarks(candidates, spread, weights) + weights.label * (1 - textShare);
  const fused = candidates.map((candidate) => {
    const { documentId, chunkId, text, label } = candidate;
    const parts = { text, vector: spread(candidate.similarity), label };
    return { documentId, chunkId, score: weighed(parts, weights) / full, parts };
  });
  fused.sort(byScore);
  const places = new Map<number, number>();
  const kept: Scored[] = [];
  for (const scored of fused) {
    const place = places.get(scored.documentId) ?? 0;
    places.set(scored.documentId, place + 1);
    const factor = PLACE_IN_DOCUMENT[place];
    if (factor !== undefined) kept.push({ ...scored, score: scored.score * factor });
  }
  return kept
    .sort(byScore)
    .map((scored) => ({ ...scored, score: Math.min(1, scored.score) }))
    .filter(({ score }) => score >= threshold);
}

/**
 * Cosines mean something else with every model, so only their order and distances among the candidates count: the closest
 * has 1, the farthest 0.
 */
function spreadOf(candidates: readonly Candidate[]): (similarity: number) => number {
  let best = 0;
  let worst = 1;
  for (const { similarity } of candidates) {
    best = Math.max(best, similarity);
    worst = Math.min(worst, Math.max(0, similarity));
  }
  const range = Math.max(MIN_SPREAD, best - worst);
  return (similarity) => (similarity <= 0 ? 0 : Math.max(0, 1 - (best - similarity) / range));
}

/** What the best of text and vectors would have, as far as this search goes by them. A fitting label comes on top. */
function fullMarks(
  candidates: readonly Candidate[],
  spread: (similarity: number) => number,
  weights: Scored["parts"],
): number {
  const text = candidates.some((candidate) => candidate.text > 0) ? weights.text : 0;
  const vector = candidates.some(({ similarity }) => spread(similarity) > 0) ? weights.vector : 0;
  return text + vector || weights.label;
}

function weighed({ text, vector, label }: Scored["parts"], weights: Scored["parts"]): number {
  return weights.text * text + weights.vector * vector + weights.label * label;
}

/** Ids settle ties, so that the same question gets the same answer. */
function byScore(a: Scored, b: Scored): number {
  return b.score - a.score || a.documentId - b.documentId || a.chunkId - b.chunkId;
}
