import { compare, compileFilter, type Literal } from "../odata/filter.ts";
import { beyondThreshold, invalidExpression, unknownField } from "../odata/odata-error.ts";
import { encodeInLowerHex, type QueryOptions } from "../odata/projection.ts";
import type { Collection } from "./resource.ts";

const DEFAULT_PAGE = 100;
const MAX_PAGE = 5000;

interface Page {
  readonly rows: readonly unknown[];
  /** The position the next page starts after, as a `$skiptoken` says it; undefined at the end. */
  readonly continueAfter: string | undefined;
}

type Matches = (row: unknown) => boolean;

/** `$filter`, `$orderby`, `$top` and `$skiptoken` on a collection. */
export function pageOf(collection: Collection, query: QueryOptions): Page {
  const top = parseTop(query);
  const matches = filterOf(collection, query);
  const order = orderOf(collection, query.system.get("$orderby"));
  if (!collection.paging) return wholeCollection({ ...collection, ...order }, matches, top);
  if (top !== undefined && top > MAX_PAGE) throw beyondThreshold();
  const token = new URLSearchParams(query.system.get("$skiptoken") ?? "");
  const id = Number(token.get("p_ID") ?? 0) || 0;
  const start = order ? (token.has("p_ID") ? order.positionAfter(token) : 0) : collection.paging.positionAfter(id);
  const rows = order?.rows ?? collection.rows;
  return pageFrom(rows, start, { matches, size: top ?? DEFAULT_PAGE }, (last) => {
    return `Paged=TRUE&${order?.tokenOf(last) ?? ""}p_ID=${collection.paging?.idOf(last)}`;
  });
}

/** Reads no more rows than the page needs. */
function pageFrom(
  rows: readonly unknown[],
  start: number,
  { matches, size }: { matches: Matches; size: number },
  tokenOf: (last: unknown) => string,
): Page {
  const found: unknown[] = [];
  for (let at = start; at < rows.length; at++) {
    const row = rows[at];
    if (!matches(row)) continue;
    if (found.length === size) return { rows: found, continueAfter: tokenOf(found.at(-1)) };
    found.push(row);
  }
  return { rows: found, continueAfter: undefined };
}

/** Files and folders of one folder come without paging, and not at all above the threshold, whatever `$top` says. */
function wholeCollection({ rows }: { rows: readonly unknown[] }, matches: Matches, top: number | undefined): Page {
  if (rows.length > MAX_PAGE) throw beyondThreshold();
  return { rows: rows.filter(matches).slice(0, top), continueAfter: undefined };
}

function parseTop(query: QueryOptions): number | undefined {
  const text = query.system.get("$top");
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text) || text === "0") throw invalidExpression(`$top=${text}`);
  return Number(text);
}

/**
 * Above the threshold a filter must not make the service look at every row: what comes first in it has to be about an
 * indexed column, and to let through no more rows than the threshold. What follows may be anything.
 */
function filterOf({ type, rows, paging }: Collection, query: QueryOptions): Matches {
  const filter = query.system.get("$filter");
  if (filter === undefined || filter.trim() === "") return () => true;
  const read = (name: string) => {
    const field = type.filterable?.[name];
    if (!field) throw unknownField(name);
    return field;
  };
  const { matches, indexed } = compileFilter(filter, read, (name) => type.indexed?.has(name) ?? false);
  if (paging && rows.length > paging.threshold) {
    if (!indexed || countUpTo(rows, indexed, paging.threshold + 1) > paging.threshold) throw beyondThreshold();
  }
  return matches;
}

function countUpTo(rows: readonly unknown[], matches: Matches, limit: number): number {
  let count = 0;
  for (const row of rows) {
    if (matches(row) && ++count === limit) break;
  }
  return count;
}

