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
