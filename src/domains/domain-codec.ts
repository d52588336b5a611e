import type { Domain, FileSourceConfig } from "../contracts/domain.ts";
import { BadInputError } from "../contracts/errors.ts";
import type { DomainId, VectorStoreId } from "../contracts/ids.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { formatFileSource, parseFileSource } from "./source-codec.ts";

/** Arrays of sources in `domain.json`. Of those we do not crawl only the ids are looked at. */
const SOURCE_ARRAYS = ["file_sources", "list_sources", "sitepage_sources"] as const;

/**
 * Reads a `domain.json`. Keys that are not ours are left alone here and kept by `mergeDomain`. Throws BadInputError
 * with everything that keeps it from being used.
 */
export function parseDomain(json: unknown, id: DomainId): Domain {
  if (!isJsonObject(json)) throw new BadInputError(`Cannot read domain '${id}': domain.json must hold a JSON object.`);
  const problems: string[] = [];
  const text = (key: string): string => {
    const value = json[key] ?? "";
    if (typeof value !== "string") problems.push(`${key} must be text.`);
    return String(value);
  };
  const domain: Domain = {
    domainId: id,
    name: text("name") || id,
    description: text("description"),
    vectorStoreName: text("vector_store_name") || id,
    vectorStoreId: text("vector_store_id") as VectorStoreId | "",
    sources: parseSources(json["file_sources"] ?? [], problems),
  };
  checkUniqueIds(
    SOURCE_ARRAYS.flatMap((key) => sourceIds(json[key])),
    problems,
  );
  if (problems.length > 0) throw new BadInputError(`Cannot read domain '${id}': ${problems.join(" ")}`);
  return domain;
}

/** The `domain.json` after the change. Whatever else the earlier one holds, in the domain and in its sources, stays. */
export function mergeDomain(domain: Domain, earlier: JsonObject | undefined): JsonObject {
  const earlierSources = new Map<unknown, JsonObject>();
  for (const source of asArray(earlier?.["file_sources"])) {
    if (isJsonObject(source)) earlierSources.set(source["source_id"], source);
  }
  return {
    ...earlier,
    name: domain.name,
    description: domain.description,
    vector_store_name: domain.vectorStoreName,
    vector_store_id: domain.vectorStoreId,
    file_sources: domain.sources.map((source) => formatFileSource(source, earlierSources.get(source.sourceId))),
    ...(earlier ? {} : { list_sources: [], sitepage_sources: [] }),
  };
}

/** The domain as the endpoints show it: its id, and what we know of its `domain.json`. Lists and pages are not read yet, so nothing is said of them. */
export function formatDomain(domain: Domain): JsonObject {
  return {
    domain_id: domain.domainId,
    name: domain.name,
    description: domain.description,
    vector_store_name: domain.vectorStoreName,
    vector_store_id: domain.vectorStoreId,
    file_sources: domain.sources.map((source) => formatFileSource(source)),
  };
}

export function parseSources(value: unknown, problems: string[]): FileSourceConfig[] {
  if (!Array.isArray(value)) {
    problems.push("file_sources must be an array.");
    return [];
  }
  const sources: FileSourceConfig[] = [];
  for (const [index, element] of value.entries()) {
    const source = parseFileSource(element, `file_sources[${index}]`, problems);
    if (source) sources.push(source);
  }
  return sources;
}

/** Source ids name folders, and some disks do not tell upper from lower case. */
export function checkUniqueIds(ids: readonly string[], problems: string[]): void {
  const seen = new Set<string>();
  for (const id of ids) {
    const key = id.toLowerCase();
    if (seen.has(key)) problems.push(`source_id '${id}' is used more than once; it must be unique within the domain.`);
    seen.add(key);
  }
}

function sourceIds(value: unknown): string[] {
  const ids = asArray(value).map((source) => (isJsonObject(source) ? source["source_id"] : undefined));
  return ids.filter((id) => typeof id === "string");
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
