import { join } from "node:path";
import type { OwnerChange } from "../../contracts/backend.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { DocumentRow } from "./documents.ts";
import { bumpVisibleRevision, writeInTurn } from "./state.ts";
import type { Store } from "./store.ts";
import { storedPath } from "./stored-path.ts";

/** Small enough that others get their turn in between. */
const ROWS_AT_ONCE = 500;

type OwnedRow = Pick<DocumentRow, "id" | "attributes" | "file">;

/**
 * Every document and generation of a domain, in whatever generation, becomes another domain's: its mark, its attribute,
 * and the place of its bytes. What was done is not done again, so it may be interrupted anywhere.
 */
export async function changeOwner(
  store: Pick<Store, "db" | "storageFolder">,
  change: OwnerChange,
  signal: AbortSignal,
): Promise<void> {
  const places = {
    from: storedPath(store, join(change.folders.from, "x")).slice(0, -1),
    to: storedPath(store, join(change.folders.to, "x")).slice(0, -1),
  };
  await writeInTurn(store.db, async (sql) => {
    for (const table of ["generations", "kept_documents"]) {
      await sql.run(`UPDATE ${table} SET domain_id = $2 WHERE domain_id = $1`, [change.from, change.to]);
    }
  });
  for (let changed = ROWS_AT_ONCE; changed === ROWS_AT_ONCE; ) {
    signal.throwIfAborted();
    changed = await writeInTurn(store.db, (sql) => changeSome(sql, change, places));
  }
}

async function changeSome(
  sql: Sql,
  { from, to }: OwnerChange,
  places: { readonly from: string; readonly to: string },
): Promise<number> {
  const rows = await sql.all<OwnedRow>("SELECT id, attributes, file FROM documents WHERE domain_id = $1 LIMIT $2", [
    from,
    ROWS_AT_ONCE,
  ]);
  for (const { id, attributes, file } of rows) {
    const marks = { ...(JSON.parse(attributes) as object), domain_id: to };
    const place = file.startsWith(places.from) ? places.to + file.slice(places.from.length) : file;
    await sql.run("UPDATE documents SET domain_id = $2, attributes = $3, file = $4 WHERE id = $1", [
      id,
      to,
      JSON.stringify(marks),
      place,
    ]);
  }
  if (rows.length > 0) await bumpVisibleRevision(sql);
  return rows.length;
}
