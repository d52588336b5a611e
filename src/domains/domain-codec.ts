import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { BadInputError } from "../contracts/errors.ts";
import type { DomainId, SourceId, VectorStoreId } from "../contracts/ids.ts";
import type { SourceKind, SourceKinds } from "../contracts/source-kind.ts";
import { findCronProblem } from "../lib/cron.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { formatSource, parseSource } from "./source-codec.ts";

/**
 * Reads a `domain.json`. Keys that are not ours are left alone here and kept by `mergeDomain`. Throws BadInputError
 * with everything that keeps it from being used.
 */
export function parseDomain(json: unknown, id: DomainId, kinds: SourceKinds): Domain {
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
    ...findSchedule(json["schedule"]),
    sources: kinds.all.flatMap((kind) => parseSources(kind, json[kind.type] ?? [], problems)),
  };
  checkTogether(domain.sources, problems);
  if (problems.length > 0) throw new BadInputError(`Cannot read domain '${id}': ${problems.join(" ")}`);
  return domain;
}

/** The `domain.json` after the change. Whatever else the earlier one holds, in the domain and in its sources, stays. */
export function mergeDomain(domain: Domain, earlier: JsonObject | undefined, kinds: SourceKinds): JsonObject {
  return {
    ...earlier,
    name: domain.name,
    description: domain.description,
    vector_store_name: domain.vectorStoreName,
    vector_store_id: domain.vectorStoreId,
    ...scheduleAfter(domain, earlier),
    ...formatSources(domain, kinds, earlier),
  };
}

/** The domain as the endpoints show it: its id, and what we know of its `domain.json`. */
export function formatDomain(domain: Domain, kinds: SourceKinds): JsonObject {
  return {
    domain_id: domain.domainId,
    name: domain.name,
    description: domain.description,
    vector_store_name: domain.vectorStoreName,
    vector_store_id: domain.vectorStoreId,
    schedule: domain.schedule,
    ...formatSources(domain, kinds),
  };
}

function formatSources(domain: Domain, kinds: SourceKinds, earlier: JsonObject = {}): JsonObject {
  const before = (type: string, id: string): JsonObject | undefined =>
    asArray(earlier[type])
      .filter(isJsonObject)
      .find((source) => source["source_id"] === id);
  const arrays = kinds.all.flatMap(({ type, isInEveryDomain }) => {
    const sources = domain.sources.filter(({ sourceType }) => sourceType === type);
    if (!isInEveryDomain && sources.length === 0 && !(type in earlier)) return [];
    return [[type, sources.map((source) => formatSource(source, before(type, source.sourceId)))] as const];
  });
  return Object.fromEntries(arrays);
}

/** One that cannot be kept is none: everything but the unattended crawls goes on, and people are told. */
function findSchedule(value: unknown = ""): Pick<Domain, "schedule" | "scheduleProblem"> {
  const problems: string[] = [];
  if (typeof value !== "string") problems.push("'schedule' must be text.");
  const schedule = readSchedule(String(value), problems);
  const [scheduleProblem] = problems;
  return scheduleProblem ? { schedule: "", scheduleProblem } : { schedule };
}

/** What somebody wrote by hand and nobody can read stays until it is replaced. */
function scheduleAfter({ schedule, scheduleProblem }: Domain, earlier: JsonObject | undefined): JsonObject {
  if (schedule) return { schedule };
  return earlier?.["schedule"] === undefined || scheduleProblem ? {} : { schedule };
}

/** With one blank between its fields. */
export function readSchedule(text: string, problems: string[]): string {
  const schedule = text.trim().replaceAll(/\s+/g, " ");
  const problem = schedule && findCronProblem(schedule);
  if (problem) problems.push(`'schedule' ${problem}; got '${schedule.slice(0, 60)}'.`);
  return schedule;
}

export function parseSources(kind: SourceKind, value: unknown, problems: string[]): SourceConfig[] {
  if (!Array.isArray(value)) {
    problems.push(`${kind.type} must be an array.`);
    return [];
  }
  const sources: SourceConfig[] = [];
  for (const [index, element] of value.entries()) {
    const source = parseSource(kind, element, `${kind.type}[${index}]`, problems);
    if (source) sources.push(source);
  }
  return sources;
}

/** What sources of one domain may not share. */
export function checkTogether(sources: readonly SourceConfig[], problems: string[]): void {
  const ids = new Set<string>();
  const places = new Map<string, SourceId>();
  for (const source of sources) {
    const { sourceId, kind } = source;
    // Ids name folders, and some disks do not tell upper from lower case.
    const id = sourceId.toLowerCase();
    if (ids.has(id)) {
      problems.push(`source_id '${sourceId}' is used more than once; it must be unique within the domain.`);
    }
    ids.add(id);
    if (!kind.abilities.isTakenOnce) continue;
    const place = kind.describePlace(source);
    const other = places.get(place);
    if (other !== undefined) {
      problems.push(
        `Sources '${other}' and '${sourceId}' are both ${place}: every file would be found twice. Put the rules of both into one source; or give one of them a folder or prefix below it, and exclude that in the other.`,
      );
    }
    places.set(place, sourceId);
  }
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
