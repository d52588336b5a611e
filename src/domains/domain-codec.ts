import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { BadInputError } from "../contracts/errors.ts";
import type { DomainId, SourceId, VectorStoreId } from "../contracts/ids.ts";
import type { SourceKind, SourceKinds } from "../contracts/source-kind.ts";
import { findCronProblem } from "../lib/cron.ts";
import { parseDuration } from "../lib/duration.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { formatSource, parseSource } from "./source-codec.ts";

/**
 * Parses a `domain.json`. Unknown keys are ignored here and kept by `mergeDomain`. Throws BadInputError with all
 * problems.
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
    ...maxAgeIn(text("max_age"), problems),
    sources: kinds.all.flatMap((kind) => parseSources(kind, json[kind.type] ?? [], problems)),
  };
  checkTogether(domain.sources, problems);
  if (problems.length > 0) throw new BadInputError(`Cannot read domain '${id}': ${problems.join(" ")}`);
  return domain;
}

/** Returns the `domain.json` after a change. Other keys of the earlier one, in the domain and in its sources, stay. */
export function mergeDomain(domain: Domain, earlier: JsonObject | undefined, kinds: SourceKinds): JsonObject {
  return {
    ...earlier,
    name: domain.name,
    description: domain.description,
    vector_store_name: domain.vectorStoreName,
    vector_store_id: domain.vectorStoreId,
    ...scheduleAfter(domain, earlier),
    ...(domain.maxAge || earlier?.["max_age"] !== undefined ? { max_age: domain.maxAge ?? "" } : {}),
    ...formatSources(domain, kinds, earlier),
  };
}

/** Returns the domain as the endpoints show it: its id, and the known keys of its `domain.json`. */
export function formatDomain(domain: Domain, kinds: SourceKinds): JsonObject {
  return {
    domain_id: domain.domainId,
    name: domain.name,
    description: domain.description,
    vector_store_name: domain.vectorStoreName,
    vector_store_id: domain.vectorStoreId,
    schedule: domain.schedule,
    ...(domain.maxAge && { max_age: domain.maxAge }),
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

/** An invalid schedule counts as none: only the scheduled crawls stop, and `scheduleProblem` is shown. */
function findSchedule(value: unknown = ""): Pick<Domain, "schedule" | "scheduleProblem"> {
  const problems: string[] = [];
  if (typeof value !== "string") problems.push("'schedule' must be text.");
  const schedule = readSchedule(String(value), problems);
  const [scheduleProblem] = problems;
  return scheduleProblem ? { schedule: "", scheduleProblem } : { schedule };
}

/** An invalid schedule stays in the file until it is replaced. */
function scheduleAfter({ schedule, scheduleProblem }: Domain, earlier: JsonObject | undefined): JsonObject {
  if (schedule) return { schedule };
  return earlier?.["schedule"] === undefined || scheduleProblem ? {} : { schedule };
}

/** Returns the schedule with one blank between its fields. */
export function readSchedule(text: string, problems: string[]): string {
  const schedule = text.trim().replaceAll(/\s+/g, " ");
  const problem = schedule && findCronProblem(schedule);
  if (problem) problems.push(`'schedule' ${problem}; got '${schedule.slice(0, 60)}'.`);
  return schedule;
}

/** Returns the field of the domain: none for an empty text. */
export function maxAgeIn(text: string, problems: string[]): Pick<Domain, "maxAge"> {
  const maxAge = text.trim();
  if (maxAge === "") return {};
  if (parseDuration(maxAge) === undefined) {
    problems.push(`'max_age' must be whole hours or days, like 36h or 7d; got '${maxAge.slice(0, 60)}'.`);
  }
  return { maxAge };
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

/** Checks that the sources of a domain have distinct ids and locations. */
export function checkTogether(sources: readonly SourceConfig[], problems: string[]): void {
  const ids = new Set<string>();
  const locations = new Map<string, SourceId>();
  for (const source of sources) {
    const { sourceId, kind } = source;
    // Ids are folder names, and some disks ignore case.
    const id = sourceId.toLowerCase();
    if (ids.has(id)) {
      problems.push(`source_id '${sourceId}' is used more than once; it must be unique within the domain.`);
    }
    ids.add(id);
    if (!kind.abilities.isTakenOnce) continue;
    const location = kind.describePlace(source);
    const other = locations.get(location);
    if (other !== undefined) {
      problems.push(
        `Sources '${other}' and '${sourceId}' are both ${location}: every file would be found twice. Put the rules of both into one source; or give one of them a folder or prefix below it, and exclude that in the other.`,
      );
    }
    locations.set(location, sourceId);
  }
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
