import { multiply, multiplyTransposed, type SparseMatrix } from "./sparse-matrix.ts";

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
  let basis = randomNumbers(matrix.columnCount * width);
  for (let pass = 0; pass < PASSES; pass++) {
    basis = multiplyTransposed(matrix, multiply(matrix, basis, width), width);
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
  const row = new Float64Array(width);
  for (let start = 0; start < columns.length; start += width) {
    for (let i = 0; i < width; i++) {
      const pivot = factor[i * width + i] as number;
      let value = columns[start + i] as number;
      for (let j = 0; j < i; j++) value -= (factor[i * width + j] as number) * (row[j] as number);
      row[i] = pivot === 0 ? 0 : value / pivot;
    }
    columns.set(row, start);
  }
}

/** The lower half of `columnsᵀ · columns`. */
function productsOfColumns(columns: Float32Array, width: number): Float64Array {
  const products = new Float64Array(width * width);
  for (let start = 0; start < columns.length; start += width) {
    for (let i = 0; i < width; i++) {
      const value = columns[start + i] as number;
      if (value !== 0) addProducts(products, i * width, columns, start, value, i);
    }
  }
  return products;
}

/** Four at a time, as in addRow. */
function addProducts(
  products: Float64Array,
  to: number,
  columns: Float32Array,
  from: number,
  value: number,
  last: number,
): void {
  let j = 0;
  for (; j + 3 <= last; j += 4) {
    const a = to + j;
    const b = from + j;
    products[a] = (products[a] as number) + value * (columns[b] as number);
    products[a + 1] = (products[a + 1] as number) + value * (columns[b + 1] as number);
    products[a + 2] = (products[a + 2] as number) + value * (columns[b + 2] as number);
    products[a + 3] = (products[a + 3] as number) + value * (columns[b + 3] as number);
  }
  for (; j <= last; j++) products[to + j] = (products[to + j] as number) + value * (columns[from + j] as number);
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
