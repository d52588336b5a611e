import type { LearntVectors } from "./learnt-codec.ts";
import { principalDirections } from "./principal-directions.ts";
import type { SparseMatrix } from "./sparse-matrix.ts";
import { countWords, inverseFrequency, termWeights } from "./term-weights.ts";

/** A word of one passage alone connects it with no other. */
const MIN_PASSAGES_OF_WORD = 2;
/** A word that every other passage has says nothing, whatever the language. */
const MAX_SHARE = 0.5;

export interface LearnLimits {
  /** The most frequent words are kept. */
  readonly maxWords: number;
  readonly dimensions: number;
}

/**
 * What words mean here, as far as their company tells: passages become rows of log-tf·idf weights, and words that occur
 * in the same passages, or in passages like them, come out close.
 */
export function learnVectors(passages: readonly (readonly string[])[], limits: LearnLimits): LearntVectors {
  const vocabulary = chooseWords(passages, limits.maxWords);
  const places = new Map([...vocabulary.keys()].map((word, place) => [word, place]));
  const idf = Float32Array.from(vocabulary.values(), (count) => inverseFrequency(count, passages.length));
  const matrix = weigh(passages, places, idf);
  const dimensions = Math.min(limits.dimensions, places.size, passages.length);
  return { words: [...places.keys()], idf, dimensions, directions: principalDirections(matrix, dimensions) };
}

/** With the number of passages that have each; ties settled by the words, so that order of passages does not matter. */
function chooseWords(passages: readonly (readonly string[])[], maxWords: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (const passage of passages) {
    for (const word of new Set(passage)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const frequent = [...counts].filter(
    ([, count]) => count >= MIN_PASSAGES_OF_WORD && count <= passages.length * MAX_SHARE,
  );
  frequent.sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return new Map(frequent.slice(0, maxWords));
}

function weigh(
  passages: readonly (readonly string[])[],
  places: ReadonlyMap<string, number>,
  idf: Float32Array,
): SparseMatrix {
  const starts = new Uint32Array(passages.length + 1);
  const columns: number[] = [];
  const values: number[] = [];
  for (const [row, passage] of passages.entries()) {
    for (const { place, weight } of termWeights(countWords(passage, places), idf)) {
      columns.push(place);
      values.push(weight);
    }
    starts[row + 1] = columns.length;
  }
  return {
    rows: passages.length,
    columnCount: places.size,
    starts,
    columns: Uint32Array.from(columns),
    values: Float32Array.from(values),
  };
}
