import {
  isTree,
  type RemovalLimits,
  type SharePointSourceConfig,
  type SourceConfig,
  type SourceType,
} from "../contracts/domain.ts";
import { explain } from "../contracts/errors.ts";
import { parseSourceId, type SourceId } from "../contracts/ids.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { findSiteUrlProblem } from "../lib/site-url.ts";
import { readCount, readFlag } from "./read-fields.ts";
import { BLOB_FIELDS, FOLDER_FIELDS, formatTreePlace, parseBlobPlace, parseFolderPlace } from "./tree-source-codec.ts";
import { formatWebPlace, parseWebPlace, WEB_FIELDS } from "./web-source-codec.ts";

/** What may vanish in one run unconfirmed, where a source says nothing. */
export const DEFAULT_LIMITS: RemovalLimits = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };

const REMOVALS = { usual: DEFAULT_LIMITS.maxRemovals, min: 0, max: Number.MAX_SAFE_INTEGER };

/** What a source of each kind is told by, besides the limits. */
const OWN_FIELDS: Readonly<Record<SourceType, readonly string[]>> = {
  file_sources: ["source_id", "site_url", "sharepoint_url_part", "filter", "drafts"],
  list_sources: ["source_id", "site_url", "list_name", "filter"],
  sitepage_sources: ["source_id", "site_url", "sharepoint_url_part", "filter"],
  web_sources: WEB_FIELDS,
  folder_sources: FOLDER_FIELDS,
  blob_sources: BLOB_FIELDS,
};
const LIMIT_FIELDS: readonly string[] = ["max_removals", "max_removals_percent", "allow_empty"];

export function sourceFields(type: SourceType): readonly string[] {
  return [...OWN_FIELDS[type], ...LIMIT_FIELDS];
}

/** Reads one element of a source array. Everything wrong with it goes to `problems`, each naming the field as `where`. */
export function parseSource(
  type: SourceType,
  value: unknown,
  where: string,
  problems: string[],
): SourceConfig | undefined {
  if (!isJsonObject(value)) {
    problems.push(`${where} must be an object with ${OWN_FIELDS[type].join(", ")}.`);
    return undefined;
  }
  const before = problems.length;
  const sourceId = readSourceId(value["source_id"], where, problems);
  const limits = readLimits(value, where, problems);
  const place = parsePlace(type, value, where, problems);
  return problems.length === before ? { sourceId, ...place, limits } : undefined;
}

type Place<T = SourceConfig> = T extends unknown ? Omit<T, "sourceId" | "limits"> : never;

function parsePlace(type: SourceType, value: JsonObject, where: string, problems: string[]): Place {
  switch (type) {
    case "web_sources":
      return { sourceType: type, ...parseWebPlace(value, where, problems) };
    case "folder_sources":
      return { sourceType: type, ...parseFolderPlace(value, where, problems) };
    case "blob_sources":
      return { sourceType: type, ...parseBlobPlace(value, where, problems) };
    default:
      return parseSharePointPlace(type, value, where, problems);
  }
}

function parseSharePointPlace(
  type: SharePointSourceConfig["sourceType"],
  value: JsonObject,
  where: string,
  problems: string[],
): Place<SharePointSourceConfig> {
  const place = {
    siteUrl: readSiteUrl(value["site_url"], where, problems),
    filter: readText(value["filter"] ?? "", `${where}.filter`, problems),
  };
  if (type === "list_sources") {
    return { ...place, sourceType: type, listName: readListName(value["list_name"], where, problems) };
  }
  const urlPart = readUrlPart(value["sharepoint_url_part"], type, where, problems);
  if (type === "sitepage_sources") return { ...place, sourceType: type, urlPart };
  const drafts = readFlag(value["drafts"], `${where}.drafts`, problems);
  return { ...place, sourceType: type, urlPart, ...(drafts && { drafts }) };
}

