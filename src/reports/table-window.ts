import { BadInputError } from "../contracts/errors.ts";
import { readCsvPages } from "../lib/csv-pages.ts";
import { BestRows } from "./best-rows.ts";
import type { StoredBytes } from "./report-store.ts";

export interface RowWish {
  /** Only rows in which this occurs, in whatever column. */
  readonly filter: string;
  /** true: only rows that tell of an error, in whatever column is for that. */
  readonly failed?: boolean;
}

/** Which rows of a table somebody wants to see. */
export interface TableWish extends RowWish {
  /** A column of the table; with `-` before it, downwards. undefined: as the table has them. */
  readonly sort: string | undefined;
  readonly offset: number;
  readonly limit: number;
}

export interface TableWindow {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** How many match. */
  readonly total: number;
}

/** A table is read from its beginning, as often as it takes. */
type Reading = () => Promise<Pick<StoredBytes, "content">>;

/** To put later rows in order, all before them have to be remembered and sorted in one go, while everybody else waits. */
const MAX_SORTED = 20_000;

/**
 * Some rows of a CSV file. It is read through while everything but those rows is forgotten again, so memory does not
 * depend on its length; sorted, it is read twice.
 */
export async function readTableWindow(open: Reading, wish: TableWish, signal: AbortSignal): Promise<TableWindow> {
  if (wish.sort === undefined) return await takeRows(open, wish, signal, (at) => place(at - wish.offset, wish.limit));
  const places = await sortedPlaces(open, wish, signal);
  return await takeRows(open, wish, signal, (at) => places.get(at));
}

/** The first row is the header; then every row that matches. For streams that end with the client's patience. */
export async function* readMatchingRows(
  { content }: Pick<StoredBytes, "content">,
  wish: RowWish,
): AsyncGenerator<string[][], void> {
  let header: string[][] = [];
  for await (const page of readCsvPages(content)) {
    const rows = header.length === 0 ? page.slice(1) : page;
    if (header.length === 0) {
      header = page.slice(0, 1);
      yield header;
    }
    const found = rows.filter(matcher(wish, header[0] ?? []));
    if (found.length > 0) yield found;
  }
}

export function isErrorColumn(name: string): boolean {
  return name.endsWith("_error");
}

function matcher({ filter, failed = false }: RowWish, columns: readonly string[]): (row: readonly string[]) => boolean {
  const wanted = filter.toLowerCase();
  const errors = columns.flatMap((name, at) => (isErrorColumn(name) ? [at] : []));
  return (row) =>
    (!failed || errors.some((at) => (row[at] ?? "") !== "")) &&
    (wanted === "" || row.some((cell) => cell.toLowerCase().includes(wanted)));
}

function place(at: number, limit: number): number | undefined {
  return at >= 0 && at < limit ? at : undefined;
}

/** Where each row of the window stands in it, by its place among the rows that match. */
async function sortedPlaces(
  open: Reading,
  { sort = "", offset, limit, ...wish }: TableWish,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, number>> {
  if (offset + limit > MAX_SORTED) {
    throw new BadInputError(
      `A sorted table is shown up to row ${MAX_SORTED}. Filter it, sort the other way, or do not sort.`,
    );
  }
  const best = new BestRows(offset + limit, sort.startsWith("-") ? "descending" : "ascending");
  let column: number | undefined;
  let at = 0;
  for await (const page of readMatchingRows(await open(), wish)) {
    signal.throwIfAborted();
    if (column === undefined) column = columnOf(sort, page[0] ?? []);
    else for (const row of page) best.offer(row[column] ?? "", at++);
  }
  const window = best.take().slice(offset);
  return new Map(window.map((at, index) => [at, index]));
}

function columnOf(sort: string, columns: readonly string[]): number {
  const found = columns.indexOf(sort.replace(/^-/, ""));
  if (found >= 0) return found;
  throw new BadInputError(`'sort' must be a column of the file, with a minus to reverse it: ${columns.join(", ")}.`);
}

async function takeRows(
  open: Reading,
  wish: TableWish,
  signal: AbortSignal,
  placeOf: (at: number) => number | undefined,
): Promise<TableWindow> {
  let columns: readonly string[] | undefined;
  const rows: string[][] = [];
  let total = 0;
  for await (const page of readMatchingRows(await open(), wish)) {
    signal.throwIfAborted();
    if (columns === undefined) {
      columns = page[0] ?? [];
      continue;
    }
    for (const row of page) {
      const index = placeOf(total++);
      if (index !== undefined) rows[index] = row;
    }
  }
  return { columns: columns ?? [], rows, total };
}
