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

/** What is learnt from. Each word is kept once, and passages as numbers: as texts they would take ten times the memory. */
export class Corpus {
  readonly #numbers = new Map<string, number>();
  readonly passages: Uint32Array[] = [];

  add(words: readonly string[]): void {
    const numbers = new Uint32Array(words.length);
    for (const [at, word] of words.entries()) {
      const number = this.#numbers.get(word) ?? this.#numbers.size;
      if (number === this.#numbers.size) this.#numbers.set(word, number);
      numbers[at] = number;
    }
    this.passages.push(numbers);
  }

  get words(): string[] {
    return [...this.#numbers.keys()];
  }
}

/**
 * What words mean here, as far as their company tells: passages become rows of log-tf·idf weights, and words that occur
 * in the same passages, or in passages like them, come out close.
 */
export function learnVectors({ passages, words }: Corpus, limits: LearnLimits): LearntVectors {
  const counts = countPassages(passages, words.length);
  const chosen = chooseWords(words, counts, passages.length, limits.maxWords);
  const places = new Int32Array(words.length).fill(-1);
  for (const [place, word] of chosen.entries()) places[word] = place;
  const countOf = (word: number): number => counts[word] as number;
  const idf = Float32Array.from(chosen, (word) => inverseFrequency(countOf(word), passages.length));
  const size = chosen.reduce((sum, word) => sum + countOf(word), 0);
  const matrix = weigh(passages, places, idf, size);
  const dimensions = Math.min(limits.dimensions, chosen.length, passages.length);
  return {
    words: chosen.map((word) => words[word] as string),
    idf,
    dimensions,
    directions: principalDirections(matrix, dimensions),
  };
}

/** How many passages have each word. */
function countPassages(passages: readonly Uint32Array[], words: number): Uint32Array {
  const counts = new Uint32Array(words);
  const last = new Int32Array(words).fill(-1);
  for (const [at, passage] of passages.entries()) {
    for (const word of passage) {
      if (last[word] !== at) counts[word] = (counts[word] as number) + 1;
      last[word] = at;
    }
  }
  return counts;
}

/** The most frequent first; ties settled by the words, so that order of passages does not matter. */
function chooseWords(words: readonly string[], counts: Uint32Array, passages: number, maxWords: number): number[] {
  const frequent: number[] = [];
  for (const [word, count] of counts.entries()) {
    if (count >= MIN_PASSAGES_OF_WORD && count <= passages * MAX_SHARE) frequent.push(word);
  }
  const [textOf, countOf] = [(word: number) => words[word] as string, (word: number) => counts[word] as number];
  frequent.sort((a, b) => countOf(b) - countOf(a) || (textOf(a) < textOf(b) ? -1 : 1));
  return frequent.slice(0, maxWords);
}

function weigh(passages: readonly Uint32Array[], places: Int32Array, idf: Float32Array, size: number): SparseMatrix {
  const starts = new Uint32Array(passages.length + 1);
  const columns = new Uint32Array(size);
  const values = new Float32Array(size);
  let next = 0;
  for (const [row, passage] of passages.entries()) {
    for (const { place, weight } of termWeights(countWords(passage, places), idf)) {
      columns[next] = place;
      values[next] = weight;
      next += 1;
    }
    starts[row + 1] = next;
  }
  return { rows: passages.length, columnCount: idf.length, starts, columns, values };
}
