import { type Domain, SOURCE_TYPES, type SourceConfig } from "../contracts/domain.ts";
import { BadInputError, explain } from "../contracts/errors.ts";
import { type DomainId, parseDomainId, type VectorStoreId } from "../contracts/ids.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { checkUniqueIds, parseSources } from "./domain-codec.ts";
import { sourceFields } from "./source-codec.ts";

const DOMAIN_FIELDS: readonly string[] = [
  "domain_id",
  "name",
  "description",
  "vector_store_name",
  "vector_store_id",
  ...SOURCE_TYPES,
  "sources_json",
];

/**
 * The domain that somebody asks for: a new one, or `existing` with changes. What is absent keeps its value in a
 * change; in a new domain only `domain_id` and `name` are required. All problems are told at once.
 */
export function parseDomainInput(body: unknown, existing?: Domain): Domain {
  if (!isJsonObject(body)) throw new BadInputError("The body must be a JSON object or form fields.");
  const problems: string[] = [];
  const text = (key: string): string | undefined => readText(body, key, problems);
  const domainId = readDomainId(body, existing, problems);
  const name = text("name")?.trim() ?? existing?.name ?? "";
  if (name === "") problems.push("Missing required field: name.");
  const domain: Domain = {
    domainId,
    name,
    description: text("description") ?? existing?.description ?? "",
    vectorStoreName: (text("vector_store_name")?.trim() ?? existing?.vectorStoreName ?? "") || domainId,
    vectorStoreId: (text("vector_store_id")?.trim() ?? existing?.vectorStoreId ?? "") as VectorStoreId | "",
    sources: readSources(body, existing?.sources ?? [], problems),
  };
  refuseUnknown(body, DOMAIN_FIELDS, "", problems);
  checkUniqueIds(
    domain.sources.map((source) => source.sourceId),
    problems,
  );
  if (problems.length > 0) throw new BadInputError(problems.join(" "));
  return domain;
}

function readDomainId(body: JsonObject, existing: Domain | undefined, problems: string[]): DomainId {
  const text = readText(body, "domain_id", problems);
  if (existing) {
    if (text !== undefined && text !== "" && text !== existing.domainId) {
      problems.push(`'domain_id' cannot be changed: the domain is called '${existing.domainId}'.`);
    }
    return existing.domainId;
  }
  if (text === undefined || text === "") {
    problems.push("Missing required field: domain_id.");
    return "" as DomainId;
  }
  try {
    return parseDomainId(text);
  } catch (error) {
    problems.push(explain(error));
    return "" as DomainId;
  }
}

/** An array replaces the sources of its kind; `sources_json` replaces all. An empty one is an unfilled form field and says nothing. */
function readSources(body: JsonObject, existing: readonly SourceConfig[], problems: string[]): SourceConfig[] {
  const packed = readText(body, "sources_json", problems)?.trim();
  if (!packed) return readSourceArrays(body, existing, problems);
  if (SOURCE_TYPES.some((key) => key in body)) {
    problems.push("Give the sources either as arrays or as 'sources_json', not both.");
  }
  const json = parseJson(packed);
  if (!isJsonObject(json)) {
    problems.push(`'sources_json' must be a JSON object like {"file_sources": [...]}.`);
    return [];
  }
  refuseUnknown(json, SOURCE_TYPES, "sources_json", problems);
  return readSourceArrays(json, [], problems);
}

function readSourceArrays(json: JsonObject, existing: readonly SourceConfig[], problems: string[]): SourceConfig[] {
  return SOURCE_TYPES.flatMap((type) => {
    const value = json[type];
    if (value === undefined) return existing.filter(({ sourceType }) => sourceType === type);
    for (const [index, source] of Array.isArray(value) ? value.entries() : []) {
      if (isJsonObject(source)) refuseUnknown(source, sourceFields(type), `${type}[${index}]`, problems);
    }
    return parseSources(type, value, problems);
  });
}

function refuseUnknown(json: JsonObject, accepted: readonly string[], where: string, problems: string[]): void {
  const unknown = Object.keys(json).filter((key) => !accepted.includes(key));
  if (unknown.length === 0) return;
  const names = unknown.map((key) => `'${key.slice(0, 60)}'`).join(", ");
  problems.push(`Unknown field ${names}${where && ` in ${where}`}. Accepted: ${accepted.join(", ")}.`);
}

function readText(body: JsonObject, key: string, problems: string[]): string | undefined {
  const value = body[key];
  if (value === undefined) return undefined;
  if (typeof value === "string") return value;
  problems.push(`'${key}' must be text.`);
  return "";
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
