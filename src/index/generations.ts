import type { DomainId, ItemId } from "../contracts/ids.ts";
import type { DocumentVersion, DocumentWanted } from "../contracts/search-index.ts";
import type { Sql, Values } from "../lib/sql/sql.ts";
import type { SourceKey } from "./documents.ts";
import { readState, takeIds } from "./store-state.ts";

/**
 * Reads and writes of generations, called inside a transaction of the caller (see writeLocked).
 *
 * A row without `number` and `committed_at` is an open draft. A row with `committed_at` but without `number` is abandoned: its
 * draft came to nothing. No reader sees it, and sweepAbandoned deletes it. Numbers only grow and are never used again.
 *
 * The newest generation is what crawls and drafts build on; the shown one is what readers see. They differ only while a rollback
 * pins the latter.
 *
 * The storage functions of the generation-based crawl, and where they are here:
 *
 * | specification | here |
 * | --- | --- |
 * | insert_document | insertDocuments (documents.ts) |
 * | insert_sections | insertSections (bodies.ts) |
 * | activate_generation | activateGeneration |
 * | cleanup_old_generations | cleanupOldGenerations (retention.ts) |
 * | get_sections_by_document | sectionsOfDocument (bodies.ts) |
 * | search_sections_fts | searchStore (search/search-store.ts), through TextIndex.matchChunks (store.ts) and visibleAt |
 * | documents_active | the view of that name |
 * | generation_active | visibleAt: born by then, and not dead by then |
 */
interface GenerationRow {
  readonly id: number;
  /** A UUID: unlike the number, no other store has it. */
  readonly generationId: string;
  readonly number: number;
  readonly domainId: string;
  readonly sourceId: string;
  /** The same for all commits of one crawl; "" for a single commit. */
  readonly crawl: string;
  readonly committedAt: number;
  readonly added: number;
  readonly removed: number;
  /** How many of its documents were erased since. */
  readonly erased: number;
}

/** SQL for the numbers in `state`. */
export const SHOWN = "(SELECT shown FROM state WHERE id = 1)";
export const NEWEST = "(SELECT newest FROM state WHERE id = 1)";

/**
 * Returns a condition for rows `d` of `documents` that generation number `at` shows. `+` keeps SQLite from using the index by
 * generation: a first crawl has all its documents in one.
 */
export function visibleAt(at: string, d = "d"): string {
  const byThen = `SELECT id FROM generations WHERE number <= ${at}`;
  return `+${d}.born IN (${byThen}) AND (${d}.died IS NULL OR +${d}.died NOT IN (${byThen}))`;
}

/** Returns a condition for rows `d` of `documents` that readers would see if the open draft with the id `draft` were committed now. */
export function visibleAfter(draft: string, d = "d"): string {
  return `(+${d}.born = ${draft} OR (${visibleAt(NEWEST, d)} AND ${d}.died IS DISTINCT FROM ${draft}))`;
}

/** The state to read: generation number `at`, or, if `isDraft`, the newest generation with the changes of the open draft with id `at`. */
export interface View {
  readonly at: number;
  readonly isDraft: boolean;
}

/** `place`: the placeholder of `view.at`. */
export function visibleIn({ isDraft }: View, place: string, d = "d"): string {
  return isDraft ? visibleAfter(place, d) : visibleAt(place, d);
}

/** Returns the ids of all committed generations. */
export async function committedGenerations(sql: Sql): Promise<number[]> {
  const rows = await sql.all<{ id: number }>("SELECT id FROM generations WHERE number IS NOT NULL");
  return rows.map(({ id }) => id);
}

/** An open draft. `sourceId`: "" for the draft of a crawl, which several sources fill. */
interface NewGeneration extends SourceKey {
  readonly generationId: string;
  readonly crawl: string;
  readonly createdAt: number;
}

