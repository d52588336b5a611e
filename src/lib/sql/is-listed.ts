import type { Sql } from "./sql.ts";
import { storableText } from "./storable-text.ts";

/**
 * A condition that holds for rows whose `column` is one of a list of any length, given as one JSON array in the placeholder
 * `place`, so that the text of the statement, and with it its plan, is the same for every length.
 */
export function isListed(sql: Sql, column: string, place: string, type: "text" | "integer"): string {
  if (sql.dialect === "sqlite") return `${column} IN (SELECT value FROM json_each(${place}))`;
  const elements = `SELECT jsonb_array_elements_text(${place}::jsonb)`;
  return `${column} = ANY (ARRAY(${elements})${type === "integer" ? "::bigint[]" : ""})`;
}

/** The value for the placeholder. PostgreSQL refuses JSON with what it cannot keep, and nothing stored has it. */
export function listOf(values: readonly (string | number)[]): string {
  return JSON.stringify(values.map((value) => (typeof value === "string" ? storableText(value) : value)));
}

/** The values for the placeholder of a statement that is run for one part of a long list after another. */
export function* listsOf(values: readonly (string | number)[], size = 1000): Generator<string> {
  for (let from = 0; from < values.length; from += size) yield listOf(values.slice(from, from + size));
}
