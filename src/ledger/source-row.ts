import { randomBytes } from "node:crypto";
import type { DomainId, SourceId } from "../contracts/ids.ts";
import type { Sql } from "../lib/sql/sql.ts";

/** Value of `imported`: everything of an earlier release was imported. */
export const IMPORTED = 2;

/** A source of a domain. `root` is its folder below `crawler/`: the prefix of every path. */
export interface SourceKey {
  readonly domainId: DomainId;
  readonly kind: string;
  readonly sourceId: SourceId;
  readonly root: string;
}

/** The row of a source that was never crawled. */
export const NO_SOURCE = {
  source_no: 0,
  birth: "",
  imported: 0,
  rev: 0,
  seen_rev: 0,
  mirrored_rev: 0,
  indexed_rev: 0,
  tracked_rev: 0,
  look_root: "",
  look_at: "",
  look_id: "",
  look_turn: 0,
  texts_by: "",
  policy: "",
  change_mark: "",
  listed_at: "",
  runs_by_mark: 0,
  hidden_rows: 0,
  hashes_owed: 0,
  hash_next: 0,
  embedded_rules: "",
  embedded_rev: 0,
};

/** A row of the table `source`. */
export type SourceRow = Readonly<typeof NO_SOURCE>;

/** The value of `Ledgers.version()`; "" if there is no such source. */
export function versionOf({ birth, seen_rev, mirrored_rev, indexed_rev }: SourceRow): string {
  return birth && [seen_rev, mirrored_rev, indexed_rev].map((rev) => `${birth}.${rev}`).join(" ");
}

export function findSource(sql: Sql, { domainId, kind, sourceId }: SourceKey): Promise<SourceRow | undefined> {
  const where = "domain_id = $1 AND kind = $2 AND source_id = $3";
  return sql.get(`SELECT * FROM source WHERE ${where}`, [domainId, kind, sourceId]);
}

/** Creates the row if there is none. */
export async function openSource(sql: Sql, key: SourceKey): Promise<SourceRow> {
  const found = await findSource(sql, key);
  if (found) return found;
  const columns = "domain_id, kind, source_id, birth, imported, rev, seen_rev, mirrored_rev, indexed_rev";
  const values = [key.domainId, key.kind, key.sourceId, randomBytes(6).toString("hex"), 0, 0, 0, 0, 0];
  await sql.insert(`source (${columns})`, [values], "ON CONFLICT DO NOTHING");
  const added = await findSource(sql, key);
  if (!added) throw new Error(`add source '${key.sourceId}' to the ledger: it is not there`);
  return added;
}

/** Key of the row for the domain itself; its revision increases with every change of `files_metadata.json` entries. */
export function domainKey(domainId: DomainId): SourceKey {
  return { domainId, kind: "domain", sourceId: "" as SourceId, root: "" };
}
