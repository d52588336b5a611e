import type { Reclaimed } from "../../contracts/search-index.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { keepOf, type Retention } from "./cleanup.ts";
import { cleanupHorizon } from "./cleanup-horizon.ts";
import { readState } from "./state.ts";
import { UNFINISHED } from "./unfinished-bodies.ts";

/** What cleanupOldGenerations() would take away. Looks at every body: for whoever asks, not for every commit. */
export async function countUnseen(
  db: SqlDatabase,
  options: { readonly retention: Retention; readonly nowSeconds: number },
): Promise<Reclaimed> {
  return db.read(async (sql) => {
    const horizon = Math.max((await readState(sql)).oldest, await cleanupHorizon(sql, keepOf(options)));
    const documents = await sql.get<{ n: number }>(`SELECT count(*) AS n FROM documents d WHERE ${UNSEEN}`, [horizon]);
    const bodies = await sql.get<{ n: number; bytes: number }>(
      `SELECT count(*) AS n, coalesce(sum((SELECT sum(${bytesOf(sql)}) FROM chunks c WHERE c.body_id = b.id)), 0) AS bytes
       FROM bodies b WHERE b.sha256 <> '${UNFINISHED}'
         AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.body_id = b.id AND NOT (${UNSEEN}))
         AND NOT EXISTS (SELECT 1 FROM kept_documents k WHERE k.body_id = b.id)`,
      [horizon],
    );
    return {
      documents: Number(documents?.n ?? 0),
      texts: Number(bodies?.n ?? 0),
      bytes: Number(bodies?.bytes ?? 0),
    };
  });
}

/** Ended before every kept generation, or brought by one that was abandoned. `$1`: the oldest that is kept. */
const UNSEEN = `(coalesce(+d.died, 0) IN (SELECT id FROM generations WHERE number > 0 AND number <= $1)
  OR +d.born IN (SELECT id FROM generations WHERE number IS NULL AND committed_at IS NOT NULL))`;

function bytesOf({ dialect }: Sql): string {
  return dialect === "sqlite" ? "length(CAST(c.text AS BLOB))" : "octet_length(c.text)";
}
