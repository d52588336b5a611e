import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { Member, MemberKey, Members } from "../../contracts/registry.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql, SqlDatabase, Values } from "../../lib/sql/sql.ts";

/** Small enough that others get their turn in between. */
const ROWS_AT_ONCE = 500;

const INTO =
  "members (domain_id, source_id, item_id, last_indexed_doc_id, last_indexed, content_hash, indexed_generation, unlinked_count)";
const REPLACE = `ON CONFLICT (domain_id, source_id, item_id) DO UPDATE SET
  last_indexed_doc_id = excluded.last_indexed_doc_id, last_indexed = excluded.last_indexed, content_hash = excluded.content_hash,
  indexed_generation = excluded.indexed_generation, unlinked_count = excluded.unlinked_count`;
const SELECT = `SELECT domain_id AS "domainId", source_id AS "sourceId", item_id AS "itemId",
  last_indexed_doc_id AS "lastIndexedDocId", last_indexed AS "lastIndexed", content_hash AS "contentHash",
  indexed_generation AS "indexedGeneration", unlinked_count AS "unlinkedCount" FROM members`;
const DELETE = "DELETE FROM members WHERE domain_id = $1 AND source_id = $2 AND item_id = $3";

export function createSqlMembers(open: () => Promise<SqlDatabase>): Members {
  return {
    async of(item) {
      return readMembers(await open(), "WHERE item_id = $1 ORDER BY domain_id, source_id", [item]);
    },
    async *in(domain, source) {
      const db = await open();
      let after = "";
      for (;;) {
        const which = `WHERE domain_id = $1 AND source_id = $2 AND item_id > $3 ORDER BY item_id LIMIT ${ROWS_AT_ONCE}`;
        const page = await readMembers(db, which, [domain, source, after]);
        if (page.length > 0) yield page;
        if (page.length < ROWS_AT_ONCE) return;
        after = page.at(-1)?.itemId ?? "";
      }
    },
    async change(keys, change) {
      const db = await open();
      const unique = [...new Map(keys.map((key) => [placeOf(key), key])).values()];
      for (let from = 0; from < unique.length; from += ROWS_AT_ONCE) {
        await db.write((sql) => changeSome(sql, unique.slice(from, from + ROWS_AT_ONCE), change));
      }
    },
    async forget(domain, source) {
      await takeOut(await open(), domain, source, async () => undefined);
    },
    async rename(from, to) {
      if (from === to) return;
      await takeOut(await open(), from, undefined, (sql, members) =>
        putAll(
          sql,
          members.map((member) => ({ ...member, domainId: to })),
        ),
      );
    },
  };
}

/** Rows of SQLite are no plain objects. */
async function readMembers(sql: Sql, which: string, values: Values): Promise<readonly Member[]> {
  return (await sql.all<Member>(`${SELECT} ${which}`, values)).map((row) => ({ ...row }));
}

function placeOf({ domainId, sourceId, itemId }: MemberKey): string {
  return `${domainId}/${sourceId}/${itemId}`;
}

/** In a transaction that has the database to itself. */
async function changeSome<Key extends MemberKey>(
  sql: Sql,
  keys: readonly Key[],
  change: (known: Member | undefined, key: Key) => Member | undefined,
): Promise<void> {
  const which = `WHERE ${isListed(sql, "item_id", "$1", "text")}`;
  const found = await readMembers(sql, which, [listOf(keys.map(({ itemId }) => itemId))]);
  const known = new Map(found.map((member) => [placeOf(member), member]));
  const put: Member[] = [];
  for (const key of keys) {
    const before = known.get(placeOf(key));
    const after = change(before, key);
    if (after && after !== before) put.push(after);
    if (before && !after) await sql.run(DELETE, [key.domainId, key.sourceId, key.itemId]);
  }
  await putAll(sql, put);
}

async function putAll(sql: Pick<Sql, "insert">, members: readonly Member[]): Promise<void> {
  await sql.insert(INTO, members.map(toRow), REPLACE);
}

function toRow(member: Member): Values {
  const { domainId, sourceId, itemId, lastIndexedDocId, lastIndexed, contentHash } = member;
  return [
    domainId,
    sourceId,
    itemId,
    lastIndexedDocId,
    lastIndexed,
    contentHash,
    member.indexedGeneration,
    member.unlinkedCount,
  ];
}

/** Removes the members of a domain, or of one source of it, some at a time; `instead` is done in the same transaction. */
async function takeOut(
  db: SqlDatabase,
  domain: DomainId,
  source: SourceId | undefined,
  instead: (sql: Sql, members: readonly Member[]) => Promise<void>,
): Promise<void> {
  const which = `domain_id = $1 AND ($2 = '' OR source_id = $2)`;
  for (let taken = ROWS_AT_ONCE; taken === ROWS_AT_ONCE; ) {
    taken = await db.write(async (sql) => {
      const some = `WHERE ${which} ORDER BY source_id, item_id LIMIT ${ROWS_AT_ONCE}`;
      const members = await readMembers(sql, some, [domain, source ?? ""]);
      const last: { sourceId: string; itemId: ItemId | "" } = members.at(-1) ?? { sourceId: "", itemId: "" };
      await instead(sql, members);
      await sql.run(`DELETE FROM members WHERE ${which} AND (source_id, item_id) <= ($3, $4)`, [
        domain,
        source ?? "",
        last.sourceId,
        last.itemId,
      ]);
      return members.length;
    });
  }
}
