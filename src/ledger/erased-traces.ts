import type { FileId, ItemId } from "../contracts/ids.ts";
import type { LedgerTraces } from "../contracts/ledger.ts";
import { WordFinder } from "../lib/mask-file.ts";
import { isListed, listOf, type Sql, type SqlDatabase } from "../lib/sql/sql.ts";
import { domainKey, findSource, type SourceKey } from "./source-row.ts";

/** Where a table keeps what an item was called, its files and hashes. Each row is of one item of one source. */
interface TraceQuery {
  readonly text: string;
  readonly values: readonly (string | number)[];
}

type TraceRow = Readonly<Record<string, string | number | null>>;

/** Returns everything that the tables say of an item; undefined for a source that they do not have. */
export async function findTraces(sql: Sql, key: SourceKey, item: ItemId): Promise<LedgerTraces | undefined> {
  const source = await findSource(sql, key);
  const domain = await findSource(sql, domainKey(key.domainId));
  if (!source && !domain) return undefined;
  const no = source?.source_no ?? 0;
  const names = new Set<string>();
  const paths = new Set<string>();
  const files = new Set<string>();
  const fileIds = new Set<string>();
  const hashes = new Set<string>();
  const earlierHashes = new Set<string>();
  let rows = 0;
  for (const { text, values } of queriesOf(key, item, no, domain?.source_no ?? 0)) {
    for (const row of await sql.all<TraceRow>(text, [...values])) {
      rows += 1;
      for (const [column, value] of Object.entries(row)) {
        if (typeof value !== "string" || value === "") continue;
        if (column.startsWith("name")) names.add(value);
        else if (column.startsWith("path")) paths.add(value);
        else if (column.startsWith("file_id")) fileIds.add(value);
        else if (column.startsWith("file")) files.add(value);
        else if (column.startsWith("hash")) hashes.add(value.replace(/^sha256:/, ""));
        else if (column.startsWith("earlier")) earlierHashes.add(value.replace(/^sha256:/, ""));
      }
    }
  }
  return {
    rows,
    names: [...names],
    paths: [...paths],
    files: [...files],
    fileIds: [...fileIds] as FileId[],
    hashes: [...hashes],
    earlierHashes: [...earlierHashes],
  };
}

/** Columns: `name…` names and addresses, `path…` paths below the root, `file…` paths below the source's folder, `file_id…`, `hash…`, `earlier…` hashes. */
function queriesOf(key: SourceKey, item: ItemId, no: number, domainNo: number): TraceQuery[] {
  const ofItem = "i.source_no = $1 AND i.item_id = $2";
  const values = [no, item];
  const joined = (table: string): string => `${table} t JOIN item i ON i.item_no = t.item_no WHERE ${ofItem}`;
  const { domainId, kind, sourceId } = key;
  return [
    {
      text: `SELECT i.name AS name1, i.server_path AS name2, i.url AS name3, i.raw_url AS name4 FROM item i WHERE ${ofItem}`,
      values,
    },
    {
      text: `SELECT t.name AS name1, t.server_path AS name2, t.path AS file1, t.sha256 AS hash1 FROM ${joined("file")}`,
      values,
    },
    {
      text: `SELECT t.name AS name1, t.path AS file1, t.file_id AS file_id1, t.sha256 AS hash1 FROM ${joined("indexed")}`,
      values,
    },
    {
      text: `SELECT t.name AS name1, CASE WHEN t.folder = '' THEN t.name ELSE t.folder || '/' || t.name END AS path1,
         t.content_hash AS hash1, t.kept_hash AS earlier1 FROM ${joined("tracked")}`,
      values,
    },
    { text: `SELECT t.hash AS earlier1 FROM ${joined("version")}`, values },
    { text: "SELECT source_no FROM acknowledged WHERE source_no = $1 AND item_id = $2", values },
    { text: `SELECT t.from_path AS path1 FROM ${joined("lineage")}`, values },
    {
      text: "SELECT file_id AS file_id1, content_hash AS hash1 FROM member WHERE source_no = $1 AND item_id = $2",
      values,
    },
    {
      text: `SELECT file_id AS file_id1, path AS file1, url AS name1, raw_url AS name2, server_path AS name3, name AS name4
         FROM embedded_file WHERE source_no = $1 AND item_id = $2 AND (source_id = $3 OR source_id IS NULL)`,
      values: [domainNo, item, sourceId],
    },
    {
      text: `SELECT file_id AS file_id1, name AS name1, sha256 AS earlier1 FROM upload
         WHERE domain_id = $1 AND source_id = $2 AND item_id = $3`,
      values: [domainId, sourceId, item],
    },
    { text: "SELECT url AS name1 FROM page WHERE source_no = $1 AND (item_id = $2 OR page_id = $2)", values },
    {
      text: `SELECT t.name AS name1, t.path AS path1, t.strayed_to AS file1 FROM plan_item t JOIN plan p ON p.plan_no = t.plan_no
         WHERE p.domain_id = $1 AND p.kind = $2 AND p.source_id = $3 AND t.item_id = $4`,
      values: [domainId, kind, sourceId, item],
    },
  ];
}

