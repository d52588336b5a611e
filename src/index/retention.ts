import { setImmediate as nextRound } from "node:timers/promises";
import type { ItemId } from "../contracts/ids.ts";
import type { Reclaimed } from "../contracts/search-index.ts";
import { slicesOf } from "../lib/slices-of.ts";
import { isListed, listOf, type Sql, type SqlDatabase, type Values } from "../lib/sql/sql.ts";
import {
  abandonStaleBodies,
  deleteBodies,
  deleteChunksOfBodies,
  forgetLooseBodies,
  looseBodies,
  noteLooseBodies,
  UNFINISHED,
  withdrawBody,
} from "./bodies.ts";
import { type DocumentRow, deleteDocuments, type SourceKey } from "./documents.ts";
import {
  abandonedGenerations,
  countChanges,
  deleteGeneration,
  deleteGenerationIfEmpty,
  NEWEST,
  otherDrafts,
  raiseOldest,
  visibleAt,
} from "./generations.ts";
import { DIRECT_SOURCE } from "./shared-schema.ts";
import type { Store } from "./store.ts";
import { bumpVisibleRevision, readState, writeLocked } from "./store-state.ts";

/**
 * Which generations stay readable: those before and after each of the last few crawls, all younger than `seconds`, and the one that
 * is shown, with all after it.
 */
export interface Retention {
  readonly crawls: number;
  readonly seconds: number;
}

export const DEFAULT_RETENTION: Retention = { crawls: 3, seconds: 24 * 3600 };

const SLICE_DOCUMENTS = 200;
const SLICE_CHUNKS = 1000;

/** `budget`: documents and bodies to delete at most. `checkpoint` is called between two slices. */
interface CleanupOptions {
  readonly budget: number;
  readonly checkpoint?: () => Promise<void>;
}

/** No limit, no checkpoint. */
export const UNLIMITED: CleanupOptions = { budget: Number.POSITIVE_INFINITY };

type CleanableStore = Pick<Store, "db" | "texts" | "vectors">;

/**
 * Deletes what no kept generation shows, in slices with a short lock each, up to about `budget` documents and as many bodies.
 * The next call finds what is left, also after a crash.
 */
export async function cleanupOldGenerations(
  store: CleanableStore,
  options: RetentionNow & CleanupOptions,
): Promise<void> {
  const oldest = await raisedOldest(store.db, limitsOf(options));
  await inSlices(options, () => deleteUnseenDocuments(store, oldest));
  await sweepAbandoned(store, options);
  await dropLooseBodies(store, options);
}

interface RetentionNow {
  readonly retention: Retention;
  readonly nowSeconds: number;
}

function limitsOf({ retention, nowSeconds }: RetentionNow): RetentionLimits {
  return { crawls: retention.crawls, committedSince: nowSeconds - retention.seconds };
}

/** Reads before it locks: usually there is nothing to raise. Reads again inside the lock: a rollback may have come first. */
async function raisedOldest(db: SqlDatabase, keep: RetentionLimits): Promise<number> {
  const { oldest } = await readState(db);
  if ((await oldestToKeep(db, keep)) <= oldest) return oldest;
  return writeLocked(db, async (sql) => {
    await raiseOldest(sql, await oldestToKeep(sql, keep));
    return (await readState(sql)).oldest;
  });
}

/** The horizon that a cleanup would raise, without raising it. */
async function horizonAfter(sql: Sql, options: RetentionNow): Promise<number> {
  return Math.max((await readState(sql)).oldest, await oldestToKeep(sql, limitsOf(options)));
}

/** Undoes abandoned generations: deletes the documents they brought, revives those they ended. */
export async function sweepAbandoned(store: CleanableStore, pace: CleanupOptions = UNLIMITED): Promise<void> {
  for (const id of await abandonedGenerations(store.db)) {
    await inSlices(pace, () => deleteSomeOfGeneration(store, id));
  }
}

/** Deletes bodies without documents. */
export async function dropLooseBodies(store: CleanableStore, pace: CleanupOptions = UNLIMITED): Promise<void> {
  await abandonStaleBodies(store.db);
  await inSlices(pace, () => deleteLooseBodies(store));
}

