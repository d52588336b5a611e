import { DEFAULT_LIMITS, type RemovalLimits, type SourceConfig } from "../contracts/domain.ts";
import { explain } from "../contracts/errors.ts";
import { parseSourceId, type SourceId } from "../contracts/ids.ts";
import type { SourceKind } from "../contracts/source-kind.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { readCount, readFlag, unusualFields } from "../lib/read-fields.ts";

const REMOVALS = { usual: DEFAULT_LIMITS.maxRemovals, min: 0, max: Number.MAX_SAFE_INTEGER };
const LIMIT_FIELDS: readonly string[] = ["max_removals", "max_removals_percent", "allow_empty"];

export function sourceFields(kind: SourceKind): readonly string[] {
  return [...ownFields(kind), ...LIMIT_FIELDS];
}

/** What a source is told by, besides the limits. */
function ownFields({ fields }: SourceKind): readonly string[] {
  return ["source_id", ...fields.map(({ name }) => name)];
}

/**
 * Reads one element of a source array. Everything wrong with it goes to `problems`, each naming the field as `where`. One that
 * somebody still types may be unfinished, as far as its kind lets it.
 */
export function parseSource(
  kind: SourceKind,
  value: unknown,
  where: string,
  problems: string[],
  { isUnfinished = false } = {},
): SourceConfig | undefined {
  if (!isJsonObject(value)) {
    problems.push(`${where} must be an object with ${ownFields(kind).join(", ")}.`);
    return undefined;
  }
  const before = problems.length;
  const sourceId = readSourceId(value["source_id"], where, problems);
  const limits = readLimits(value, where, problems);
  const own = (isUnfinished && kind.parseUnfinished?.(value, where, problems)) || kind.parse(value, where, problems);
  return problems.length === before ? { kind, sourceId, sourceType: kind.type, ...own, limits } : undefined;
}

/** The source as JSON. Fields of the earlier version that are not ours stay; limits are written when set or there before. */
export function formatSource(source: SourceConfig, earlier: JsonObject = {}): JsonObject {
  const { limits } = source;
  const usual = DEFAULT_LIMITS;
  const unusual = unusualFields(
    [
      ["max_removals", limits.maxRemovals, usual.maxRemovals],
      ["max_removals_percent", limits.maxRemovalsPercent, usual.maxRemovalsPercent],
      ["allow_empty", limits.allowEmpty, usual.allowEmpty],
    ],
    earlier,
  );
  return { ...earlier, source_id: source.sourceId, ...source.kind.format(source, earlier), ...unusual };
}

/** One that was taken out of its domain: more than its id is not known any more. */
export function retiredConfig(kind: SourceKind, sourceId: SourceId): SourceConfig {
  return { kind, sourceId, sourceType: kind.type, ...kind.unknown, limits: DEFAULT_LIMITS };
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