/** Deletes every row of the item, and links and plans that name it. Returns how many rows. */
export async function eraseTraces(
  db: SqlDatabase,
  key: SourceKey,
  item: ItemId,
  words: readonly string[],
): Promise<number> {
  const source = await findSource(db, key);
  const domain = await findSource(db, domainKey(key.domainId));
  const { domainId, kind, sourceId } = key;
  return await db.write(async (sql) => {
    let rows = 0;
    const run = async (text: string, values: (string | number)[]): Promise<void> => {
      rows += await sql.run(text, values);
    };
    const own = `item_no IN (SELECT item_no FROM item WHERE source_no = $1 AND item_id = $2)`;
    if (source) {
      const values = [source.source_no, item];
      for (const table of ["version", "lineage", "tracked", "indexed", "file"]) {
        await run(`DELETE FROM ${table} WHERE ${own}`, values);
      }
      for (const table of ["item", "member", "cleared", "acknowledged"]) {
        await run(`DELETE FROM ${table} WHERE source_no = $1 AND item_id = $2`, values);
      }
      const isNamed = isListed(sql, "l.target", "$2", "text");
      const ofSource = "l.page_no IN (SELECT page_no FROM page WHERE source_no = $1)";
      await run(`DELETE FROM page_link AS l WHERE ${ofSource} AND ${isNamed}`, [source.source_no, listOf(words)]);
      await run("DELETE FROM page WHERE source_no = $1 AND (item_id = $2 OR page_id = $2)", values);
    }
    const ofUpload = "domain_id = $1 AND source_id = $2 AND item_id = $3";
    await run(`DELETE FROM upload WHERE ${ofUpload}`, [domainId, sourceId, item]);
    if (domain) {
      const ofEntry = "source_no = $1 AND item_id = $2 AND (source_id = $3 OR source_id IS NULL)";
      await run(`DELETE FROM embedded_file WHERE ${ofEntry}`, [domain.source_no, item, sourceId]);
    }
    const plans = "plan_no IN (SELECT plan_no FROM plan WHERE domain_id = $1 AND kind = $2 AND source_id = $3)";
    const isPlanned = `(item_id = $4 OR ${isListed(sql, "path", "$5", "text")})`;
    await maskPlans(sql, domainId, words);
    await run(`DELETE FROM plan_item WHERE ${plans} AND ${isPlanned}`, [domainId, kind, sourceId, item, listOf(words)]);
    return rows;
  });
}

/** What a dry run found out about a source may name items. */
async function maskPlans(sql: Sql, domainId: string, words: readonly string[]): Promise<void> {
  const finder = new WordFinder(words);
  const text = "SELECT plan_no, about FROM plan WHERE domain_id = $1";
  for (const { plan_no, about } of await sql.all<{ plan_no: number; about: string }>(text, [domainId])) {
    const masked = finder.mask(about);
    if (masked !== about) await sql.run("UPDATE plan SET about = $2 WHERE plan_no = $1", [plan_no, masked]);
  }
}

/** Returns items of the domain, of any source, whose file has one of these hashes. */
export async function itemsWithHash(
  sql: Sql,
  domainId: string,
  hashes: readonly string[],
): Promise<
  readonly { readonly kind: string; readonly sourceId: string; readonly itemId: ItemId; readonly path: string }[]
> {
  const has = (column: string): string => isListed(sql, column, "$2", "text");
  const from = (table: string, hash: string, path: string): string =>
    `SELECT s.kind, s.source_id AS "sourceId", i.item_id AS "itemId", ${path} AS path FROM ${table} t
     JOIN item i ON i.item_no = t.item_no JOIN source s ON s.source_no = i.source_no
     WHERE s.domain_id = $1 AND ${has(hash)}`;
  const tracked = "CASE WHEN t.folder = '' THEN t.name ELSE t.folder || '/' || t.name END";
  return await sql.all(
    `SELECT kind, "sourceId", "itemId", max(path) AS path FROM (
       ${from("file", "t.sha256", "t.path")} UNION ${from("tracked", "t.content_hash", tracked)}
       UNION ${from("indexed", "t.sha256", "t.path")}
     ) AS found GROUP BY kind, "sourceId", "itemId" ORDER BY kind, "sourceId", "itemId"`,
    [domainId, listOf(hashes)],
  );
}

/** Whether another item of the domain has this name. */
export async function isNameShared(sql: Sql, domainId: string, name: string, item: ItemId): Promise<boolean> {
  const text = `SELECT 1 FROM item i JOIN source s ON s.source_no = i.source_no
    WHERE s.domain_id = $1 AND i.name = $2 AND i.item_id <> $3 LIMIT 1`;
  return (await sql.get(text, [domainId, name, item])) !== undefined;
}