/** Repeats `slice` until it returns 0 or the budget is used up. Yields to the event loop in between. */
async function inSlices({ budget, checkpoint }: CleanupOptions, slice: () => Promise<number>): Promise<void> {
  for (let spent = 0; spent < budget; ) {
    const done = await slice();
    if (done === 0) return;
    spent += done;
    await checkpoint?.();
    await nextRound();
  }
}

async function deleteUnseenDocuments(store: CleanableStore, oldest: number): Promise<number> {
  if ((await unseenDocuments(store.db, oldest, 1)).length === 0) return 0;
  return writeLocked(store.db, async (sql) => {
    const rows = await unseenDocuments(sql, oldest, SLICE_DOCUMENTS);
    await deleteDocuments(sql, store, rows);
    const generations = new Set(rows.flatMap(({ born, died }) => [born, died]));
    for (const generation of generations) await deleteGenerationIfEmpty(sql, generation);
    return rows.length;
  });
}

interface DeadRow extends Pick<DocumentRow, "id" | "bodyId"> {
  readonly born: number;
  readonly died: number;
}

/** Iterates over generations in which documents died, not over documents: the cost must not grow with the store. */
async function unseenDocuments(sql: Sql, oldest: number, limit: number): Promise<DeadRow[]> {
  const rows: DeadRow[] = [];
  for (let at = 0; rows.length < limit; ) {
    const next = await sql.get<{ died: number | null }>("SELECT min(died) AS died FROM documents WHERE died > $1", [
      at,
    ]);
    if (next?.died === null || next === undefined) break;
    at = next.died;
    const ended = await sql.get<{ number: number | null }>("SELECT number FROM generations WHERE id = $1", [at]);
    if (ended?.number === null || ended === undefined || ended.number > oldest) continue;
    const dead = await sql.all<DeadRow>(
      `SELECT id, body_id AS "bodyId", born, died FROM documents WHERE died = $1 LIMIT $2`,
      [at, limit - rows.length],
    );
    rows.push(...dead);
  }
  return rows;
}

/** Returns 0 when the generation is deleted. */
async function deleteSomeOfGeneration(store: CleanableStore, id: number): Promise<number> {
  return writeLocked(store.db, async (sql) => {
    const rows = await sql.all<Pick<DocumentRow, "id" | "bodyId">>(
      `SELECT id, body_id AS "bodyId" FROM documents WHERE born = $1 LIMIT $2`,
      [id, SLICE_DOCUMENTS],
    );
    await deleteDocuments(sql, store, rows);
    if (rows.length > 0) return rows.length;
    const revived = await sql.run(
      "UPDATE documents SET died = NULL WHERE id IN (SELECT id FROM documents WHERE died = $1 LIMIT $2)",
      [id, SLICE_DOCUMENTS],
    );
    if (revived > 0) return revived;
    await release(sql, "died = $1", [id]);
    await deleteGeneration(sql, id);
    return 0;
  });
}

/** Takes a source out of an open draft, in slices: deletes the documents it brought, revives those it ended. */
export async function withdrawSource(
  store: CleanableStore,
  { domainId, sourceId }: SourceKey,
  draft: number,
): Promise<void> {
  const ofSource = "domain_id = $2 AND source_id = $3 AND id > $4 ORDER BY id LIMIT $5";
  for (const end of ["born", "died"] as const) {
    for (let after = 0; ; ) {
      const rows = await writeLocked(store.db, async (sql) => {
        const some = await sql.all<Pick<DocumentRow, "id" | "bodyId">>(
          `SELECT id, body_id AS "bodyId" FROM documents WHERE ${end} = $1 AND ${ofSource}`,
          [draft, domainId, sourceId, after, SLICE_DOCUMENTS],
        );
        if (end === "born") await deleteDocuments(sql, store, some);
        else await reviveDocuments(sql, some);
        await countChanges(sql, draft, end === "born" ? -some.length : 0, end === "died" ? -some.length : 0);
        return some;
      });
      if (rows.length < SLICE_DOCUMENTS) break;
      after = rows.at(-1)?.id ?? 0;
      await nextRound();
    }
  }
  await writeLocked(store.db, (sql) =>
    release(sql, "died = $1 AND domain_id = $2 AND source_id = $3", [draft, domainId, sourceId]),
  );
}

