import { EMPTY_ITEM } from "../../contracts/empty-item.ts";
import { INGEST_STATUSES, type IngestItem, type IngestStatus } from "../../contracts/registry.ts";
import { parseJson } from "../../lib/json-object.ts";
import { storableText } from "../../lib/sql/sql.ts";
import type { Entity, EntityValue } from "./entity-table.ts";
import type { EntityKey } from "./table-keys.ts";

/** A property holds 64 KB, at two bytes a character. */
const MAX_CHARS = 32_000;

/** Numbers of bytes outgrow 32 bits. */
const LONG: ReadonlySet<string> = new Set(["httpContentLength", "fileLength"]);
/** Addresses: cut, they would name something else. */
const NEVER_CUT: ReadonlySet<string> = new Set(["normalizedSource", "foundSource"]);

type Fields = { readonly [name: string]: unknown };

/** Flattens an item; names are as in the specification's example: `httpEtag`, `fileEtag`, `contentHash`, `nextCrawlAt`. */
export function toEntity(item: IngestItem, key: EntityKey): Entity {
  const entity: Record<string, EntityValue> = {};
  const add = (property: string, value: unknown): void => {
    if (Array.isArray(value)) entity[property] = jsonOf(value);
    else if (typeof value === "string") entity[property] = textOf(property, value);
    else entity[property] = LONG.has(property) ? BigInt(value as number) : (value as EntityValue);
  };
  for (const [name, value] of Object.entries(item)) {
    if (!isGroup(value)) add(name, value);
    else for (const [field, inner] of Object.entries(value)) add(propertyOf(name, field), inner);
  }
  // Filters cannot compare two properties.
  return { ...entity, reindexOwed: item.reindexGeneration > item.processedGeneration, ...key };
}

/** Missing or odd properties become empty: other programs may have written the entity. */
export function toItem(entity: Entity): IngestItem {
  const read = (property: string, empty: unknown): unknown => {
    const value = entity[property];
    if (Array.isArray(empty)) return listIn(value) ?? empty;
    const plain = typeof value === "bigint" ? Number(value) : value;
    return typeof plain === typeof empty ? plain : empty;
  };
  const fields = Object.entries(EMPTY_ITEM).map(([name, empty]: [string, unknown]): [string, unknown] => {
    if (!isGroup(empty)) return [name, read(name, empty)];
    const inner = Object.entries(empty).map(([field, one]) => [field, read(propertyOf(name, field), one)]);
    return [name, Object.fromEntries(inner)];
  });
  const item = Object.fromEntries(fields) as unknown as IngestItem;
  return INGEST_STATUSES.includes(item.status as IngestStatus) ? item : { ...item, status: "Pending" };
}

function isGroup(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function propertyOf(group: string, field: string): string {
  return group === "http" || group === "file" ? `${group}${field.charAt(0).toUpperCase()}${field.slice(1)}` : field;
}

function textOf(property: string, text: string): string {
  return storableText(NEVER_CUT.has(property) ? text : text.slice(0, MAX_CHARS));
}

/** Drops the oldest entries until the rest fits. */
function jsonOf(list: readonly unknown[]): string {
  for (let from = 0; ; from++) {
    const json = JSON.stringify(list.slice(from));
    if (json.length <= MAX_CHARS) return json;
  }
}

function listIn(value: unknown): unknown[] | undefined {
  const list = parseJson(String(value));
  return Array.isArray(list) ? list : undefined;
}