/** Returns the id of a draft; inserts it if it is not there yet. */
export async function ensureDraft(sql: Sql, draft: NewGeneration): Promise<number> {
  const known = await sql.get<{ id: number }>(
    "SELECT id FROM generations WHERE number IS NULL AND generation_id = $1",
    [draft.generationId],
  );
  if (known) return known.id;
  const id = await takeIds(sql, "next_generation", 1);
  await sql.insert("generations (id, generation_id, domain_id, source_id, crawl, created_at, added, removed)", [
    [id, draft.generationId, draft.domainId, draft.sourceId, draft.crawl, draft.createdAt, 0, 0],
  ]);
  return id;
}

const OPEN = "number IS NULL AND committed_at IS NULL";

/** Returns false if the draft is not open any more. */
export async function countChanges(sql: Sql, id: number, added: number, removed: number): Promise<boolean> {
  const changed = await sql.run(
    `UPDATE generations SET added = added + $2, removed = removed + $3 WHERE id = $1 AND ${OPEN}`,
    [id, added, removed],
  );
  return changed === 1;
}

/** Returns the open draft; undefined if it is not open any more. */
export async function findDraft(
  sql: Sql,
  id: number,
): Promise<(SourceKey & { readonly added: number; readonly removed: number }) | undefined> {
  return sql.get(
    `SELECT domain_id AS "domainId", source_id AS "sourceId", added, removed FROM generations WHERE id = $1 AND ${OPEN}`,
    [id],
  );
}

/** Returns how many documents a draft ends because it brings others instead. */
export async function countReplaced(sql: Sql, draft: number): Promise<number> {
  const row = await sql.get<{ n: number }>(
    `SELECT count(*) AS n FROM documents d WHERE d.died = $1 AND EXISTS (SELECT 1 FROM documents n
       WHERE n.domain_id = d.domain_id AND n.source_id = d.source_id AND n.item_id = d.item_id AND +n.born = $1)`,
    [draft],
  );
  return Number(row?.n ?? 0);
}

/** Returns how many documents an open draft brings, or takes away without another instead; 0 if it is not open any more. */
export async function countDraft(sql: Sql, generationId: string): Promise<number> {
  const id = await draftCalled(sql, generationId);
  if (id === undefined) return 0;
  // The rows themselves: some may be erased since the draft counted them.
  const row = await sql.get<{ n: number }>(
    "SELECT (SELECT count(*) FROM documents WHERE born = $1) + (SELECT count(*) FROM documents WHERE died = $1) AS n",
    [id],
  );
  return Number(row?.n ?? 0) - (await countReplaced(sql, id));
}

/** Returns the id of an open draft; undefined if it is not open any more. */
export async function draftCalled(sql: Sql, generationId: string): Promise<number | undefined> {
  const row = await sql.get<{ id: number }>(`SELECT id FROM generations WHERE generation_id = $1 AND ${OPEN}`, [
    generationId,
  ]);
  return row?.id;
}

/** Returns all generations of a domain without a number, except this one. */
export async function otherDrafts(sql: Sql, domainId: string, except: number): Promise<number[]> {
  const rows = await sql.all<{ id: number }>(
    "SELECT id FROM generations WHERE domain_id = $1 AND number IS NULL AND id <> $2",
    [domainId, except],
  );
  return rows.map(({ id }) => id);
}

/** Commits an open draft: numbers one row and moves one pointer, however large the store. Returns the number. */
export async function activateGeneration(sql: Sql, id: number, committedAt: number): Promise<number> {
  await sql.run(`UPDATE generations SET number = ${NEWEST} + 1, committed_at = $2 WHERE id = $1`, [id, committedAt]);
  await sql.run(
    `UPDATE state SET newest = newest + 1, shown = CASE WHEN pinned = 1 THEN shown ELSE newest + 1 END,
       visible_revision = visible_revision + 1 WHERE id = 1`,
  );
  const { newest } = await readState(sql);
  return newest;
}

/** Shows readers generation `number`, whatever is committed, until unpin(). Returns false if it is not kept. */
export async function rollbackTo(sql: Sql, number: number): Promise<boolean> {
  if (!(await isKept(sql, number))) return false;
  await sql.run("UPDATE state SET shown = $1, pinned = 1, visible_revision = visible_revision + 1 WHERE id = 1", [
    number,
  ]);
  return true;
}

