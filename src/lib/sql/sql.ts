/** Integers beyond 2^53 are not used; neither are booleans, which are integers in SQLite. */
export type SqlValue = string | number | null | Uint8Array;
export type Values = readonly SqlValue[];

/**
 * Statements for a relational database, written once for SQLite and PostgreSQL. Placeholders are `$1`, `$2`, …, each of
 * which may occur more than once. Numbers come back as numbers, bytes as Uint8Array.
 */
export interface Sql {
  readonly dialect: "sqlite" | "postgres";
  all<Row>(text: string, values?: Values): Promise<Row[]>;
  /** The same with each row as an array in column order: for many or wide rows, where objects take twice the time. */
  rows(text: string, values?: Values): Promise<SqlValue[][]>;
  /** Returns the first row. */
  get<Row>(text: string, values?: Values): Promise<Row | undefined>;
  /** Returns the number of changed rows. */
  run(text: string, values?: Values): Promise<number>;
  /**
   * `INSERT INTO <into> VALUES …` for all rows, in as few statements as the database likes, followed by `suffix` (such
   * as `ON CONFLICT DO NOTHING`). `into` names table and columns: `chunks (id, body_id, text)`.
   */
  insert(into: string, rows: readonly Values[], suffix?: string): Promise<void>;
}

/** A database that several processes may have open. */
export interface SqlDatabase extends Sql {
  /**
   * Runs `work` in a transaction. Only one runs at a time in a SQLite file, so await nothing but statements in it. It must use the Sql it
   * is given: the database itself would wait for its end.
   */
  write<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Everything read inside sees the same snapshot, whatever is committed meanwhile. */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The tables of a database, and the upgrades from earlier versions. */
export interface Schema {
  readonly version: number;
  readonly sql: string;
  /** Keyed by the version they start from: the SQL to the next one. */
  readonly upgrades?: ReadonlyMap<number, string>;
}

/** Returns the steps from `version` to the newest; the whole schema for an empty database. */
export function stepsTo(schema: Schema, version: number, what: string): readonly string[] {
  if (version === 0) return [schema.sql];
  if (version > schema.version) {
    throw new Error(
      `${what} was written by a newer release (format ${version}, this one knows ${schema.version}); update lockstep`,
    );
  }
  const steps: string[] = [];
  for (let from = version; from < schema.version; from++) {
    const sql = schema.upgrades?.get(from);
    if (sql === undefined) throw new Error(`format ${version} is not known to this release (${schema.version})`);
    steps.push(sql);
  }
  return steps;
}

/**
 * Returns a condition for rows whose `column` is in a list of any length, given as one JSON array in the placeholder `place`, so that the
 * statement's text, and its plan, are the same for every length.
 */
export function isListed(sql: Sql, column: string, place: string, type: "text" | "integer"): string {
  if (sql.dialect === "sqlite") return `${column} IN (SELECT value FROM json_each(${place}))`;
  const elements = `SELECT jsonb_array_elements_text(${place}::jsonb)`;
  return `${column} = ANY (ARRAY(${elements})${type === "integer" ? "::bigint[]" : ""})`;
}

/** Returns the value for the placeholder. PostgreSQL refuses JSON with characters it cannot store, and nothing stored has them. */
export function listOf(values: readonly (string | number)[]): string {
  return JSON.stringify(values.map((value) => (typeof value === "string" ? storableText(value) : value)));
}

/** Yields the values for a statement that is run for one part of a long list after another. */
export function* listsOf(values: readonly (string | number)[], size = 1000): Generator<string> {
  for (const slice of slicesOf(values, size)) yield listOf(slice);
}

/** Returns the suffix of an INSERT that replaces rows with the same key; `columns` are all others. */
export function replacing(key: string, columns: string): string {
  const sets = columns.split(", ").map((name) => `${name} = excluded.${name}`);
  return `ON CONFLICT (${key}) DO UPDATE SET ${sets.join(", ")}`;
}

/** Reads page after page, each after the number of the previous page's last row. None is empty. */
export async function* readPages<Row>(
  size: number,
  numberOf: (row: Row) => number,
  read: (after: number) => Promise<Row[]>,
): AsyncGenerator<Row[], void> {
  for (let after = 0; ; ) {
    const rows = await read(after);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < size) return;
    after = numberOf(last);
  }
}

/** Replaces what no database can store as text (NUL, lone surrogates) by the replacement character. */
export function storableText(text: string): string {
  return (text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text).toWellFormed();
}

import { slicesOf } from "../slices-of.ts";
