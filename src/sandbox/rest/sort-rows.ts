import { compare } from "../odata/filter.ts";
import type { Literal } from "../odata/filter-tokens.ts";
import { beyondThreshold, invalidExpression, unknownField } from "../odata/odata-error.ts";
import { encodeInLowerHex } from "../odata/query-options.ts";
import type { Collection } from "./resource.ts";

interface SortKey {
  readonly name: string;
  readonly descending: boolean;
  read(row: unknown): Literal;
}

/** `$orderby` of a list: by its keys, then by id, which makes every position exact. */
export interface Order {
  readonly rows: readonly unknown[];
  /** The position after the row a `$skiptoken` names, whether that row is still there or not. */
  positionAfter(token: URLSearchParams): number;
  /** `p_Modified=20240329%2017%3a57%3a44&p_ID=7` without the id. */
  tokenOf(row: unknown): string;
}

const KEY = /^([A-Za-z_][\w/]*)(?:\s+(asc|desc))?$/i;

/** undefined when the order asked for is that of the ids anyway. */
export function orderOf(collection: Collection, orderBy: string | undefined): Order | undefined {
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
