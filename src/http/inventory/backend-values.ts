import { isJsonObject } from "../../lib/json-object.ts";
import type { JsonSchema } from "../routing/values.ts";
import { json, type Value } from "../routing/values.ts";

/** Ids of the backend are opaque: only those that could not be part of a path are refused. */
export const backendId: Value<string> = {
  accepts: "the id of something in the backend (letters, digits and . _ - = : ~)",
  schema: { type: "string", pattern: "^[A-Za-z0-9._=:~-]{1,512}$" },
  read: (raw) =>
    typeof raw === "string" && /^[A-Za-z0-9._=:~-]{1,512}$/.test(raw) && !/^\.+$/.test(raw) ? raw : undefined,
};

/** `vs_1,vs_2` */
export const backendIds: Value<readonly string[]> = {
  accepts: "one or more ids, with commas between them",
  schema: { type: "string", pattern: "^[A-Za-z0-9._=:~-]+( *, *[A-Za-z0-9._=:~-]+)*$" },
  read(raw) {
    if (typeof raw !== "string") return undefined;
    const ids = raw.split(",").map((id) => backendId.read(id.trim()));
    return ids.every((id) => id !== undefined) ? [...new Set(ids)] : undefined;
  },
};

/** Accepts a list of ids in JSON, or text with commas in a form. */
export const idList: Value<readonly string[]> = {
  accepts: "a list of ids",
  schema: { type: "array", items: { type: "string" } },
  read(raw) {
    const ids = Array.isArray(raw) ? raw.map((id) => backendId.read(id)) : backendIds.read(raw);
    return ids?.every((id) => id !== undefined) ? ids : undefined;
  },
};

/** null removes the metadata. */
export const metadata: Value<Record<string, string> | null> = checked(
  "a JSON object with at most 16 texts: names up to 64 characters, values up to 512",
  { type: "object", additionalProperties: { type: "string", maxLength: 512 }, maxProperties: 16 },
  (value): value is Record<string, string> | null => {
    if (value === null) return true;
    if (!isJsonObject(value) || Object.keys(value).length > 16) return false;
    return Object.entries(value).every(
      ([name, text]) => name.length <= 64 && typeof text === "string" && text.length <= 512,
    );
  },
);

export interface StoreExpiry {
  readonly anchor: "last_active_at";
  readonly days: number;
}

/** null: never. */
export const storeExpiry: Value<StoreExpiry | null> = checked(
  `{"anchor":"last_active_at","days":1 to 365}, or null for never`,
  { type: "object" },
  (value): value is StoreExpiry | null => {
    if (value === null) return true;
    if (!isJsonObject(value) || value["anchor"] !== "last_active_at") return false;
    const { days } = value;
    return Number.isInteger(days) && Number(days) >= 1 && Number(days) <= 365;
  },
);

export const jsonObject: Value<Record<string, unknown>> = checked("a JSON object", { type: "object" }, isJsonObject);

export const jsonArray: Value<readonly unknown[]> = checked("a JSON array", { type: "array" }, (value) =>
  Array.isArray(value),
);

/** Accepts text, or a list of messages as JSON or as text that contains it. */
export const question: Value<string | readonly unknown[]> = {
  accepts: "text, or a JSON array of messages",
  schema: {},
  read(raw) {
    const list = typeof raw === "string" && raw.trim().startsWith("[") ? (json.read(raw) ?? raw) : raw;
    return Array.isArray(list) || (typeof list === "string" && list.trim() !== "") ? list : undefined;
  },
};

export function decimal(range: { readonly from: number; readonly to: number }): Value<number> {
  return {
    accepts: `a number from ${range.from} to ${range.to}`,
    schema: { type: "number", minimum: range.from, maximum: range.to },
    read(raw) {
      const number = typeof raw === "number" ? raw : typeof raw === "string" && raw.trim() !== "" ? Number(raw) : NaN;
      return number >= range.from && number <= range.to ? number : undefined;
    },
  };
}

/** Accepts JSON, or text that contains it, because forms send only text. */
function checked<T>(accepts: string, schema: JsonSchema, isGood: (value: unknown) => value is T): Value<T> {
  return {
    accepts,
    schema,
    read(raw) {
      const value = json.read(raw);
      return isGood(value) ? value : undefined;
    },
  };
}
