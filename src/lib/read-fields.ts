import { isDeepStrictEqual } from "node:util";

/** Reads a list of texts. A form sends it as one text, split at `separator`, which occurs in no item. */
export function readTexts(value: unknown, where: string, separator: RegExp, problems: string[]): readonly string[] {
  if (value === undefined) return [];
  const list = typeof value === "string" ? value.split(separator) : value;
  if (!Array.isArray(list) || list.some((each) => typeof each !== "string")) {
    problems.push(`${where} must be a list of texts.`);
    return [];
  }
  const texts = list.map((each: string) => each.trim()).filter((each) => each !== "");
  return [...new Set(texts)];
}

export interface CountRange {
  readonly usual: number;
  readonly min: number;
  readonly max: number;
}

export function readCount(value: unknown, where: string, { usual, min, max }: CountRange, problems: string[]): number {
  if (value === undefined) return usual;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  problems.push(`${where} must be a whole number from ${min} to ${max}.`);
  return usual;
}

/** Returns false if absent. */
export function readFlag(value: unknown, where: string, problems: string[]): boolean {
  if (value === undefined) return false;
  if (typeof value === "boolean") return value;
  problems.push(`${where} must be true or false.`);
  return false;
}

/** Returns the fields that differ from their default or were there `earlier`: domain.json stays as short as the user wrote it. */
export function unusualFields(
  fields: readonly (readonly [name: string, value: unknown, usual: unknown])[],
  earlier: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const shown = fields.filter(([name, value, usual]) => name in earlier || !isDeepStrictEqual(value, usual));
  return Object.fromEntries(shown.map(([name, value]) => [name, value]));
}
