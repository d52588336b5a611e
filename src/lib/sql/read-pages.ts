/** Reads page after page, each behind the number of the last row of the one before. None is empty. */
export async function* readPages<Row>(
  size: number,
  numberOf: (row: Row) => number,
  read: (after: number) => Promise<Row[]>,
): AsyncGenerator<Row[], void> {
  for (let after = 0; ; ) {
    const rows = await read(after);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < size) return;
    after = numberOf(last);
  }
}
