import { BadInputError } from "../contracts/errors.ts";
import { BestOf } from "../lib/best-of.ts";
import { readCsvPages } from "../lib/csv.ts";
import type { StoredBytes } from "./report-store.ts";

interface RowQuery {
  /** Only rows that contain this in any column. */
  readonly filter: string;
  /** true: only rows with an error in any error column. */
  readonly failed?: boolean;
}

/** Which rows of a table to return. */
export interface TableQuery extends RowQuery {
  /** A column; descending with `-` before it. undefined: the table's own order. */
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

/** Opens the table at its beginning, any number of times. */
type Reading = () => Promise<Pick<StoredBytes, "content">>;

/** Sorting a later window holds all rows before it in memory. */
const MAX_SORTED = 20_000;

/** Returns some rows of a CSV file. Only those rows are kept in memory; sorted, the file is read twice. */
export async function readTableWindow(open: Reading, query: TableQuery, signal: AbortSignal): Promise<TableWindow> {
  if (query.sort === undefined)
    return await takeRows(open, query, signal, (at) => positionInWindow(at - query.offset, query.limit));
  const positions = await sortedPositions(open, query, signal);
  return await takeRows(open, query, signal, (at) => positions.get(at));
}

/** Yields the header, then every row that matches. For streams that end when the client disconnects. */
export async function* readMatchingRows(
  { content }: Pick<StoredBytes, "content">,
  query: RowQuery,
): AsyncGenerator<string[][], void> {
  let header: string[][] = [];
  for await (const page of readCsvPages(content)) {
    const rows = header.length === 0 ? page.slice(1) : page;
    if (header.length === 0) {
      header = page.slice(0, 1);
      yield header;
    }
    const found = rows.filter(matcher(query, header[0] ?? []));
    if (found.length > 0) yield found;
  }
}

export function isErrorColumn(name: string): boolean {
  return name.endsWith("_error");
}

function matcher(
  { filter, failed = false }: RowQuery,
  columns: readonly string[],
): (row: readonly string[]) => boolean {
  const wanted = filter.toLowerCase();
  const errors = columns.flatMap((name, at) => (isErrorColumn(name) ? [at] : []));
  return (row) =>
    (!failed || errors.some((at) => (row[at] ?? "") !== "")) &&
    (wanted === "" || row.some((cell) => cell.toLowerCase().includes(wanted)));
}

function positionInWindow(at: number, limit: number): number | undefined {
  return at >= 0 && at < limit ? at : undefined;
}

/** The position of each row in the window, by its position among the rows that match. */
async function sortedPositions(
  open: Reading,
  { sort = "", offset, limit, ...query }: TableQuery,
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
  for await (const page of readMatchingRows(await open(), query)) {
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
  query: TableQuery,
  signal: AbortSignal,
  placeOf: (at: number) => number | undefined,
): Promise<TableWindow> {
  let columns: readonly string[] | undefined;
  const rows: string[][] = [];
  let total = 0;
  for await (const page of readMatchingRows(await open(), query)) {
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

/** The sort key of a cell: numbers by value and before any text; text ignores case and accents. */
type SortKey = number | string;

interface Ranked {
  readonly key: SortKey;
  /** Its position among the rows that match. */
  readonly at: number;
}

const NUMBER = /^-?\d{1,15}(?:\.\d{1,15})?$/;
/** Texts that are equal up to here may come in any order. */
const KEY_CHARS = 200;

/**
 * Keeps the first `size` rows of a table in an order. Keys are computed once and compared plainly: a collator would block the process for
 * seconds with many rows.
 */
class BestRows {
  readonly #best: BestOf<Ranked>;

  constructor(size: number, order: "ascending" | "descending") {
    const direction = order === "ascending" ? 1 : -1;
    // Equal rows keep their order, in both directions.
    this.#best = new BestOf(size, (a, b) => direction * compareKeys(a.key, b.key) || a.at - b.at);
  }

  offer(cell: string, at: number): void {
    this.#best.offer({ key: sortKey(cell), at });
  }

  /** The positions of the rows, in order. */
  take(): readonly number[] {
    return this.#best.take().map(({ at }) => at);
  }
}

function sortKey(cell: string): SortKey {
  if (NUMBER.test(cell)) return Number(cell);
  const plain = cell.slice(0, KEY_CHARS).normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  // A slice would keep the whole text in memory; a copy does not.
  return Buffer.from(plain).toString();
}

function compareKeys(a: SortKey, b: SortKey): number {
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
