import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { EarlierMember, EarlierMembers } from "../../contracts/members.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import type { Entity, EntityTable } from "./entity-table.ts";
import { beginsWith, encodeKey } from "./table-keys.ts";

const ROWS_AT_ONCE = 500;

/** In the table `members`. */
export function sqlEarlierMembers(open: () => Promise<SqlDatabase>): EarlierMembers {
  return {
    isEmpty: async () => !(await hasMembers(await open())),
    async handOver(domains, take) {
      const db = await open();
      if (!(await hasMembers(db))) return;
      for (const domain of domains) {
        for (let rows = await readSome(db, domain); rows.length > 0; rows = await readSome(db, domain)) {
          await take(rows);
          await db.write(async (sql) => {
            for (const { sourceId, itemId } of rows) await sql.run(DELETE, [domain, sourceId, itemId]);
          });
        }
      }
      await db.write(async (sql) => {
        if (!(await sql.get("SELECT 1 AS one FROM members"))) await sql.run("DROP TABLE members");
      });
    },
  };
}

const DELETE = "DELETE FROM members WHERE domain_id = $1 AND source_id = $2 AND item_id = $3";

/** Copies rows: those of SQLite are not plain objects. */
async function readSome(sql: Sql, domain: DomainId): Promise<readonly EarlierMember[]> {
  const rows = await sql.all<EarlierMember>(
    `SELECT domain_id AS "domainId", source_id AS "sourceId", item_id AS "itemId", last_indexed_doc_id AS "lastIndexedDocId",
     last_indexed AS "lastIndexed", content_hash AS "contentHash", indexed_generation AS "indexedGeneration",
     unlinked_count AS "unlinkedCount" FROM members WHERE domain_id = $1 ORDER BY source_id, item_id LIMIT ${ROWS_AT_ONCE}`,
    [domain],
  );
  return rows.map((row) => ({ ...row }));
}

async function hasMembers(sql: Sql): Promise<boolean> {
  const tables = sql.dialect === "sqlite" ? "sqlite_master" : "pg_tables";
  const which =
    sql.dialect === "sqlite" ? "name = 'members'" : "tablename = 'members' AND schemaname = current_schema()";
  return (await sql.get(`SELECT 1 AS one FROM ${tables} WHERE ${which}`)) !== undefined;
}

/** A table that only earlier releases made. */
export interface OldTable extends Pick<EntityTable, "pages" | "deleteAll"> {
  isThere(): Promise<boolean>;
  drop(): Promise<void>;
}

export interface MemberTables {
  /** Partition: domain and source. Row: the item. */
  readonly members: OldTable;
  /** By the id of an item, where it is; earlier releases had rows here for its members, too. */
  readonly keys: EntityTable;
}

/** In a table of their own. */
export function tableEarlierMembers(open: () => Promise<MemberTables>): EarlierMembers {
  return {
    isEmpty: async () => !(await (await open()).members.isThere()),
    async handOver(domains, take) {
      const { members, keys } = await open();
      if (!(await members.isThere())) return;
      for (const domain of domains) {
        for await (const page of members.pages(beginsWith("PartitionKey", `${encodeKey(domain)}|`))) {
          await take(page.map(toMember));
          await members.deleteAll(page);
        }
      }
      if (!(await members.pages("", ["partitionKey"]).next()).done) return;
      for await (const page of keys.pages("domainId ne ''", ["partitionKey", "rowKey"])) await keys.deleteAll(page);
      await members.drop();
    },
  };
}

function toMember(entity: Entity): EarlierMember {
  const text = (name: keyof EarlierMember): string => String(entity[name] ?? "");
  const count = (name: keyof EarlierMember): number => Number(entity[name] ?? 0);
  return {
    domainId: text("domainId") as DomainId,
    sourceId: text("sourceId") as SourceId,
    itemId: text("itemId") as ItemId,
    lastIndexedDocId: text("lastIndexedDocId"),
    lastIndexed: text("lastIndexed"),
    contentHash: text("contentHash"),
    indexedGeneration: count("indexedGeneration"),
    unlinkedCount: count("unlinkedCount"),
  };
}
