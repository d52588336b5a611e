import { BadInputError } from "../contracts/errors.ts";
import type { AttributeFilter } from "../contracts/search-index.ts";
import { isJsonObject } from "./json-object.ts";

export const MAX_FILTER_DEPTH = 10;
const COMPARISONS = ["eq", "ne", "gt", "gte", "lt", "lte"] as const;
const TYPES = [...COMPARISONS, "in", "nin", "and", "or"] as const;

/** `param` is the path of the wrong value in the request: `filters.filters[1].value`. */
export class FilterError extends BadInputError {
  override readonly name: string = "FilterError";
  readonly param: string;
  constructor(param: string, message: string) {
    super(message);
    this.param = param;
  }
}

/** Parses a filter of the OpenAI protocol; `param` is its name in the request. */
export function parseAttributeFilter(value: unknown, param: string, depth = 0): AttributeFilter {
  if (depth > MAX_FILTER_DEPTH)
    throw new FilterError(param, `Filters may be nested ${MAX_FILTER_DEPTH} levels deep, not deeper.`);
  if (!isJsonObject(value)) throw wrongType(param, "an object");
  const type = TYPES.find((one) => one === value["type"]);
  if (type === undefined) {
    throw new FilterError(`${param}.type`, `Invalid value for '${param}.type': expected one of ${TYPES.join(", ")}.`);
  }
  if (type === "and" || type === "or") {
    const parts = arrayOf(value["filters"], `${param}.filters`);
    return { type, filters: parts.map((part, at) => parseAttributeFilter(part, `${param}.filters[${at}]`, depth + 1)) };
  }
  const { key } = value;
  if (typeof key !== "string") throw wrongType(`${param}.key`, "a string");
  const at = `${param}.value`;
  if (type === "in" || type === "nin") {
    const values = arrayOf(value["value"], at);
    return { type, key, value: values.map((one) => scalar(one, at, ["string", "number"]) as string | number) };
  }
  const kinds = type === "eq" || type === "ne" ? ["string", "number", "boolean"] : ["string", "number"];
  return { type, key, value: scalar(value["value"], at, kinds) };
}

function arrayOf(value: unknown, param: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw wrongType(param, "an array");
}

function scalar(value: unknown, param: string, kinds: readonly string[]): string | number | boolean {
  if (kinds.includes(typeof value)) return value as string | number | boolean;
  throw wrongType(param, kinds.join(" or "));
}

function wrongType(param: string, expected: string): FilterError {
  return new FilterError(param, `Invalid type for '${param}': expected ${expected}.`);
}
