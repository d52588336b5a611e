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
