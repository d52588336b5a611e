import type { Sql } from "../../lib/sql/sql.ts";
import { readState } from "./state.ts";

/** The first and the last row of what takes most room: a file that was cut or overwritten shows there, whatever its size. */
const ENDS = ["documents", "bodies", "chunks", "generations"].flatMap((table) =>
  ["ASC", "DESC"].map((order) => `SELECT * FROM ${table} ORDER BY id ${order} LIMIT 1`),
);

/** Throws when the store cannot be read. Looks at a few rows, so it costs the same for a large one. */
export async function probeStore(sql: Sql): Promise<void> {
  await readState(sql);
  for (const text of ENDS) await sql.get(text);
  await sql.get("SELECT chunk_id FROM vectors ORDER BY chunk_id DESC LIMIT 1");
}
