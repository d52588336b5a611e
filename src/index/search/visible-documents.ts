import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { Selection } from "../storage/store.ts";
import type { DocumentCondition } from "./document-condition.ts";

/** A passage that thousands of documents have needs no more of them than can be named. */
const MAX_PER_BODY = 20;

/** Answers which documents a search may return, for the few it has found: the store may have millions. */
export class VisibleDocuments {
  readonly #sql: Sql;
  readonly #condition: DocumentCondition;
  readonly #ofBody = new Map<number, number[]>();

  constructor(sql: Sql, condition: DocumentCondition) {
    this.#sql = sql;
    this.#condition = condition;
  }

  /** The documents of each of these bodies, by rising id; none for a body that nothing visible has. */
  async ofBodies(bodyIds: readonly number[]): Promise<ReadonlyMap<number, readonly number[]>> {
    const missing = [...new Set(bodyIds)].filter((id) => !this.#ofBody.has(id));
    if (missing.length > 0) {
      for (const id of missing) this.#ofBody.set(id, []);
      for (const { id, bodyId } of await this.#select("d.body_id", missing)) this.#ofBody.get(bodyId)?.push(id);
    }
    return this.#ofBody;
  }

  /** Those of these documents that are visible, with their bodies. */
  async among(documentIds: readonly number[]): Promise<ReadonlyMap<number, number>> {
    if (documentIds.length === 0) return new Map();
    const rows = await this.#select("d.id", documentIds);
    return new Map(rows.map(({ id, bodyId }) => [id, bodyId]));
  }

  /** For indexes that can leave out the others by themselves. */
  select(column: "id" | "body_id"): Selection {
    return { sql: `SELECT d.${column} FROM documents d WHERE ${this.#condition.sql}`, values: this.#condition.values };
  }

  #select(column: string, ids: readonly number[]): Promise<{ id: number; bodyId: number }[]> {
    const { sql, values } = this.#condition;
    const listed = isListed(this.#sql, column, `$${values.length + 1}`, "integer");
    return this.#sql.all(
      `SELECT id, "bodyId" FROM (
         SELECT d.id, d.body_id AS "bodyId", row_number() OVER (PARTITION BY ${column} ORDER BY d.id) AS place
         FROM documents d WHERE ${listed} AND ${sql}) found
       WHERE place <= ${MAX_PER_BODY} ORDER BY id`,
      [...values, listOf(ids)],
    );
  }
}
