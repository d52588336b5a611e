import type { EntrySummary } from "../../contracts/files-metadata.ts";
import type { DomainId } from "../../contracts/ids.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { parseExactly } from "../../lib/json-file.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { toUnixSeconds } from "../../lib/time.ts";
import { belowDomain, type EmbeddedFile, fromDomain, NO_PROPERTIES } from "../embedded-files.ts";

/** Every other field of an entry is a property of the user. */
const STANDARD_FIELDS: ReadonlySet<string> = new Set([
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

/** The element of the array; its numbers are as exact as `parse` makes them. */
export function encodeEntry(file: EmbeddedFile, domainId: DomainId, parse: (text: string) => unknown): unknown {
  const properties = file.properties === NO_PROPERTIES ? {} : parse(file.properties);
  if (!isJsonObject(properties)) return properties;
  const { name, modified_at: modifiedAt, path } = file;
  const entry: JsonObject = {
    sharepoint_listitem_id: file.list_item_id,
    sharepoint_unique_file_id: file.item_id,
    openai_file_id: file.file_id || null,
    file_relative_path: path === null ? null : fromDomain(path, domainId).replaceAll("/", "\\"),
    url: file.url,
    raw_url: file.raw_url,
    server_relative_url: file.server_path,
    filename: name,
    file_type: name === null ? null : fileTypeOf(name),
    file_size: file.size,
    last_modified_utc: modifiedAt,
    last_modified_timestamp: modifiedAt === null ? null : toUnixSeconds(modifiedAt),
    embedded_utc: file.embedded_at,
    source_id: file.source_id,
    source_type: file.source_type,
  };
  for (const key of STANDARD_FIELDS) if (entry[key] === null) delete entry[key];
  return { ...entry, ...properties };
}

/** As it stands in the file, two spaces deep. */
export function formatEntry(file: EmbeddedFile, domainId: DomainId): string {
  return JSON.stringify(encodeEntry(file, domainId, parseExactly), null, 2).replaceAll("\n", "\n  ");
}

/** BadInputError when the element is not well-formed. Ids of older files may carry stray white space. */
export function decodeEntry(text: string, domainId: DomainId): EmbeddedFile {
  const json = parseExactly(text);
  if (!isJsonObject(json)) return { ...decodeEntry("{}", domainId), properties: JSON.stringify(json) };
  const textOf = (key: string): string | null => (typeof json[key] === "string" ? json[key] : null);
  const numberOf = (key: string): number | null => (Number.isFinite(json[key]) ? (json[key] as number) : null);
  const [sourceId, sourceType] = [textOf("source_id"), textOf("source_type")];
  const path = textOf("file_relative_path")?.replaceAll("\\", "/");
  const listItemId = numberOf("sharepoint_listitem_id");
  const properties = Object.entries(json).filter(([key]) => !STANDARD_FIELDS.has(key));
  return {
    file_id: textOf("openai_file_id")?.trim() ?? "",
    item_id: textOf("sharepoint_unique_file_id")?.trim() ?? null,
    list_item_id: Number.isSafeInteger(listItemId) ? listItemId : null,
    path: path === undefined ? null : belowDomain(path, domainId, sourceId ?? ""),
    url: textOf("url"),
    raw_url: textOf("raw_url"),
    server_path: textOf("server_relative_url"),
    name: textOf("filename"),
    size: numberOf("file_size"),
    modified_at: textOf("last_modified_utc"),
    embedded_at: textOf("embedded_utc")?.trim() ?? null,
    source_id: sourceId,
    source_type: sourceType,
    properties: JSON.stringify(Object.fromEntries(properties)),
  };
}

export function summariseEntry({ file_id, item_id, name, embedded_at, properties }: EmbeddedFile): EntrySummary {
  const own: unknown = JSON.parse(properties);
  return {
    fileId: file_id,
    itemId: item_id ?? "",
    name: name ?? "",
    embeddedAt: embedded_at ?? "",
    properties: isJsonObject(own) ? Object.keys(own) : [],
  };
}