/** Rows that move to another draft in one transaction. */
const MOVE_SLICE = 2000;

/**
 * Moves additions and changes from one open draft to another, with the removal of items that became unreadable. Removals stay, and so
 * do documents with the content of a removed one, which moved between sources. Returns how many documents were moved. After a kill both
 * drafts are open, and are never committed.
 */
export async function moveBrought(
  store: Pick<Store, "db">,
  from: number,
  to: number,
  unreadable: ReadonlyMap<string, ReadonlySet<ItemId>>,
): Promise<number> {
  const move = async (column: "born" | "died", slice: string, values: Values = []): Promise<number> => {
    for (let moved = 0; ; ) {
      const some = await writeLocked(store.db, async (sql) => {
        const rows = await sql.run(
          `UPDATE documents SET ${column} = $2 WHERE id IN (SELECT d.id FROM documents d WHERE d.${column} = $1 AND ${slice} LIMIT ${MOVE_SLICE})`,
          [from, to, ...values],
        );
        const [added, removed] = column === "born" ? [rows, 0] : [0, rows];
        await countChanges(sql, from, -added, -removed);
        await countChanges(sql, to, added, removed);
        return rows;
      });
      moved += some;
      if (some < MOVE_SLICE) return moved;
      await nextRound();
    }
  };
  const ofItem = (one: string): string =>
    `${one}.domain_id = d.domain_id AND ${one}.source_id = d.source_id AND ${one}.item_id = d.item_id`;
  // `died` first: no draft may end a replaced document without bringing its replacement.
  await move("died", `EXISTS (SELECT 1 FROM documents n WHERE ${ofItem("n")} AND +n.born = $1)`);
  let moved = 0;
  for (const [sourceId, items] of unreadable) {
    const all = [...items];
    for (const slice of slicesOf(all, MOVE_SLICE)) {
      const some = `d.source_id = $3 AND ${isListed(store.db, "d.item_id", "$4", "text")}`;
      moved += await move("died", some, [sourceId, listOf(slice)]);
    }
  }
  const replaces = `EXISTS (SELECT 1 FROM documents o WHERE ${ofItem("o")} AND +o.died = $2)`;
  const moves = "EXISTS (SELECT 1 FROM documents o WHERE o.body_id = d.body_id AND +o.died = $1)";
  return moved + (await move("born", `(${replaces} OR NOT ${moves})`));
}

/**
 * Takes items out of all other drafts, open or abandoned: the last draft to write an item keeps it. A document has one `died`, so two
 * drafts must not end the same document.
 */
export async function takeFromOtherDrafts(
  sql: Sql,
  store: Pick<Store, "texts">,
  { domainId, sourceId }: SourceKey,
  items: readonly ItemId[],
  draft: number,
): Promise<void> {
  const its = `domain_id = $1 AND source_id = $2 AND ${isListed(sql, "item_id", "$3", "text")}`;
  for (const other of await otherDrafts(sql, domainId, draft)) {
    const values = [domainId, sourceId, listOf(items), other];
    const brought = await sql.all<Pick<DocumentRow, "id" | "bodyId">>(
      `SELECT id, body_id AS "bodyId" FROM documents WHERE ${its} AND +born = $4`,
      values,
    );
    await deleteDocuments(sql, store, brought);
    const revived = await sql.run(`UPDATE documents SET died = NULL WHERE ${its} AND +died = $4`, values);
    await release(sql, `${its} AND died = $4`, values);
    await countChanges(sql, other, -brought.length, -revived);
  }
}

async function reviveDocuments(sql: Sql, rows: readonly Pick<DocumentRow, "id">[]): Promise<void> {
  await sql.run(`UPDATE documents SET died = NULL WHERE ${isListed(sql, "id", "$1", "integer")}`, [
    listOf(rows.map(({ id }) => id)),
  ]);
}

