/** Rows of few numbers among many zeros: `columns` and `values` of row i are at starts[i] to starts[i + 1]. */
export interface SparseMatrix {
  readonly rows: number;
  readonly columnCount: number;
  readonly starts: Uint32Array;
  readonly columns: Uint32Array;
  readonly values: Float32Array;
}

/** Makes `product` `matrix · dense`, where `dense` has a row of `width` numbers for every column of the matrix. */
export function multiply(matrix: SparseMatrix, dense: Float32Array, width: number, product: Float32Array): void {
  product.fill(0);
  for (let row = 0; row < matrix.rows; row++) {
    const end = matrix.starts[row + 1] as number;
    for (let at = matrix.starts[row] as number; at < end; at++) {
      addRow(product, row * width, dense, (matrix.columns[at] as number) * width, matrix.values[at] as number, width);
    }
  }
}

/** Makes `product` `matrixᵀ · dense`, where `dense` has a row of `width` numbers for every row of the matrix. */
export function multiplyTransposed(
  matrix: SparseMatrix,
  dense: Float32Array,
  width: number,
  product: Float32Array,
): void {
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
