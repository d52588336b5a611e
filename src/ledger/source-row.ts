import { randomBytes } from "node:crypto";
import type { DomainId, ItemId, SourceId } from "../contracts/ids.ts";
import type { Freshness } from "../contracts/ledger.ts";
import { isListed, listOf, type Sql } from "../lib/sql/sql.ts";

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
  checked_at: "",
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

export async function readFreshness(sql: Sql, domainId: DomainId, items: readonly ItemId[]): Promise<Freshness> {
  // Two kinds may have a source of the same id: then the older check counts.
  const checks = await sql.all<{ source_id: SourceId; checked_at: string }>(
    "SELECT source_id, min(checked_at) AS checked_at FROM source WHERE domain_id = $1 AND kind <> 'domain' GROUP BY source_id",
    [domainId],
  );
  const behind = await sql.all<{ item_id: ItemId }>(
    `SELECT i.item_id FROM source s JOIN item i ON i.source_no = s.source_no
       LEFT JOIN file f ON f.item_no = i.item_no LEFT JOIN indexed x ON x.item_no = i.item_no AND x.store = ''
     WHERE s.domain_id = $1 AND ${isListed(sql, "i.item_id", "$2", "text")} AND (i.listed = 0 OR f.source_error <> ''
       OR f.processing_error <> '' OR x.source_error <> '' OR x.processing_error <> '' OR x.embedding_error <> '')`,
    [domainId, listOf(items)],
  );
  const checked = checks.filter(({ checked_at }) => checked_at !== "");
  return {
    checkedAt: new Map(checked.map(({ source_id, checked_at }) => [source_id, checked_at])),
    behind: new Set(behind.map(({ item_id }) => item_id)),
  };
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
