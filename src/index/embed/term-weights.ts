export interface TermWeight {
  readonly place: number;
  readonly weight: number;
}

/** How often each known word occurs, by its place in the vocabulary; words that are not in it have none. */
export function countWords(words: Uint32Array, places: Int32Array): Map<number, number> {
  const counts = new Map<number, number>();
  for (const word of words) {
    const place = places[word] as number;
    if (place >= 0) counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  return counts;
}

/** Rare words say more. */
export function inverseFrequency(passagesWithWord: number, passages: number): number {
  return Math.log((passages + 1) / (passagesWithWord + 0.5));
}

/** log-tf·idf. */
export function termWeight(count: number, idf: number): number {
  return (1 + Math.log(count)) * idf;
}

/** Of a whole text, of length 1: what a text is about does not depend on how long it is. */
export function termWeights(counts: ReadonlyMap<number, number>, idf: Float32Array): TermWeight[] {
  let squares = 0;
  const weights: TermWeight[] = [];
  for (const [place, count] of counts) {
    const weight = termWeight(count, idf[place] as number);
    weights.push({ place, weight });
    squares += weight * weight;
  }
  const factor = squares > 0 ? 1 / Math.sqrt(squares) : 0;
  return weights.map(({ place, weight }) => ({ place, weight: weight * factor }));
}
