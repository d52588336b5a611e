import type { FileId, ItemId, SourceId } from "../contracts/ids.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { toUnixSeconds } from "../lib/time.ts";

/** One embedded version of an item, as the crawl knows it. */
export interface MetadataEntry {
  readonly itemId: ItemId;
  readonly fileId: FileId;
  readonly listItemId: number;
  /** Below the `crawler/` folder, `/`-separated. */
  readonly file: string;
  readonly url: string;
  readonly rawUrl: string;
  readonly serverPath: string;
  readonly name: string;
  readonly fileType: string;
  readonly size: number;
  /** ISO 8601 UTC with six fraction digits, as everywhere in map files. */
  readonly modifiedAt: string;
  readonly embeddedAt: string;
  readonly sourceId: SourceId;
  readonly sourceType: string;
}

/** Every other field of an entry is a custom property: it belongs to the user and follows the item to its next version. */
export const STANDARD_FIELDS: ReadonlySet<string> = new Set([
  "sharepoint_listitem_id",
  "sharepoint_unique_file_id",
  "openai_file_id",
  "file_relative_path",
  "url",
  "raw_url",
  "server_relative_url",
  "filename",
  "file_type",
  "file_size",
  "last_modified_utc",
  "last_modified_timestamp",
  "embedded_utc",
  "source_id",
  "source_type",
]);

export function formatMetadataEntry(entry: MetadataEntry): JsonObject {
  return {
    sharepoint_listitem_id: entry.listItemId,
    sharepoint_unique_file_id: entry.itemId,
    openai_file_id: entry.fileId,
    ...formatLabel(entry),
    embedded_utc: entry.embeddedAt,
    source_id: entry.sourceId,
    source_type: entry.sourceType,
  };
}

/** What can change without the content: a rename, a move, or a touch that only moves the time. */
export function formatLabel(entry: MetadataEntry): JsonObject {
  return {
    file_relative_path: entry.file.replaceAll("/", "\\"),
    url: entry.url,
    raw_url: entry.rawUrl,
    server_relative_url: entry.serverPath,
    filename: entry.name,
    file_type: entry.fileType,
    file_size: entry.size,
    last_modified_utc: entry.modifiedAt,
    last_modified_timestamp: toUnixSeconds(entry.modifiedAt),
  };
}

export function customProperties(json: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(json).filter(([key]) => !STANDARD_FIELDS.has(key)));
}

/** "" when the element is no entry. Ids of older files may carry stray white space. */
export function fileIdOf(json: unknown): string {
  return textOf(json, "openai_file_id");
}

export function itemIdOf(json: unknown): string {
  return textOf(json, "sharepoint_unique_file_id");
}

export function embeddedAtOf(json: JsonObject): string {
  return textOf(json, "embedded_utc");
}

function textOf(json: unknown, key: string): string {
  const value = isJsonObject(json) ? json[key] : undefined;
  return typeof value === "string" ? value.trim() : "";
}
