import { existsSync } from "node:fs";
import { join } from "node:path";
import { REGISTERED_SOURCE } from "../contracts/domain.ts";
import type { DomainId, ItemId, SourceId } from "../contracts/ids.ts";
import type { Ledger, LedgerSource } from "../contracts/ledger.ts";
import { type EarlierMembers, MEMBERS_OF, type Member, type MemberKey, type Members } from "../contracts/members.ts";
import { namesIn } from "../lib/file-system.ts";
import { openOnce } from "../lib/once.ts";
import { slicesOf } from "../lib/slices-of.ts";
import { isListed, listOf, listsOf, replacing, type Sql, type SqlDatabase, type Values } from "../lib/sql/sql.ts";
import type { LedgerDatabases } from "./ledger-databases.ts";
import { migrateMembers } from "./migrate/migrate-earlier-files.ts";
import { findSource, IMPORTED, openSource } from "./source-row.ts";

interface MembersOptions {
  readonly databases: LedgerDatabases;
  readonly crawlerFolder: string;
  readonly earlier: () => EarlierMembers;
}

/** Small enough to let other work run in between. */
const ROWS_AT_ONCE = 500;
/** A domain without the folder has no members, and its ledger need not be opened. */
const { type: KIND, folder: WEB_FOLDER } = MEMBERS_OF;

const COLUMNS = "wanted, unlinked_count, file_id, content_hash, indexed_generation";
const INTO = `member (source_no, item_id, ${COLUMNS})`;
const REPLACE = replacing("source_no, item_id", COLUMNS);
/** After a kill the member may lack the file id: then use the facet's. */
const SELECT = `SELECT s.domain_id AS "domainId", s.source_id AS "sourceId", m.item_id AS "itemId", m.wanted,
  m.unlinked_count AS "unlinkedCount", COALESCE(NULLIF(m.file_id, ''), x.file_id, '') AS "lastIndexedDocId",
  COALESCE(x.embedded_at, '') AS "lastIndexed",
  m.content_hash AS "contentHash", m.indexed_generation AS "indexedGeneration"
  FROM member m JOIN source s ON s.source_no = m.source_no
  LEFT JOIN item i ON i.source_no = m.source_no AND i.item_id = m.item_id
  LEFT JOIN indexed x ON x.item_no = i.item_no AND x.store = ''`;
const OF_SOURCE = `s.domain_id = $1 AND s.kind = '${KIND}' AND s.source_id = $2`;