async function deleteLooseBodies(store: CleanableStore): Promise<number> {
  if ((await looseBodies(store.db, 1)).length === 0) return 0;
  return writeLocked(store.db, async (sql) => {
    const seen: number[] = [];
    const unused: number[] = [];
    let chunks = 0;
    for (const body of await looseBodies(sql, SLICE_DOCUMENTS)) {
      if (chunks >= SLICE_CHUNKS) break;
      if (!body.used && body.chunks > SLICE_CHUNKS) {
        if (seen.length > 0) break;
        // Deleted in slices, so no lookup may find the rest.
        await withdrawBody(sql, body.id);
        await deleteChunksOfBodies(sql, store, [body.id], SLICE_CHUNKS);
        return 1;
      }
      seen.push(body.id);
      if (body.used) continue;
      unused.push(body.id);
      chunks += body.chunks;
    }
    await forgetLooseBodies(sql, seen);
    await deleteBodies(sql, store, unused);
    return seen.length;
  });
}

interface RetentionLimits {
  readonly crawls: number;
  /** Unix seconds. */
  readonly committedSince: number;
}

/**
 * Returns the number of the oldest generation to keep; 0 to keep all. Rows that died at or below it are garbage. Kept are the
 * generations of the last few crawls and the one before them, so that each crawl can be rolled back as a whole.
 */
async function oldestToKeep(sql: Sql, keep: RetentionLimits): Promise<number> {
  const first = await firstOfCrawls(sql, keep.crawls);
  const before = await newestBelow(sql, first);
  if (!before) return 0;
  // From the top down, so that the cost is the number of young generations and not of all.
  const youngestOld = await sql.get<{ number: number }>(
    "SELECT number FROM generations WHERE number > 0 AND committed_at < $1 ORDER BY number DESC LIMIT 1",
    [keep.committedSince],
  );
  const { shown } = await readState(sql);
  return youngestOld ? Math.min(before.number, youngestOld.number + 1, shown) : 0;
}

/**
 * The number of the first generation that one of the last `count` crawls committed; 0 when there were not as many. One
 * without a mark is a crawl of its own. Crawls may run side by side, so those of one need not lie together.
 */
async function firstOfCrawls(sql: Sql, count: number): Promise<number> {
  const marks: string[] = [];
  let at = (await readState(sql)).newest + 1;
  for (let crawl = 0; crawl < count; crawl++) {
    const newest = await newestBelow(sql, at, marks);
    if (!newest) return 0;
    at = newest.number;
    if (newest.crawl) marks.push(newest.crawl);
  }
  if (marks.length === 0) return at;
  const first = await sql.get<{ number: number }>(
    `SELECT min(number) AS number FROM generations WHERE number > 0 AND crawl IN (${placeholders(marks, 1)})`,
    marks,
  );
  return Math.min(at, first?.number ?? at);
}

/** The newest generation below a number that belongs to none of these crawls. */
function newestBelow(
  sql: Sql,
  number: number,
  marks: readonly string[] = [],
): Promise<{ readonly number: number; readonly crawl: string } | undefined> {
  const others = marks.length > 0 ? `AND crawl NOT IN (${placeholders(marks, 2)})` : "";
  return sql.get(
    `SELECT number, crawl FROM generations WHERE number > 0 AND number < $1 ${others} ORDER BY number DESC LIMIT 1`,
    [number, ...marks],
  );
}

function placeholders(values: readonly string[], from: number): string {
  return values.map((_, at) => `$${from + at}`).join(", ");
}

/** Retains documents that a draft hides, in case they return. Replaces what was retained of them before. */
export async function retainHidden(
  sql: Sql,
  documents: readonly Pick<DocumentRow, "domainId" | "sourceId" | "itemId" | "bodyId">[],
  died: number,
): Promise<void> {
  const rows = documents.flatMap(({ domainId, sourceId, itemId, bodyId }): Values[] =>
    bodyId === null ? [] : [[domainId, sourceId, itemId, bodyId, died]],
  );
  const [first] = documents;
  if (!first || rows.length === 0) return;
  await releaseItems(
    sql,
    first,
    documents.map(({ itemId }) => itemId),
  );
  await sql.insert("kept_documents (domain_id, source_id, item_id, body_id, died)", rows);
}

/** Ends the retention of these items. */
export async function releaseItems(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  items: readonly ItemId[],
): Promise<void> {
  const those = isListed(sql, "item_id", "$3", "text");
  await release(sql, `domain_id = $1 AND source_id = $2 AND ${those}`, [domainId, sourceId, listOf(items)]);
}

