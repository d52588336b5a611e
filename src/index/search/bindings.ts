import type { SqlValue } from "../../lib/sql/sql.ts";

/** Gathers the values of a statement while its text is being put together. */
export class Bindings {
  readonly values: SqlValue[] = [];

  /** The placeholder to write for it. */
  add(value: SqlValue): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}
