import type { LearntVectors } from "./learnt-codec.ts";

/** A word in one passage only connects it with no other. */
const MIN_PASSAGES_OF_WORD = 2;
/** A word in more than half of the passages carries no information, in any language. */
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
 * Latent semantic analysis: passages become rows of log-tf·idf weights, and words that occur in the same or similar passages get
 * similar vectors.
 */
export function learnVectors({ passages, words }: Corpus, limits: LearnLimits): LearntVectors {
  const counts = countPassages(passages, words.length);
  const chosen = chooseWords(words, counts, passages.length, limits.maxWords);
  const positions = new Int32Array(words.length).fill(-1);
  for (const [position, word] of chosen.entries()) positions[word] = position;
  const countOf = (word: number): number => counts[word] as number;
  const idf = Float32Array.from(chosen, (word) => inverseFrequency(countOf(word), passages.length));
  const size = chosen.reduce((sum, word) => sum + countOf(word), 0);
  const matrix = weigh(passages, positions, idf, size);
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

function weigh(passages: readonly Uint32Array[], positions: Int32Array, idf: Float32Array, size: number): SparseMatrix {
  const starts = new Uint32Array(passages.length + 1);
  const columns = new Uint32Array(size);
  const values = new Float32Array(size);
  let next = 0;
  for (const [row, passage] of passages.entries()) {
    for (const { position, weight } of termWeights(countWords(passage, positions), idf)) {
      columns[next] = position;
      values[next] = weight;
      next += 1;
    }
    starts[row + 1] = next;
  }
  return { rows: passages.length, columnCount: idf.length, starts, columns, values };
}

/** The first pass only leaves the random start; the others turn towards the strongest directions. */
const PASSES = 3;
const SEED = 0x2545f491;
/** Below this share of its length a column says nothing its predecessors do not say. */
const DEPENDENT = 1e-9;

/**
 * A basis of the `width` directions in which the rows of the matrix differ most, a row of `width` numbers for every column of
 * the matrix: what a truncated singular value decomposition gives, up to a rotation, which no cosine notices. Found by
 * subspace iteration from a seeded start, so equal matrices give equal bases. Columns beyond the rank are zero.
 */
export function principalDirections(matrix: SparseMatrix, width: number): Float32Array {
  const basis = randomNumbers(matrix.columnCount * width);
  const rows = new Float32Array(matrix.rows * width);
  for (let pass = 0; pass < PASSES; pass++) {
    multiply(matrix, basis, width, rows);
    multiplyTransposed(matrix, rows, width, basis);
    orthonormalise(basis, width);
  }
  return basis;
}

function randomNumbers(count: number): Float32Array {
  const numbers = new Float32Array(count);
  let state = SEED;
  for (let i = 0; i < count; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    numbers[i] = state / 0x80000000;
  }
  return numbers;
}

/** Columns made orthogonal and of length 1, by the Cholesky factor of their products: three times as fast as one by one. */
function orthonormalise(columns: Float32Array, width: number): void {
  const factor = choleskyFactor(productsOfColumns(columns, width), width);
  const [w, x, y, z] = [0, 1, 2, 3].map(() => new Float64Array(width)) as FourOf<Float64Array>;
  for (const [a, b, c, d] of fourRows(columns, width)) {
    for (let i = 0; i < width; i++) {
      const pivot = factor[i * width + i] as number;
      let [e, f, g, h] = [a[i] as number, b[i] as number, c[i] as number, d[i] as number];
      for (let j = 0; j < i; j++) {
        const known = factor[i * width + j] as number;
        e -= known * (w[j] as number);
        f -= known * (x[j] as number);
        g -= known * (y[j] as number);
        h -= known * (z[j] as number);
      }
      w[i] = pivot === 0 ? 0 : e / pivot;
      x[i] = pivot === 0 ? 0 : f / pivot;
      y[i] = pivot === 0 ? 0 : g / pivot;
      z[i] = pivot === 0 ? 0 : h / pivot;
    }
    a.set(w);
    b.set(x);
    c.set(y);
    d.set(z);
  }
}

/** The lower half of `columnsᵀ · columns`. */
function productsOfColumns(columns: Float32Array, width: number): Float64Array {
  const products = new Float64Array(width * width);
  for (const [a, b, c, d] of fourRows(columns, width)) {
    for (let i = 0; i < width; i++) {
      const [e, f, g, h] = [a[i] as number, b[i] as number, c[i] as number, d[i] as number];
      for (let j = 0; j <= i; j++) {
        const at = i * width + j;
        let sum = products[at] as number;
        sum += e * (a[j] as number);
        sum += f * (b[j] as number);
        sum += g * (c[j] as number);
        sum += h * (d[j] as number);
        products[at] = sum;
      }
    }
  }
  return products;
}

type FourOf<T> = [T, T, T, T];

/** Four at a time take a third of the time: none waits for the sum of another. Behind the last row come rows of zeros. */
function* fourRows(columns: Float32Array, width: number): Generator<FourOf<Float32Array>> {
  const rowAt = (start: number): Float32Array =>
    start < columns.length ? columns.subarray(start, start + width) : new Float32Array(width);
  for (let start = 0; start < columns.length; start += 4 * width) {
    yield [rowAt(start), rowAt(start + width), rowAt(start + 2 * width), rowAt(start + 3 * width)];
  }
}

/** L with L · Lᵀ = the products. A column that depends on earlier ones gets a zero row and pivot. */
function choleskyFactor(products: Float64Array, width: number): Float64Array {
  const factor = new Float64Array(width * width);
  for (let i = 0; i < width; i++) {
    for (let j = 0; j <= i; j++) {
      let value = products[i * width + j] as number;
      for (let k = 0; k < j; k++) value -= (factor[i * width + k] as number) * (factor[j * width + k] as number);
      const pivot = factor[j * width + j] as number;
      if (i !== j) factor[i * width + j] = pivot === 0 ? 0 : value / pivot;
      else if (value > DEPENDENT * (products[i * width + i] as number)) factor[i * width + i] = Math.sqrt(value);
    }
    if (factor[i * width + i] === 0) factor.fill(0, i * width, (i + 1) * width);
  }
  return factor;
}

interface TermWeight {
  readonly position: number;
  readonly weight: number;
}

/** How often each known word occurs, by its position in the vocabulary; words that are not in it have none. */
function countWords(words: Uint32Array, positions: Int32Array): Map<number, number> {
  const counts = new Map<number, number>();
  for (const word of words) {
    const position = positions[word] as number;
    if (position >= 0) counts.set(position, (counts.get(position) ?? 0) + 1);
  }
  return counts;
}

/** Rare words say more. */
function inverseFrequency(passagesWithWord: number, passages: number): number {
  return Math.log((passages + 1) / (passagesWithWord + 0.5));
}

/** log-tf·idf. */
export function termWeight(count: number, idf: number): number {
  return (1 + Math.log(count)) * idf;
}

/** Returns term weights of a text, scaled to length 1: the length of a text does not matter. */
function termWeights(counts: ReadonlyMap<number, number>, idf: Float32Array): TermWeight[] {
  let squares = 0;
  const weights: TermWeight[] = [];
  for (const [position, count] of counts) {
    const weight = termWeight(count, idf[position] as number);
    weights.push({ position, weight });
    squares += weight * weight;
  }
  const factor = squares > 0 ? 1 / Math.sqrt(squares) : 0;
  return weights.map(({ position, weight }) => ({ position, weight: weight * factor }));
}

/** Rows of few numbers among many zeros: `columns` and `values` of row i are at starts[i] to starts[i + 1]. */
interface SparseMatrix {
  readonly rows: number;
  readonly columnCount: number;
  readonly starts: Uint32Array;
  readonly columns: Uint32Array;
  readonly values: Float32Array;
}

/** Makes `product` `matrix · dense`, where `dense` has a row of `width` numbers for every column of the matrix. */
function multiply(matrix: SparseMatrix, dense: Float32Array, width: number, product: Float32Array): void {
  product.fill(0);
  for (let row = 0; row < matrix.rows; row++) {
    const end = matrix.starts[row + 1] as number;
    for (let at = matrix.starts[row] as number; at < end; at++) {
      addRow(product, row * width, dense, (matrix.columns[at] as number) * width, matrix.values[at] as number, width);
    }
  }
}

/** Makes `product` `matrixᵀ · dense`, where `dense` has a row of `width` numbers for every row of the matrix. */
function multiplyTransposed(matrix: SparseMatrix, dense: Float32Array, width: number, product: Float32Array): void {
  product.fill(0);
  for (let row = 0; row < matrix.rows; row++) {
    const end = matrix.starts[row + 1] as number;
    for (let at = matrix.starts[row] as number; at < end; at++) {
      addRow(product, (matrix.columns[at] as number) * width, dense, row * width, matrix.values[at] as number, width);
    }
  }
}

/** Adds `factor` times the row at `from` to the row at `to`. All the time goes here, hence four at a time. */
export function addRow(
  into: Float32Array,
  to: number,
  source: Float32Array,
  from: number,
  factor: number,
  width: number,
): void {
  let i = 0;
  for (; i + 3 < width; i += 4) {
    const a = to + i;
    const b = from + i;
    into[a] = (into[a] as number) + factor * (source[b] as number);
    into[a + 1] = (into[a + 1] as number) + factor * (source[b + 1] as number);
    into[a + 2] = (into[a + 2] as number) + factor * (source[b + 2] as number);
    into[a + 3] = (into[a + 3] as number) + factor * (source[b + 3] as number);
  }
  for (; i < width; i++) into[to + i] = (into[to + i] as number) + factor * (source[from + i] as number);
}
