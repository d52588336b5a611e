import { optional, type Parameter, withDefault } from "./parameters.ts";
import { text, type Value, wholeNumber } from "./values.ts";

/** Paging, order and filter of a list. */
export interface Listing {
  /** undefined: all of it. */
  readonly limit: number | undefined;
  readonly offset: number;
  /** A column; descending with `-` before it. undefined: the list's own order. */
  readonly sort: string | undefined;
  /** Only rows that contain this in any column; "" for all. */
  readonly filter: string;
}

/** Where the rows of an answer are in the whole list. */
export interface PageFacts {
  readonly offset: number;
  readonly limit: number;
  /** undefined: counting would mean reading everything. */
  readonly total: number | undefined;
  readonly more: boolean;
}

export const MAX_LIMIT = 1000;

/** The query parameters of every list. */
export function listing(columns: readonly string[]): { readonly [Name in keyof Listing]: Parameter<Listing[Name]> } {
  return {
    limit: optional(wholeNumber({ from: 1, to: MAX_LIMIT }), "At most this many; without it, all."),
    offset: withDefault(wholeNumber({ from: 0, to: 999_999_999 }), 0, "Leaves out this many first."),
    sort: optional(orderBy(columns), "The column to sort by; a minus before it reverses the order."),
    filter: withDefault(text, "", "Only those in which this text occurs."),
  };
}

function orderBy(columns: readonly string[]): Value<string> {
  const orders = columns.flatMap((column) => [column, `-${column}`]);
  return {
    accepts: `${columns.join(", ")}, or one of them after a minus`,
    schema: { type: "string", enum: orders },
    read: (raw) => orders.find((order) => order === raw),
  };
}

export interface Listed<T> {
  readonly rows: readonly T[];
  /** undefined if the whole list was requested. */
  readonly page: PageFacts | undefined;
}

/** Filters, sorts and pages a list that is in memory. */
export function takePart<T extends object>(all: readonly T[], { limit, offset, sort, filter }: Listing): Listed<T> {
  const found = filter === "" ? all : all.filter((row) => occursIn(row, filter.toLowerCase()));
  const sorted = sort === undefined ? found : sortRows(found, sort);
  const rows = sorted.slice(offset, limit === undefined ? undefined : offset + limit);
  return { rows, page: pageFacts({ limit, offset }, rows.length, sorted.length) };
}

/** Returns where `rows` rows are in a list of `total`; undefined if the whole list was requested. */
export function pageFacts(
  { limit, offset }: Pick<Listing, "limit" | "offset">,
  rows: number,
  total: number,
): PageFacts | undefined {
  if (limit === undefined && offset === 0) return undefined;
  return { offset, limit: limit ?? total, total, more: offset + rows < total };
}

/** Deeper than anything we list. Client data may be nested without end. */
const MAX_DEPTH = 8;

/** Searches values, not the names of fields. */
function occursIn(value: unknown, words: string, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return textOf(value).toLowerCase().includes(words);
  return depth < MAX_DEPTH && Object.values(value).some((part) => occursIn(part, words, depth + 1));
}

function sortRows<T extends object>(rows: readonly T[], sort: string): T[] {
  const column = sort.replace(/^-/, "");
  const direction = sort.startsWith("-") ? -1 : 1;
  const cellOf = (row: T): unknown => (row as Record<string, unknown>)[column];
  return [...rows].sort((a, b) => direction * compare(cellOf(a), cellOf(b)));
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function compare(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return collator.compare(textOf(a), textOf(b));
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
