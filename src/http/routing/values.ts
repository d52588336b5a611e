import { BadInputError } from "../../contracts/errors.ts";
import {
  type DomainId,
  type JobId,
  parseDomainId,
  parseSourceId,
  parseVectorStoreId,
  type SourceId,
  type VectorStoreId,
} from "../../contracts/ids.ts";
import { parseJobId } from "../../jobs/job-file.ts";

/** Parses one parameter. `accepts` completes the sentence "'mode' must be …" in errors and documentation. */
export interface Value<T> {
  readonly accepts: string;
  /** The same for machines, in the OpenAPI document. */
  readonly schema: JsonSchema;
  /** undefined: not acceptable. A BadInputError of its own may say more than `accepts` can. */
  read(raw: unknown): T | undefined;
}

export const text: Value<string> = {
  accepts: "text",
  schema: { type: "string" },
  read: (raw) => (typeof raw === "string" ? raw : undefined),
};

/** Text that is not empty. */
export const words: Value<string> = {
  accepts: "text that is not empty",
  schema: { type: "string", minLength: 1 },
  read: (raw) => (typeof raw === "string" && raw.trim() !== "" ? raw : undefined),
};

/** Only `true` and `false`: `dry_run=yes` is refused, and not taken for false. */
export const trueOrFalse: Value<boolean> = {
  accepts: "true or false",
  schema: { type: "boolean" },
  read: (raw) => (raw === true || raw === "true" ? true : raw === false || raw === "false" ? false : undefined),
};

export function oneOf<const T extends string>(choices: readonly T[]): Value<T> {
  return {
    accepts: choices.join(" or "),
    schema: { type: "string", enum: choices },
    read: (raw) => choices.find((choice) => choice === raw),
  };
}

export function wholeNumber(range: { readonly from: number; readonly to: number }): Value<number> {
  return {
    accepts: `a whole number from ${range.from} to ${range.to}`,
    schema: { type: "integer", minimum: range.from, maximum: range.to },
    read(raw) {
      const number =
        typeof raw === "number" ? raw : typeof raw === "string" && /^\d{1,9}$/.test(raw) ? Number(raw) : NaN;
      return Number.isInteger(number) && number >= range.from && number <= range.to ? number : undefined;
    },
  };
}

/** Any JSON. Text is parsed as JSON, because forms send nothing else. */
export const json: Value<unknown> = {
  accepts: "JSON",
  schema: {},
  read(raw) {
    if (typeof raw !== "string") return raw;
    try {
      return JSON.parse(raw) as unknown;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  },
};

export const instant: Value<string> = {
  accepts: "a date or a time, as 2026-01-31 or 2026-01-31T12:00:00Z",
  schema: { type: "string" },
  read(raw) {
    const known = typeof raw === "string" && /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/.test(raw);
    return known && !Number.isNaN(Date.parse(raw)) ? raw : undefined;
  },
};

const FOLDER_NAME = {
  accepts: "1 to 64 letters, digits, underscores or hyphens",
  schema: { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" },
} as const;

export const domainId: Value<DomainId> = { ...FOLDER_NAME, read: (raw) => attempt(parseDomainId, raw) };
export const sourceId: Value<SourceId> = { ...FOLDER_NAME, read: (raw) => attempt(parseSourceId, raw) };
export const vectorStoreId: Value<VectorStoreId> = {
  ...FOLDER_NAME,
  read: (raw) => attempt(parseVectorStoreId, raw),
};

export const jobId: Value<JobId> = {
  accepts: "'jb_' and a number",
  schema: { type: "string", pattern: "^jb_[1-9][0-9]*$" },
  read: (raw) => (typeof raw === "string" ? parseJobId(raw) : undefined),
};

function attempt<T>(parse: (text: string) => T, raw: unknown): T | undefined {
  if (typeof raw !== "string") return undefined;
  try {
    return parse(raw);
  } catch (error) {
    if (error instanceof BadInputError) return undefined;
    throw error;
  }
}

/** The part of JSON Schema that the OpenAPI document needs. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: "string" | "integer" | "number" | "boolean" | "object" | "array";
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxProperties?: number;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly default?: unknown;
  readonly description?: string;
}
