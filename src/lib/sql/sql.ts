/** Integers beyond 2^53 are not used; booleans are integers in SQLite, so neither are they. */
export type SqlValue = string | number | null | Uint8Array;
export type Values = readonly SqlValue[];

/**
 * Statements for a relational database, written once for SQLite and PostgreSQL. Placeholders are `$1`, `$2`, …, each of
 * which may occur more than once. Numbers come back as numbers, bytes as Uint8Array.
 */
export interface Sql {
  readonly dialect: "sqlite" | "postgres";
  all<Row>(text: string, values?: Values): Promise<Row[]>;
  /** The same with each row as its cells in the order of the columns: for many or wide rows, of which objects take as long again. */
  rows(text: string, values?: Values): Promise<SqlValue[][]>;
  /** The first row. */
  get<Row>(text: string, values?: Values): Promise<Row | undefined>;
  /** How many rows it changed. */
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
   * All of `work` or nothing of it. Only one of them runs at a time in a SQLite file, so let it await nothing but
   * statements. It must use the Sql it is given: the database itself would wait for its end.
   */
  write<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Everything read inside sees the same moment, whoever commits meanwhile. */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The tables of a database, and how to come from an earlier version of them to this one. */
export interface Schema {
  readonly version: number;
  readonly sql: string;
  /** By the version they start from: what makes it the next one. */
  readonly upgrades?: ReadonlyMap<number, string>;
}

/** The steps from `version` to the newest; the whole schema where there is nothing yet. */
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

/** What follows an INSERT of rows that take the place of those with the same key; `columns` are all others. */
export function replacing(key: string, columns: string): string {
  const sets = columns.split(", ").map((name) => `${name} = excluded.${name}`);
  return `ON CONFLICT (${key}) DO UPDATE SET ${sets.join(", ")}`;
}

/** Reads page after page, each behind the number of the last row of the one before. None is empty. */
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

/** What no database can keep as text (NUL, half of a pair of surrogates) becomes the replacement character. */
export function storableText(text: string): string {
  return (text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text).toWellFormed();
}
