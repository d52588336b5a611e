import { BadInputError } from "../../contracts/errors.ts";
import { type JsonSchema, trueOrFalse, type Value } from "./values.ts";

export interface Parameter<T> {
  readonly value: Value<unknown>;
  readonly description: string;
  readonly presence: "required" | "optional";
  /** The value of an absent parameter; undefined if it has none. */
  readonly fallback: T | undefined;
  /** Instead of "Missing 'x'." */
  readonly missing?: string;
}

export type Parameters = Readonly<Record<string, Parameter<unknown>>>;

export type Arguments<P extends Parameters> = {
  readonly [Name in keyof P]: P[Name] extends Parameter<infer T> ? T : never;
};

export function required<T>(value: Value<T>, description: string, missing?: string): Parameter<T> {
  const parameter = { value, description, presence: "required", fallback: undefined } as const;
  return missing === undefined ? parameter : { ...parameter, missing };
}

export function optional<T>(value: Value<T>, description: string): Parameter<T | undefined> {
  return { value, description, presence: "optional", fallback: undefined };
}

export function withDefault<T>(value: Value<T>, fallback: T, description: string): Parameter<T> {
  return { value, description, presence: "optional", fallback };
}

export const dryRun = withDefault(trueOrFalse, false, "true only tells what would be done.");

/** Describes an object with these parameters as its properties. */
export function objectSchema(parameters: Parameters, unknown: ReadingRule["unknown"]): JsonSchema {
  const rows = Object.entries(parameters);
  const required = rows.filter(([, { presence }]) => presence === "required").map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(
      rows.map(([name, { value, description, fallback }]) => [
        name,
        { ...withFallback(value.schema, fallback), description },
      ]),
    ),
    ...(required.length > 0 && { required }),
    additionalProperties: unknown === "tolerated",
  };
}

export function withFallback(schema: JsonSchema, fallback: unknown): JsonSchema {
  return fallback === undefined ? schema : { ...schema, default: fallback };
}

export interface ReadingRule {
  readonly unknown: "refused" | "tolerated";
  /** What errors call one of them. */
  readonly noun: "parameter" | "field" | "argument";
  /** Names that are accepted besides, and read elsewhere. */
  readonly besides?: readonly string[];
}

/** Reads what was given as the parameters declare it. Throws BadInputError at the first problem. */
export function readParameters<P extends Parameters>(
  parameters: P,
  given: ReadonlyMap<string, unknown>,
  rule: ReadingRule,
): Arguments<P> {
  if (rule.unknown === "refused") refuseUnknown(parameters, given, rule);
  const args: Record<string, unknown> = {};
  for (const [name, parameter] of Object.entries(parameters)) args[name] = readOne(name, parameter, given.get(name));
  return args as Arguments<P>;
}

function refuseUnknown(
  parameters: Parameters,
  given: ReadonlyMap<string, unknown>,
  { noun, besides = [] }: ReadingRule,
): void {
  const accepted = Object.keys(parameters);
  for (const name of given.keys()) {
    if (accepted.includes(name)) continue;
    const all = [...accepted, ...besides].join(", ");
    throw new BadInputError(`Unknown ${noun} '${shorten(name)}'. ${all ? `Accepted: ${all}.` : `None is accepted.`}`);
  }
}

function readOne(name: string, parameter: Parameter<unknown>, raw: unknown): unknown {
  if (parameter.presence === "required" && (raw === undefined || raw === "")) {
    throw new BadInputError(parameter.missing ?? `Missing '${name}'.`);
  }
  if (raw === undefined) return parameter.fallback;
  const value = parameter.value.read(raw);
  if (value !== undefined) return value;
  // Forms send every field, filled in or not. But `dry_run=` is refused: it must not mean "no" by accident.
  if (raw === "" && parameter.fallback === undefined) return undefined;
  const got = typeof raw === "object" ? JSON.stringify(raw) : String(raw);
  throw new BadInputError(`'${name}' must be ${parameter.value.accepts}; got '${shorten(got)}'.`);
}

export function shorten(value: string): string {
  return value.length > 80 ? `${value.slice(0, 80)}…` : value;
}
