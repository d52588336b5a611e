/** One chunk as a possible answer, shown under one of the documents that have it. */
export interface Candidate {
  readonly documentId: number;
  readonly chunkId: number;
  /** How well the words match, relative to the best of this search: 0 to 1. */
  readonly text: number;
  /** How well name, path and title of the document match: 1 when they have every word of the question. */
  readonly label: number;
  /** Cosine, -1 to 1. */
  readonly similarity: number;
}

export interface Scored {
  readonly documentId: number;
  readonly chunkId: number;
  readonly score: number;
}

/** Words decide; vectors break ties and forgive spelling; a document named like the question comes far up, whatever it says. */
const WEIGHTS = { text: 1, similarity: 0.4, label: 0.6 };
const WEIGHT_SUM = WEIGHTS.text + WEIGHTS.similarity + WEIGHTS.label;

/** The second and third chunk of a document step back behind the best chunk of others; further ones are left out. */
const PLACE_IN_DOCUMENT = [1, 0.8, 0.6];

export function fuseScores(candidates: readonly Candidate[], limit: number, threshold: number): Scored[] {
  const scored = candidates.map((candidate) => ({
    documentId: candidate.documentId,
    chunkId: candidate.chunkId,
    score: fuse(candidate),
  }));
  scored.sort(byScore);
  const places = new Map<number, number>();
  const kept: Scored[] = [];
  for (const { documentId, chunkId, score } of scored) {
    const place = places.get(documentId) ?? 0;
    places.set(documentId, place + 1);
    const factor = PLACE_IN_DOCUMENT[place];
    if (factor !== undefined && score * factor >= threshold) kept.push({ documentId, chunkId, score: score * factor });
  }
  return kept.sort(byScore).slice(0, limit);
}

function fuse({ text, label, similarity }: Candidate): number {
  const sum = WEIGHTS.text * text + WEIGHTS.similarity * Math.max(0, similarity) + WEIGHTS.label * label;
  return Math.min(1, sum / WEIGHT_SUM);
}

/** Ids settle ties, so that the same question gets the same answer. */
function byScore(a: Scored, b: Scored): number {
  return b.score - a.score || a.documentId - b.documentId || a.chunkId - b.chunkId;
}