/** Imports members of earlier releases from the registry before the first use. */
export function createMembers({ databases, crawlerFolder, earlier }: MembersOptions): Members & {
  renameDomain(ids: { readonly from: DomainId; readonly to: DomainId }): Promise<void>;
  /**
   * Makes the listed pages of a rebuilt web-site ledger its members. For registered addresses, the registry is used
   * instead.
   */
  recall(source: LedgerSource, ledger: Pick<Ledger, "entries">): Promise<void>;
} {
  /** A domain without a folder was deleted; a new file there would block a new domain. */
  const isThere = (domainId: DomainId): boolean => existsSync(join(crawlerFolder, domainId));
  const change: Members["change"] = async (keys, make) => {
    for (const [domainId, group] of Map.groupBy(keys, (key) => key.domainId)) {
      if (!isThere(domainId)) continue;
      const db = await databases.open(domainId);
      const unique = [...new Map(group.map((key) => [placeOf(key), key])).values()];
      for (const slice of slicesOf(unique, ROWS_AT_ONCE)) {
        await db.write((sql) => changeSome(sql, slice, make));
      }
    }
  };
  const migrate = (renamed?: { readonly from: DomainId; readonly to: DomainId }): Promise<void> =>
    migrateMembers(earlier(), { change, crawlerFolder, ...(renamed && { renamed }) });
  const ready = openOnce(async () => {
    await migrate();
    return { close: async () => undefined };
  });
  const find = async (domainId: DomainId): Promise<SqlDatabase | undefined> => {
    await ready.open();
    return await databases.find(domainId);
  };
  /** The databases of all domains that may have members; one if they share a database. */
  const findAll = async (): Promise<ReadonlySet<SqlDatabase>> => {
    const names = (await namesIn(crawlerFolder)).filter((name) => existsSync(join(crawlerFolder, name, WEB_FOLDER)));
    const found = await Promise.all(names.sort().map((name) => find(name as DomainId)));
    return new Set(found.filter((db) => db !== undefined));
  };
  const ofMany: Members["ofMany"] = async (items) => {
    const found: Member[] = [];
    for (const db of await findAll()) {
      const which = `WHERE ${isListed(db, "m.item_id", "$1", "text")} ORDER BY s.domain_id, s.source_id`;
      for (const list of listsOf(items, ROWS_AT_ONCE)) found.push(...(await readMembers(db, which, [list])));
    }
    return Map.groupBy(found, ({ itemId }) => itemId);
  };
  return {
    of: async (item) => (await ofMany([item])).get(item) ?? [],
    ofMany,
    async *in(domain, source) {
      const db = await find(domain);
      for (let after = ""; db; ) {
        const which = `WHERE ${OF_SOURCE} AND m.item_id > $3 ORDER BY m.item_id LIMIT ${ROWS_AT_ONCE}`;
        const page = await readMembers(db, which, [domain, source, after]);
        if (page.length > 0) yield page;
        if (page.length < ROWS_AT_ONCE) return;
        after = page.at(-1)?.itemId ?? "";
      }
    },
    async isWhole(domain, source) {
      const db = await find(domain);
      const found = db && (await findSource(db, { domainId: domain, kind: KIND, sourceId: source, root: "" }));
      return found?.imported === IMPORTED && existsSync(join(crawlerFolder, domain, WEB_FOLDER, source));
    },
    async idsIn(domain) {
      const text = "SELECT m.item_id FROM member m JOIN source s ON s.source_no = m.source_no WHERE s.domain_id = $1";
      const rows = (await (await find(domain))?.all<{ item_id: ItemId }>(text, [domain])) ?? [];
      return new Set(rows.map(({ item_id }) => item_id));
    },
    async change(keys, make) {
      await ready.open();
      await change(keys, make);
    },
    async forget(domain, source) {
      const text = `DELETE FROM member WHERE source_no IN (SELECT s.source_no FROM source s WHERE ${OF_SOURCE})`;
      await (await find(domain))?.run(text, [domain, source]);
    },
    renameDomain: migrate,
    async recall({ domainId, config: { sourceType, sourceId } }, ledger) {
      if (sourceType !== KIND || sourceId === REGISTERED_SOURCE) return;
      for await (const page of ledger.entries()) {
        const members = page.flatMap(({ itemId, seen, indexed }): Member[] => {
          const { fileId = "", embeddedAt = "", sha256 = "" } = indexed ?? {};
          const inIndex = {
            lastIndexedDocId: fileId,
            lastIndexed: embeddedAt,
            contentHash: sha256,
            indexedGeneration: 0,
          };
          return seen ? [{ domainId, sourceId, itemId, wanted: "led", unlinkedCount: 0, ...inIndex }] : [];
        });
        await change(members, (known, member) => known ?? member);
      }
    },
  };
}

/** Copies rows: those of SQLite are not plain objects. */
async function readMembers(sql: Sql, which: string, values: Values): Promise<readonly Member[]> {
  return (await sql.all<Member>(`${SELECT} ${which}`, values)).map((row) => ({ ...row }));
}

function placeOf({ domainId, sourceId, itemId }: MemberKey): string {
  return `${domainId}/${sourceId}/${itemId}`;
}

/** Runs in an exclusive transaction. */
async function changeSome<Key extends MemberKey>(
  sql: Sql,
  keys: readonly Key[],
  change: (known: Member | undefined, key: Key) => Member | undefined,
): Promise<void> {
  const ids = listOf(keys.map(({ itemId }) => itemId));
  const found = await readMembers(sql, `WHERE ${isListed(sql, "m.item_id", "$1", "text")}`, [ids]);
  const known = new Map(found.map((member) => [placeOf(member), member]));
  const put: Values[] = [];
  const sources = new Map<SourceId, number>();
  const sourceNo = async ({ domainId, sourceId }: MemberKey): Promise<number> => {
    const key = { domainId, sourceId, kind: KIND, root: "" };
    const no = sources.get(sourceId) ?? (await openSource(sql, key)).source_no;
    sources.set(sourceId, no);
    return no;
  };
  for (const key of keys) {
    const before = known.get(placeOf(key));
    const after = change(before, key);
    if (after && after !== before) put.push([await sourceNo(after), ...valuesOf(after)]);
    if (before && !after) {
      await sql.run("DELETE FROM member WHERE source_no = $1 AND item_id = $2", [await sourceNo(key), key.itemId]);
    }
  }
  await sql.insert(INTO, put, REPLACE);
}

function valuesOf(member: Member): Values {
  const { itemId, wanted, unlinkedCount, lastIndexedDocId, contentHash, indexedGeneration } = member;
  return [itemId, wanted, unlinkedCount, lastIndexedDocId, contentHash, indexedGeneration];
}