/** The source as JSON. Fields of the earlier version that are not ours stay; limits are written when set or there before. */
export function formatSource(source: SourceConfig, earlier: JsonObject = {}): JsonObject {
  const { limits } = source;
  const json: JsonObject = {
    ...earlier,
    source_id: source.sourceId,
    ...formatPlace(source, earlier),
  };
  const set = (key: string, value: number | boolean, usual: number | boolean): void => {
    if (value !== usual || key in earlier) json[key] = value;
  };
  set("max_removals", limits.maxRemovals, DEFAULT_LIMITS.maxRemovals);
  set("max_removals_percent", limits.maxRemovalsPercent, DEFAULT_LIMITS.maxRemovalsPercent);
  set("allow_empty", limits.allowEmpty, DEFAULT_LIMITS.allowEmpty);
  return json;
}

function formatPlace(source: SourceConfig, earlier: JsonObject): JsonObject {
  if (source.sourceType === "web_sources") return formatWebPlace(source, earlier);
  if (isTree(source)) return formatTreePlace(source, earlier);
  const { siteUrl: site_url, filter } = source;
  if (source.sourceType === "list_sources") return { site_url, list_name: source.listName, filter };
  const place = { site_url, sharepoint_url_part: source.urlPart, filter };
  const drafts = source.sourceType === "file_sources" && (source.drafts ?? false);
  return drafts || (source.sourceType === "file_sources" && "drafts" in earlier) ? { ...place, drafts } : place;
}

/** The embedded index keeps files that others attach to a store under this source id. */
const RESERVED_SOURCE_ID = "_direct";

function readSourceId(value: unknown, where: string, problems: string[]): SourceId {
  if (value === RESERVED_SOURCE_ID) {
    problems.push(
      `${where}: source_id '${RESERVED_SOURCE_ID}' is taken by files attached to the vector store directly; choose another.`,
    );
  }
  try {
    return parseSourceId(typeof value === "string" ? value : "");
  } catch (error) {
    problems.push(`${where}: ${explain(error)}`);
    return "" as SourceId;
  }
}

function readSiteUrl(value: unknown, where: string, problems: string[]): string {
  const text = typeof value === "string" ? value.trim() : "";
  const problem = findSiteUrlProblem(text);
  if (problem) problems.push(`${where}.site_url ${problem}.`);
  return text.replace(/\/+$/, "");
}

function readListName(value: unknown, where: string, problems: string[]): string {
  const text = typeof value === "string" ? value.trim() : "";
  if (text === "") problems.push(`${where}.list_name must be the title of the list, like "Project Tasks".`);
  return text;
}

const URL_PART_EXAMPLES = { file_sources: "/Shared Documents", sitepage_sources: "/SitePages" } as const;

function readUrlPart(value: unknown, type: keyof typeof URL_PART_EXAMPLES, where: string, problems: string[]): string {
  const text = typeof value === "string" ? value.trim() : "";
  if (!text.startsWith("/") || /^\/*$/.test(text)) {
    const example = URL_PART_EXAMPLES[type];
    problems.push(`${where}.sharepoint_url_part must begin with "/" and name the library, like "${example}".`);
  } else if (text.split("/").some((part) => part === "." || part === "..")) {
    problems.push(`${where}.sharepoint_url_part must not hold "." or ".." as a folder.`);
  }
  return text.replace(/(?<=.)\/+$/, "");
}

function readText(value: unknown, where: string, problems: string[]): string {
  if (typeof value === "string") return value;
  problems.push(`${where} must be text.`);
  return "";
}

function readLimits(value: JsonObject, where: string, problems: string[]): RemovalLimits {
  return {
    maxRemovals: readCount(value["max_removals"], `${where}.max_removals`, REMOVALS, problems),
    maxRemovalsPercent: readPercent(value["max_removals_percent"], where, problems),
    allowEmpty: readFlag(value["allow_empty"], `${where}.allow_empty`, problems),
  };
}

function readPercent(value: unknown, where: string, problems: string[]): number {
  if (value === undefined) return DEFAULT_LIMITS.maxRemovalsPercent;
  if (typeof value === "number" && value >= 0 && value <= 100) return value;
  problems.push(`${where}.max_removals_percent must be a number from 0 to 100.`);
  return DEFAULT_LIMITS.maxRemovalsPercent;
}
