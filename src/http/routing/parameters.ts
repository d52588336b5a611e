import { trueOrFalse, type Value } from "./values.ts";

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