/** The link as the service spells it: the path as it was asked for, the token first, lower-case hex. */
export function nextLinkOf(url: { origin: string; rawPath: string }, query: QueryOptions, after: string): string {
  const token = `%24skiptoken=${encodeInLowerHex(after)}`;
  const others = query.raw
    .map(({ key, value }) => ({ key: key.replace(/^\$/, "%24"), value }))
    .filter(({ key }) => key.toLowerCase() !== "%24skiptoken")
    .map(({ key, value }) => `&${key}=${value}`);
  return `${url.origin}${url.rawPath}?${token}${others.join("")}`;
}

interface SortKey {
  readonly name: string;
  readonly descending: boolean;
  read(row: unknown): Literal;
}

/** `$orderby` of a list: by its keys, then by id, which makes every position exact. */
interface Order {
  readonly rows: readonly unknown[];
  /** The position after the row a `$skiptoken` names, whether that row is still there or not. */
  positionAfter(token: URLSearchParams): number;
  /** `p_Modified=20240329%2017%3a57%3a44&p_ID=7` without the id. */
  tokenOf(row: unknown): string;
}

const KEY = /^([A-Za-z_][\w/]*)(?:\s+(asc|desc))?$/i;

/** undefined when the order asked for is that of the ids anyway. */
function orderOf(collection: Collection, orderBy: string | undefined): Order | undefined {
  if (orderBy === undefined || orderBy.trim() === "" || /^id( asc)?$/i.test(orderBy.trim())) return undefined;
  const keys = orderBy.split(",").map((part) => keyOf(collection, part.trim()));
  const { rows, paging } = collection;
  const needsIndex = paging && rows.length > paging.threshold;
  if (needsIndex && !collection.type.indexed?.has(keys[0]?.name ?? "")) throw beyondThreshold();
  const idOf = (row: unknown): number => paging?.idOf(row) ?? 0;
  const sorted = [...rows].sort((a, b) => compareBy(keys, (key) => [key.read(a), key.read(b)]) || idOf(a) - idOf(b));
  return {
    rows: sorted,
    positionAfter: (token) => {
      const id = Number(token.get("p_ID") ?? 0);
      const at = sorted.findIndex((row) => {
        const order = compareBy(keys, (key) => [key.read(row), fromToken(token.get(`p_${key.name}`), key.read(row))]);
        return order > 0 || (order === 0 && idOf(row) > id);
      });
      return at < 0 ? sorted.length : at;
    },
    tokenOf: (row) => keys.map((key) => `p_${key.name}=${encodeInLowerHex(toToken(key.read(row)))}&`).join(""),
  };
}

function keyOf({ type }: Collection, part: string): SortKey {
  const [, name, direction] = KEY.exec(part) ?? [];
  if (name === undefined) throw invalidExpression(`$orderby=${part}`);
  const read = type.filterable?.[name];
  if (!read) throw unknownField(name);
  return { name, descending: direction?.toLowerCase() === "desc", read };
}

function compareBy(keys: readonly SortKey[], pair: (key: SortKey) => [Literal, Literal]): number {
  for (const key of keys) {
    const [a, b] = pair(key);
    const order = compareOrEmpty(a, b);
    if (order !== 0) return key.descending ? -order : order;
  }
  return 0;
}

/** What is empty comes first. */
function compareOrEmpty(a: Literal, b: Literal): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return compare(a, b);
}

/** `20240329 17:57:44` for a time; 1 and 0 for yes and no. */
function toToken(value: Literal): string {
  if (value === null) return "";
  if (value instanceof Date) return value.toISOString().slice(0, 19).replaceAll("-", "").replace("T", " ");
  return typeof value === "boolean" ? String(Number(value)) : String(value);
}

/** Read back in the type the other side of the comparison has. */
function fromToken(text: string | null, like: Literal): Literal {
  if (text === null || text === "") return null;
  if (like instanceof Date) {
    return new Date(text.replace(/^(\d{4})(\d\d)(\d\d) (.*)$/, "$1-$2-$3T$4Z"));
  }
  if (typeof like === "number") return Number(text);
  return typeof like === "boolean" ? text === "1" : text;
}
