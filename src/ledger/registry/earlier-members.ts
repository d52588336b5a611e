import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { EarlierMember, EarlierMembers } from "../../contracts/members.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import type { Entity, EntityTable } from "./entity-table.ts";

const ROWS_AT_ONCE = 500;

/** In the table `members`. */
export function sqlEarlierMembers(open: () => Promise<SqlDatabase>): EarlierMembers {
  return {
    isEmpty: async () => !(await hasMembers(await open())),
    async handOver(take) {
      const db = await open();
      if (!(await hasMembers(db))) return;
      let after: readonly string[] = ["", "", ""];
      for (let page: EarlierMember[] | undefined; !page || page.length === ROWS_AT_ONCE; ) {
        const rows = await db.all<EarlierMember>(
          `SELECT domain_id AS "domainId", source_id AS "sourceId", item_id AS "itemId", last_indexed_doc_id AS "lastIndexedDocId",
           last_indexed AS "lastIndexed", content_hash AS "contentHash", indexed_generation AS "indexedGeneration",
           unlinked_count AS "unlinkedCount" FROM members WHERE (domain_id, source_id, item_id) > ($1, $2, $3)
           ORDER BY domain_id, source_id, item_id LIMIT ${ROWS_AT_ONCE}`,
          after,
        );
        page = rows.map((row) => ({ ...row }));
        const taken = await take(page);
        await db.write(async (sql) => {
          for (const key of taken) await sql.run(DELETE, placeOf(key));
        });
        after = placeOf(page.at(-1));
      }
      await db.write(async (sql) => {
        if (!(await sql.get("SELECT 1 AS one FROM members"))) await sql.run("DROP TABLE members");
      });
    },
  };
}

const DELETE = "DELETE FROM members WHERE domain_id = $1 AND source_id = $2 AND item_id = $3";

function placeOf(member: EarlierMember | undefined): readonly string[] {
  return member ? [member.domainId, member.sourceId, member.itemId] : [];
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
    async handOver(take) {
      const { members, keys } = await open();
      if (!(await members.isThere())) return;
      let isAll = true;
      for await (const page of members.pages("")) {
        const entities = new Map(page.map((entity) => [toMember(entity), entity]));
        const taken = await take([...entities.keys()]);
        await members.deleteAll(taken.flatMap((member) => entities.get(member) ?? []));
        isAll &&= taken.length === page.length;
      }
      if (!isAll) return;
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