/** Shows readers the newest generation again. */
export async function unpin(sql: Sql): Promise<void> {
  await sql.run("UPDATE state SET shown = newest, pinned = 0, visible_revision = visible_revision + 1 WHERE id = 1");
}

const KEPT = "number >= 1 AND number >= (SELECT oldest FROM state WHERE id = 1)";

/** Newest first. */
export async function keptGenerations(sql: Sql): Promise<GenerationRow[]> {
  return sql.all<GenerationRow>(
    `SELECT id, generation_id AS "generationId", number, domain_id AS "domainId", source_id AS "sourceId", crawl,
       committed_at AS "committedAt", added, removed, erased
     FROM generations WHERE ${KEPT} ORDER BY number DESC`,
  );
}

/** Returns a committed generation, kept or not; undefined if its row is gone. */
export async function findGeneration(
  sql: Sql,
  number: number,
): Promise<Pick<GenerationRow, "number" | "generationId" | "erased"> | undefined> {
  return sql.get(`SELECT number, generation_id AS "generationId", erased FROM generations WHERE number = $1`, [number]);
}

export async function isKept(sql: Sql, number: number): Promise<boolean> {
  const row = await sql.get(`SELECT id FROM generations WHERE number = $1 AND ${KEPT}`, [number]);
  return row !== undefined;
}

/** Abandons the open drafts of a source: their owners can neither write nor commit them any more. */
export async function abandonDrafts(sql: Sql, nowSeconds: number, source: SourceKey): Promise<number> {
  return sql.run(`UPDATE generations SET committed_at = $1 WHERE domain_id = $2 AND source_id = $3 AND ${OPEN}`, [
    nowSeconds,
    source.domainId,
    source.sourceId,
  ]);
}

export async function openDrafts(sql: Sql, source: SourceKey): Promise<number[]> {
  const rows = await sql.all<{ id: number }>(
    `SELECT id FROM generations WHERE domain_id = $1 AND source_id = $2 AND ${OPEN}`,
    [source.domainId, source.sourceId],
  );
  return rows.map(({ id }) => id);
}

/** Returns the open drafts of crawls of a domain. */
export async function openCrawlDrafts(
  sql: Sql,
  domainId: string,
): Promise<{ readonly id: number; readonly generationId: string; readonly createdAt: number }[]> {
  return sql.all(
    `SELECT id, generation_id AS "generationId", created_at AS "createdAt" FROM generations WHERE domain_id = $1 AND source_id = '' AND ${OPEN} ORDER BY id`,
    [domainId],
  );
}

/** Names the only source that a generation changed, or "". */
export async function setSource(sql: Sql, id: number, sourceId: string): Promise<void> {
  await sql.run("UPDATE generations SET source_id = $2 WHERE id = $1", [id, sourceId]);
}

export async function abandonGeneration(sql: Sql, id: number, nowSeconds: number): Promise<void> {
  await sql.run(`UPDATE generations SET committed_at = $2 WHERE id = $1 AND ${OPEN}`, [id, nowSeconds]);
}

export async function abandonedGenerations(sql: Sql): Promise<number[]> {
  const rows = await sql.all<{ id: number }>(
    "SELECT id FROM generations WHERE number IS NULL AND committed_at IS NOT NULL ORDER BY id",
  );
  return rows.map(({ id }) => id);
}

/** Deletes a generation. No document may refer to it. */
export async function deleteGeneration(sql: Sql, id: number): Promise<void> {
  await sql.run("DELETE FROM generations WHERE id = $1", [id]);
}

/** From here on earlier generations can neither be searched nor rolled back to. */
export async function raiseOldest(sql: Sql, oldest: number): Promise<void> {
  await sql.run("UPDATE state SET oldest = $1 WHERE id = 1 AND oldest < $1", [oldest]);
}

