import type { SQLInputValue } from "node:sqlite";
import type { Database } from "../sqlite/open-database.ts";

/** Which documents a search may return, and by which body each is found. */
export interface VisibleDocuments {
  readonly bodyOf: ReadonlyMap<number, number>;
  readonly documentsOf: ReadonlyMap<number, readonly number[]>;
  /** Indexed by body id: 1 when some visible document has that body. */
  readonly bodies: Uint8Array;
}

/** Reads the visible documents once per visible revision, which every process bumps when it changes what can be seen. */
export class VisibleDocumentsCache {
  readonly #db: Database;
  #revision = -1;
  #visible: VisibleDocuments = gather([]);

  constructor(db: Database) {
    this.#db = db;
  }

  /** To be called inside the transaction that searches. */
  all(): VisibleDocuments {
    const revision = Number(this.#db.statement("SELECT visible_revision AS n FROM state").get()?.["n"]);
    if (revision !== this.#revision) {
      this.#visible = gather(this.#select("", []));
      this.#revision = revision;
    }
    return this.#visible;
  }

  /** Only those that satisfy a condition on columns of `documents`. */
  where(condition: string, values: readonly SQLInputValue[]): VisibleDocuments {
    return gather(this.#select(`AND ${condition}`, values));
  }

  #select(condition: string, values: readonly SQLInputValue[]): IdRow[] {
    return this.#db
      .statement(`SELECT id, body_id AS bodyId FROM documents_active WHERE body_id IS NOT NULL ${condition}`)
      .all(...values) as unknown as IdRow[];
  }
}

interface IdRow {
  readonly id: number;
  readonly bodyId: number;
}

function gather(rows: readonly IdRow[]): VisibleDocuments {
  const bodyOf = new Map<number, number>();
  const documentsOf = new Map<number, number[]>();
  let largest = 0;
  for (const { id, bodyId } of rows) {
    bodyOf.set(id, bodyId);
    const documents = documentsOf.get(bodyId);
    if (documents) documents.push(id);
    else documentsOf.set(bodyId, [id]);
    largest = Math.max(largest, bodyId);
  }
  const bodies = new Uint8Array(largest + 1);
  for (const bodyId of documentsOf.keys()) bodies[bodyId] = 1;
  return { bodyOf, documentsOf, bodies };
}
