import { BadInputError } from "../../contracts/errors.ts";
import type { SearchScope } from "../../contracts/search-index.ts";
import type { SourceKind } from "../../contracts/source-kind.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import type { Value } from "../grammar/values.ts";

/** `Hybrid` is `hybrid`: the functions wrote these words in either way. */
function oneOfWords<const T extends string>(choices: readonly T[]): Value<T> {
  return {
    accepts: choices.join(" or "),
    schema: { type: "string" },
    read: (raw) => choices.find((choice) => typeof raw === "string" && choice === raw.toLowerCase()),
  };
}

export const searchType = oneOfWords(["keyword", "vector", "hybrid"]);
const contentType = oneOfWords(["text", "image"]);
const sourceType = oneOfWords(["url", "sharepoint", "file", "blob"]);

/** Where a result comes from, in the words of the functions. */
export type FoundSourceType = SourceKind["foundAs"];

export const contentTypes: Value<readonly string[]> = {
  accepts: "text, image, or both with a comma between them",
  schema: { type: "array", items: { type: "string" } },
  read(raw) {
    const list = typeof raw === "string" ? raw.split(",").map((part) => part.trim()) : raw;
    if (!Array.isArray(list) || list.length === 0) return undefined;
    const read = list.map((one) => contentType.read(one));
    return read.every((one) => one !== undefined) ? read : undefined;
  },
};

export interface SearchFilters {
  readonly scope: SearchScope;
  readonly sourceType: FoundSourceType | undefined;
  /** As addresses have it; "" for all. */
  readonly sourceHost: string;
}

const NAMES = ["fileType", "fileTypes", "dateRange", "sourceType", "sourceHost"];
const RANGE_NAMES = ["from", "to", "start", "end"];

export function readFilters(raw: unknown): SearchFilters {
  const given = objectOf(raw ?? {}, "filters", NAMES);
  const range = objectOf(given["dateRange"] ?? {}, "filters.dateRange", RANGE_NAMES);
  const from = range["from"] === undefined ? "start" : "from";
  const to = range["to"] === undefined ? "end" : "to";
  const fileTypes = readTypes(given["fileTypes"] ?? given["fileType"]);
  const kind = given["sourceType"];
  const read = kind === undefined ? undefined : sourceType.read(kind);
  if (kind !== undefined && read === undefined) throw wrong("filters.sourceType", sourceType.accepts);
  return {
    scope: withoutAbsent({
      fileTypes,
      modifiedFrom: readInstant(range[from], `filters.dateRange.${from}`),
      modifiedBefore: readEnd(range[to], `filters.dateRange.${to}`),
    }),
    sourceType: read,
    sourceHost: readHost(given["sourceHost"]),
  };
}

function objectOf(raw: unknown, name: string, accepted: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isJsonObject(raw)) throw wrong(name, "a JSON object");
  const unknown = Object.keys(raw).find((key) => !accepted.includes(key));
  if (unknown === undefined) return raw;
  throw new BadInputError(`Unknown field '${name}.${unknown.slice(0, 80)}'. Accepted: ${accepted.join(", ")}.`);
}

function readTypes(raw: unknown): readonly string[] | undefined {
  if (raw === undefined) return undefined;
  const list: unknown[] = Array.isArray(raw) ? raw : [raw];
  return list.map((one) => readText(one, "filters.fileTypes").toLowerCase().replace(/^\./, ""));
}

function readText(raw: unknown, name: string): string {
  if (raw === undefined) return "";
  if (typeof raw === "string") return raw.trim();
  throw wrong(name, "text");
}

function readHost(raw: unknown): string {
  const text = readText(raw, "filters.sourceHost");
  if (text === "") return "";
  const host = URL.parse(`http://${text}`)?.host;
  if (host) return host;
  throw wrong("filters.sourceHost", "a host name, as docs.example.com");
}

const DAY = /^\d{4}-\d\d-\d\d$/;
const DAY_MS = 24 * 3600 * 1000;

function readInstant(raw: unknown, name: string): string | undefined {
  const text = readText(raw, name);
  if (text === "") return undefined;
  if (/^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d)?)?$/.test(text)) {
    const ms = Date.parse(DAY.test(text) || /(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
    if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  }
  throw wrong(name, "a date or a time, as 2026-01-31 or 2026-01-31T12:00:00Z");
}

/** The last day or instant still counts. */
function readEnd(raw: unknown, name: string): string | undefined {
  const instant = readInstant(raw, name);
  if (instant === undefined) return undefined;
  const more = typeof raw === "string" && DAY.test(raw.trim()) ? DAY_MS : 1;
  return new Date(Date.parse(instant) + more).toISOString();
}

function wrong(name: string, accepts: string): BadInputError {
  return new BadInputError(`'${name}' must be ${accepts}.`);
}