/** Deletes a committed generation that is not kept, if no document refers to it. */
export async function deleteGenerationIfEmpty(sql: Sql, id: number): Promise<void> {
  await sql.run(
    `DELETE FROM generations WHERE id = $1 AND number > 0 AND number < (SELECT oldest FROM state WHERE id = 1)
       AND NOT EXISTS (SELECT 1 FROM documents WHERE born = $1)
       AND NOT EXISTS (SELECT 1 FROM documents WHERE died = $1)`,
    [id],
  );
}

/** A row that one of two generations shows and the other does not. */
export interface DifferenceRow {
  readonly id: number;
  readonly domainId: string;
  readonly sourceId: string;
  readonly itemId: ItemId;
  readonly name: string;
  readonly path: string;
  readonly inFrom: 0 | 1;
  readonly inTo: 0 | 1;
  /** The item has a row that the other generation shows. */
  readonly hasOther: 0 | 1;
}

/** Returns the generations between two numbers: only rows that were born or died in one of them can differ. */
export async function generationsBetween(sql: Sql, from: number, to: number): Promise<number[]> {
  const rows = await sql.all<{ id: number }>(
    "SELECT id FROM generations WHERE number > $1 AND number <= $2 ORDER BY number",
    [Math.min(from, to), Math.max(from, to)],
  );
  return rows.map(({ id }) => id);
}

/** Returns one page of the rows that were born, or died, in the generation, whether they differ or not. */
export async function differenceBetween(
  sql: Sql,
  range: { readonly from: number; readonly to: number },
  page: {
    readonly end: "born" | "died";
    readonly generation: number;
    readonly afterId: number;
    readonly limit: number;
  },
): Promise<DifferenceRow[]> {
  const flag = (condition: string): string => `CASE WHEN ${condition} THEN 1 ELSE 0 END`;
  const other = (at: string): string =>
    `EXISTS (SELECT 1 FROM documents o WHERE o.domain_id = d.domain_id AND o.source_id = d.source_id
       AND o.item_id = d.item_id AND ${visibleAt(at, "o")})`;
  return sql.all<DifferenceRow>(
    `SELECT d.id, d.domain_id AS "domainId", d.source_id AS "sourceId", d.item_id AS "itemId", d.name, d.path,
       ${flag(visibleAt("$1"))} AS "inFrom", ${flag(visibleAt("$2"))} AS "inTo",
       ${flag(`CASE WHEN ${visibleAt("$2")} THEN ${other("$1")} ELSE ${other("$2")} END`)} AS "hasOther"
     FROM documents d WHERE d.${page.end} = $3 AND d.id > $4 ORDER BY d.id LIMIT $5`,
    [range.from, range.to, page.generation, page.afterId, page.limit],
  );
}

interface VersionRow extends Omit<DocumentVersion, "visible"> {
  readonly visible: 0 | 1;
}

const MAX_VERSIONS = 20;

/** Returns versions in committed generations. A search by name scans all rows. */
export async function documentVersions(sql: Sql, domain: DomainId, wanted: DocumentWanted): Promise<VersionRow[]> {
  const [condition, values]: [string, Values] =
    "called" in wanted
      ? [
          "(d.item_id = $2 OR d.file_id = $2 OR d.path = $2 OR d.url = $2 OR lower(d.name) = lower($2))",
          [wanted.called],
        ]
      : ["d.source_id = $2 AND d.item_id = $3", [wanted.sourceId, wanted.itemId]];
  return sql.all<VersionRow>(
    `SELECT d.source_id AS "sourceId", d.item_id AS "itemId", d.file_id AS "fileId", d.name, d.path, d.url,
       b.number AS since, e.number AS until,
       CASE WHEN ${visibleAt(SHOWN)} THEN 1 ELSE 0 END AS visible
     FROM documents d JOIN generations b ON b.id = d.born LEFT JOIN generations e ON e.id = d.died
     WHERE d.domain_id = $1 AND d.body_id IS NOT NULL AND b.number > 0 AND ${condition}
     ORDER BY b.number DESC, d.id DESC LIMIT ${MAX_VERSIONS}`,
    [domain, ...values],
  );
}