/** Ends the retention of items that this generation brought back. Costs what is retained of the domain, not what the generation brought. */
export async function releaseReturned(sql: Sql, domainId: string, generation: number): Promise<void> {
  const returned = `EXISTS (SELECT 1 FROM documents d WHERE d.domain_id = $1 AND d.source_id = kept_documents.source_id
    AND d.item_id = kept_documents.item_id AND +d.born = $2)`;
  await release(sql, `domain_id = $1 AND ${returned}`, [domainId, generation]);
}

/** Ends the retention of a file that was deleted. Called while its rows are still there. */
async function releaseFile(sql: Sql, fileId: string): Promise<void> {
  const itsItem = `EXISTS (SELECT 1 FROM documents d WHERE d.file_id = $1 AND d.domain_id = kept_documents.domain_id
    AND d.source_id = kept_documents.source_id AND d.item_id = kept_documents.item_id)`;
  await release(sql, itsItem, [fileId]);
}

async function release(sql: Sql, condition: string, values: Values): Promise<void> {
  const rows = await sql.all<{ bodyId: number }>(
    `DELETE FROM kept_documents WHERE ${condition} RETURNING body_id AS "bodyId"`,
    values,
  );
  await noteLooseBodies(
    sql,
    rows.map(({ bodyId }) => bodyId),
  );
}

