import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { BadInputError, explain } from "../contracts/errors.ts";
import { type DomainId, parseDomainId, type VectorStoreId } from "../contracts/ids.ts";
import type { SourceKinds } from "../contracts/source-kind.ts";
import { isJsonObject, type JsonObject, parseJson } from "../lib/json-object.ts";
import { checkTogether, maxAgeIn, parseSources, readSchedule } from "./domain-codec.ts";
import { sourceFields } from "./source-codec.ts";

const DOMAIN_FIELDS: readonly string[] = [
  "domain_id",
  "name",
  "description",
  "vector_store_name",
  "vector_store_id",
  "schedule",
  "max_age",
];

/**
 * Parses a request: a new domain, or `existing` with changes. An absent field keeps its value; a new domain requires
 * only `domain_id` and `name`. Reports all problems at once.
 */
export function parseDomainInput(body: unknown, kinds: SourceKinds, existing?: Domain): Domain {
  if (!isJsonObject(body)) throw new BadInputError("The body must be a JSON object or form fields.");
  const problems: string[] = [];
  const text = (key: string): string | undefined => readText(body, key, problems);
  const domainId = readDomainId(body, existing, problems);
  const name = readName(body, "name", problems) ?? existing?.name ?? "";
  if (name === "") problems.push("Missing required field: name.");
  const schedule = text("schedule");
  const domain: Domain = {
    domainId,
    name,
    description: readDescription(body, problems) ?? existing?.description ?? "",
    vectorStoreName: (readName(body, "vector_store_name", problems) ?? existing?.vectorStoreName ?? "") || domainId,
    vectorStoreId: (text("vector_store_id")?.trim() ?? existing?.vectorStoreId ?? "") as VectorStoreId | "",
    schedule: readSchedule(schedule ?? existing?.schedule ?? "", problems),
    ...maxAgeIn(text("max_age") ?? existing?.maxAge ?? "", problems),
    ...(existing?.scheduleProblem && { scheduleProblem: schedule === undefined ? existing.scheduleProblem : "" }),
    sources: readNewSources(body, kinds, existing?.sources ?? [], problems),
  };
  refuseUnknown(body, [...DOMAIN_FIELDS, ...kinds.types, "sources_json"], "", problems);
  checkTogether(domain.sources, problems);
  if (problems.length > 0) throw new BadInputError(problems.join(" "));
  return domain;
}

function readDomainId(body: JsonObject, existing: Domain | undefined, problems: string[]): DomainId {
  // Changing the id is a rename, which has its own endpoint.
  if (existing) return existing.domainId;
  const text = readText(body, "domain_id", problems);
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

type Existing = readonly SourceConfig[];

function readNewSources(body: JsonObject, kinds: SourceKinds, existing: Existing, problems: string[]): SourceConfig[] {
  const sources = readSources(body, kinds, existing, problems);
  for (const kind of kinds.all) {
    const { type } = kind;
    const ofType = (all: Existing): Existing => all.filter(({ sourceType }) => sourceType === type);
    for (const [index, source] of ofType(sources).entries()) {
      const before = ofType(existing).find(({ sourceId }) => sourceId === source.sourceId);
      kind.refuseNew?.(source, before, `${type}[${index}]`, problems);
    }
  }
  return sources;
}

/**
 * An array replaces the sources of its kind; `sources_json` replaces all. An empty `sources_json` is an unfilled form
 * field and is ignored.
 */
function readSources(body: JsonObject, kinds: SourceKinds, existing: Existing, problems: string[]): SourceConfig[] {
  const packed = readText(body, "sources_json", problems)?.trim();
  if (!packed) return readSourceArrays(body, kinds, existing, problems);
  if (kinds.types.some((key) => key in body)) {
    problems.push("Give the sources either as arrays or as 'sources_json', not both.");
  }
  const json = parseJson(packed);
  if (!isJsonObject(json)) {
    problems.push(`'sources_json' must be a JSON object like {"file_sources": [...]}.`);
    return [];
  }
  refuseUnknown(json, kinds.types, "sources_json", problems);
  return readSourceArrays(json, kinds, [], problems);
}

function readSourceArrays(
  json: JsonObject,
  kinds: SourceKinds,
  existing: Existing,
  problems: string[],
): SourceConfig[] {
  return kinds.all.flatMap((kind) => {
    const { type } = kind;
    const value = json[type];
    if (value === undefined) return existing.filter(({ sourceType }) => sourceType === type);
    for (const [index, source] of Array.isArray(value) ? value.entries() : []) {
      if (isJsonObject(source)) refuseUnknown(source, sourceFields(kind), `${type}[${index}]`, problems);
    }
    return parseSources(kind, value, problems);
  });
}

function refuseUnknown(json: JsonObject, accepted: readonly string[], where: string, problems: string[]): void {
  const unknown = Object.keys(json).filter((key) => !accepted.includes(key));
  if (unknown.length === 0) return;
  const names = unknown.map((key) => `'${key.slice(0, 60)}'`).join(", ");
  problems.push(`Unknown field ${names}${where && ` in ${where}`}. Accepted: ${accepted.join(", ")}.`);
}

/** Users recognise a domain by its names: they must not contain characters that hide or reverse text. */
function readName(body: JsonObject, key: string, problems: string[]): string | undefined {
  const name = readText(body, key, problems)?.trim();
  if (name !== undefined && /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u.test(name)) {
    problems.push(
      `'${key}' must be one line of visible characters: no control characters, and none that turn text around (U+202A to U+202E, U+2066 to U+2069).`,
    );
  }
  return name;
}

function readDescription(body: JsonObject, problems: string[]): string | undefined {
  const description = readText(body, "description", problems);
  if (/(?![\n\r\t])\p{Cc}/u.test(description ?? "")) {
    problems.push("'description' must be text without control characters other than line ends and tabs.");
  }
  return description;
}

function readText(body: JsonObject, key: string, problems: string[]): string | undefined {
  const value = body[key];
  if (value === undefined) return undefined;
  if (typeof value === "string") return value;
  problems.push(`'${key}' must be text.`);
  return "";
}
