import type { SQLInputValue } from "node:sqlite";
import { BadInputError } from "../../contracts/errors.ts";
import type { AttributeFilter } from "../../contracts/search-index.ts";

export interface Condition {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

type Scalar = string | number | boolean;
const OPERATORS = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
const MAX_DEPTH = 20;
const MAX_PARTS = 200;
/** Well below what SQLite can bind. */
const MAX_VALUES = 10_000;

/**
 * The filter as a condition on the JSON in `attributes`. Types count: `5` is not `"5"`, and an order exists only between
 * two numbers or two strings. A document without the key satisfies `ne` and `nin`, and nothing else.
 */
export function filterCondition(filter: AttributeFilter): Condition {
  const values: SQLInputValue[] = [];
  const sql = render(filter, values, 0);
  if (values.length > MAX_VALUES) throw new BadInputError(`filter: more than ${MAX_VALUES} values to compare with`);
  return { sql, values };
}

function render(filter: AttributeFilter, values: SQLInputValue[], depth: number): string {
  if (depth > MAX_DEPTH) throw new BadInputError(`filter: nested deeper than ${MAX_DEPTH} levels`);
  switch (filter.type) {
    case "and":
    case "or": {
      if (filter.filters.length > MAX_PARTS)
        throw new BadInputError(`filter: more than ${MAX_PARTS} parts in one '${filter.type}'`);
      if (filter.filters.length === 0) return filter.type === "and" ? "1" : "0";
      const parts = filter.filters.map((part) => render(part, values, depth + 1));
      return `(${parts.join(filter.type === "and" ? " AND " : " OR ")})`;
    }
    case "eq":
      return equals(filter.key, [filter.value], values);
    case "ne":
      return `NOT ${equals(filter.key, [filter.value], values)}`;
    case "in":
      return equals(filter.key, filter.value, values);
    case "nin":
      return `NOT ${equals(filter.key, filter.value, values)}`;
    default:
      return ordered(filter.type, filter.key, filter.value, values);
  }
}

function equals(key: string, wanted: readonly Scalar[], values: SQLInputValue[]): string {
  const parts: string[] = [];
  const oneOf = (test: string, list: readonly (string | number)[]): void => {
    if (list.length === 0) return;
    parts.push(`${test} IN (${list.map(() => "?").join(", ")})`);
    values.push(pathOf(key), ...list);
  };
  const booleans = wanted.filter((value) => typeof value === "boolean").map(String);
  oneOf("ifnull(json_type(attributes, ?), '')", booleans);
  for (const type of ["string", "number"] as const) {
    const list = wanted.filter((value): value is string | number => typeof value === type);
    if (list.length > 0) values.push(pathOf(key));
    oneOf(`${typeIs(type)} AND json_extract(attributes, ?)`, list);
  }
  return parts.length === 0 ? "0" : `(${parts.join(" OR ")})`;
}

function ordered(type: keyof typeof OPERATORS, key: string, value: Scalar, values: SQLInputValue[]): string {
  if (typeof value === "boolean") throw new BadInputError(`filter on '${key}': '${type}' needs a number or a string`);
  values.push(pathOf(key), pathOf(key), value);
  const kind = typeof value === "number" ? "number" : "string";
  return `(${typeIs(kind)} AND json_extract(attributes, ?) ${OPERATORS[type]} ?)`;
}

/** ifnull, because a missing key must be plainly false: NOT of an unknown would be unknown, too. */
function typeIs(type: "string" | "number"): string {
  const types = type === "number" ? "'integer', 'real'" : "'text'";
  return `ifnull(json_type(attributes, ?) IN (${types}), 0)`;
}

function pathOf(key: string): string {
  return `$.${JSON.stringify(key)}`;
}