/** Counts what cleanupOldGenerations() would delete. Scans all bodies: not for every commit. */
export async function countGarbage(db: SqlDatabase, options: RetentionNow): Promise<Reclaimed> {
  return db.read(async (sql) => {
    const horizon = await horizonAfter(sql, options);
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

/** Documents that died before every kept generation, or were brought by an abandoned one. `$1`: the oldest kept generation. */
const UNSEEN = `(coalesce(+d.died, 0) IN (SELECT id FROM generations WHERE number > 0 AND number <= $1)
  OR +d.born IN (SELECT id FROM generations WHERE number IS NULL AND committed_at IS NOT NULL))`;

function bytesOf({ dialect }: Sql): string {
  return dialect === "sqlite" ? "length(CAST(c.text AS BLOB))" : "octet_length(c.text)";
}

/** Small enough that other writers hardly wait. */
const ITEMS_AT_ONCE = 200;

/**
 * Deletes the remaining rows of items that no kept generation shows. Returns the items that one shows, which stay, as do documents of
 * open drafts. Repeatable after a kill.
 */
export async function purgeItems(
  store: Store,
  source: SourceKey,
  items: readonly ItemId[],
  options: RetentionNow & { readonly dryRun: boolean },
): Promise<ItemId[]> {
  if (options.dryRun) return await keptOf(store.db, source, items, await horizonAfter(store.db, options));
  const oldest = await raisedOldest(store.db, limitsOf(options));
  return await inItemSlices(store, items, async (sql, slice) => {
    const kept = new Set(await keptOf(sql, source, slice, oldest));
    const unseen = slice.filter((item) => !kept.has(item));
    await deleteDocuments(sql, store, await deadRows(sql, source, unseen));
    await releaseItems(sql, source, unseen);
    return [...kept];
  });
}

/** Deletes rows even if kept generations show them; those generations count them as erased. */
export async function eraseRows(
  sql: Sql,
  store: Pick<Store, "texts">,
  rows: readonly Pick<DocumentRow, "id" | "bodyId">[],
): Promise<void> {
  if (rows.length === 0) return;
  // Files attached over the wire are in every generation, and not counted.
  const spans = await sql.all<{ since: number; until: number | null; rows: number }>(
    `SELECT b.number AS since, e.number AS until, count(*) AS rows
     FROM documents d JOIN generations b ON b.id = d.born LEFT JOIN generations e ON e.id = d.died
     WHERE ${isListed(sql, "d.id", "$1", "integer")} AND b.number IS NOT NULL AND d.source_id <> '${DIRECT_SOURCE}'
     GROUP BY b.number, e.number`,
    [listOf(rows.map(({ id }) => id))],
  );
  for (const span of spans) {
    await sql.run(
      `UPDATE generations SET erased = erased + $3
       WHERE number >= $1 AND number >= (SELECT oldest FROM state WHERE id = 1) AND number < coalesce($2, ${NEWEST} + 1)`,
      [span.since, span.until, Number(span.rows)],
    );
  }
  await deleteDocuments(sql, store, rows);
  await bumpVisibleRevision(sql);
}

/** Ends the retention of items; kept generations show them until they expire. */
export async function endGracePeriod(store: Store, source: SourceKey, items: readonly ItemId[]): Promise<void> {
  await inItemSlices(store, items, async (sql, slice) => {
    await releaseItems(sql, source, slice);
    return [];
  });
}

/** Runs `work` on slices of the items, each in a transaction; returns the concatenated results. */
async function inItemSlices(
  store: Store,
  items: readonly ItemId[],
  work: (sql: Sql, some: readonly ItemId[]) => Promise<ItemId[]>,
): Promise<ItemId[]> {
  const results: ItemId[] = [];
  for (const slice of slicesOf(items, ITEMS_AT_ONCE)) {
    results.push(...(await writeLocked(store.db, (sql) => work(sql, slice))));
    await nextRound();
  }
  if (items.length === 0) return results;
  await dropLooseBodies(store);
  // The write-ahead log still has the deleted pages. An open reader keeps it; the next purge, or the last close, truncates it.
  if (store.db.dialect === "sqlite") await store.db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  return results;
}

/** Returns the items that generation `oldest` or a later one shows. */
async function keptOf(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  items: readonly ItemId[],
  oldest: number,
): Promise<ItemId[]> {
  const rows = await sql.all<{ itemId: ItemId }>(
    `SELECT DISTINCT d.item_id AS "itemId" FROM documents d
     WHERE d.domain_id = $1 AND d.source_id = $2 AND ${isListed(sql, "d.item_id", "$3", "text")}
       AND +d.born IN (SELECT id FROM generations WHERE number IS NOT NULL)
       AND (d.died IS NULL OR +d.died NOT IN (SELECT id FROM generations WHERE number <= $4))`,
    [domainId, sourceId, listOf(items), oldest],
  );
  return rows.map(({ itemId }) => itemId);
}

function deadRows(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  items: readonly ItemId[],
): Promise<Pick<DocumentRow, "id" | "bodyId">[]> {
  return sql.all(
    `SELECT d.id, d.body_id AS "bodyId" FROM documents d
     WHERE d.domain_id = $1 AND d.source_id = $2 AND ${isListed(sql, "d.item_id", "$3", "text")}
       AND +d.died IN (SELECT id FROM generations WHERE number IS NOT NULL)`,
    [domainId, sourceId, listOf(items)],
  );
}

/** Returns one page of items that the newest generation does not have, but which are retained, or shown by an earlier one. */
export async function listHiddenItems(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  page: { readonly after: string; readonly limit: number },
): Promise<ItemId[]> {
  const ended = "+h.died IN (SELECT id FROM generations WHERE number IS NOT NULL)";
  const unseen = `h.item_id > $3 AND NOT EXISTS (
    SELECT 1 FROM documents d WHERE d.domain_id = $1 AND d.source_id = $2 AND d.item_id = h.item_id
      AND ${visibleAt(NEWEST)})`;
  // One page of each table, in index order: the cost does not depend on how much is hidden.
  const pageOf = (table: string, condition: string): string =>
    `SELECT * FROM (SELECT DISTINCT h.item_id FROM ${table} h
       WHERE h.domain_id = $1 AND h.source_id = $2 AND ${condition} ORDER BY h.item_id LIMIT $4) AS page`;
  const rows = await sql.all<{ itemId: ItemId }>(
    `SELECT item_id AS "itemId" FROM (
       ${pageOf("kept_documents", unseen)} UNION ${pageOf("documents", `${ended} AND ${unseen}`)}
     ) AS pages ORDER BY item_id LIMIT $4`,
    [domainId, sourceId, page.after, page.limit],
  );
  return rows.map(({ itemId }) => itemId);
}

/** Deletes all documents of a file from every generation, which counts as erasing them. Returns how many rows it had. */
export async function deleteDocumentsOfFile(sql: Sql, store: Pick<Store, "texts">, fileId: string): Promise<number> {
  const rows = await sql.all<Pick<DocumentRow, "id" | "bodyId">>(
    `SELECT id, body_id AS "bodyId" FROM documents WHERE file_id = $1`,
    [fileId],
  );
  await releaseFile(sql, fileId);
  await eraseRows(sql, store, rows);
  return rows.length;
}
