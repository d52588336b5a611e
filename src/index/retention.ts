import { setImmediate as nextRound } from "node:timers/promises";
import type { ItemId } from "../contracts/ids.ts";
import type { Reclaimed } from "../contracts/search-index.ts";
import { isListed, listOf } from "../lib/sql/is-listed.ts";
import type { Sql, SqlDatabase, Values } from "../lib/sql/sql.ts";
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
  deleteGeneration,
  deleteGenerationIfEmpty,
  raiseOldest,
  visibleAt,
} from "./generations.ts";
import type { Store } from "./store.ts";
import { bumpVisibleRevision, readState, refuseIfPinned, writeInTurn } from "./store-state.ts";

/** What stays readable after a commit: the states before and after each of the last few crawls, and all younger than this. */
export interface Retention {
  readonly crawls: number;
  readonly seconds: number;
}

export const DEFAULT_RETENTION: Retention = { crawls: 3, seconds: 24 * 3600 };

const SLICE_DOCUMENTS = 200;
const SLICE_CHUNKS = 1000;

/** How much to do, and what is called between two slices of it. */
interface Pace {
  readonly budget: number;
  readonly checkpoint?: () => Promise<void>;
}

/** All there is, without a break. */
export const ALL_OF_IT: Pace = { budget: Number.POSITIVE_INFINITY };

type Cleaned = Pick<Store, "db" | "texts" | "vectors">;

/**
 * Removes what no kept generation can see, in slices with a short lock each, up to about `budget` documents and as many
 * bodies. Whatever is left (also after a crash) is found again by the next call.
 */
export async function cleanupOldGenerations(
  store: Cleaned,
  options: { readonly retention: Retention; readonly nowSeconds: number } & Pace,
): Promise<void> {
  const oldest = await raisedOldest(store.db, keepOf(options));
  await inSlices(options, () => deleteUnseenDocuments(store, oldest));
  await sweepAbandoned(store, options);
  await dropLooseBodies(store, options);
}

function keepOf({ retention, nowSeconds }: { readonly retention: Retention; readonly nowSeconds: number }): Keep {
  return { crawls: retention.crawls, committedSince: nowSeconds - retention.seconds };
}

/** Looks before it locks: mostly there is nothing to raise. What counts is what it finds inside: a rollback may have come first. */
async function raisedOldest(db: SqlDatabase, keep: Keep): Promise<number> {
  const { oldest } = await readState(db);
  if ((await cleanupHorizon(db, keep)) <= oldest) return oldest;
  return writeInTurn(db, async (sql) => {
    await raiseOldest(sql, await cleanupHorizon(sql, keep));
    return (await readState(sql)).oldest;
  });
}

/** Undoes what never came to be, or was rolled back for good: what it brought goes, what it would have ended lives on. */
export async function sweepAbandoned(store: Cleaned, pace: Pace = ALL_OF_IT): Promise<void> {
  for (const id of await abandonedGenerations(store.db)) {
    await inSlices(pace, () => deleteSomeOfGeneration(store, id));
  }
}

/** Bodies that lost their last document or never got one, as the pace allows. */
export async function dropLooseBodies(store: Cleaned, pace: Pace = ALL_OF_IT): Promise<void> {
  await abandonStaleBodies(store.db);
  await inSlices(pace, () => deleteLooseBodies(store));
}

/** Until there is nothing left or the budget is used up. Other work of the process runs between two slices. */
async function inSlices({ budget, checkpoint }: Pace, slice: () => Promise<number>): Promise<void> {
  for (let spent = 0; spent < budget; ) {
    const done = await slice();
    if (done === 0) return;
    spent += done;
    await checkpoint?.();
    await nextRound();
  }
}

async function deleteUnseenDocuments(store: Cleaned, oldest: number): Promise<number> {
  if ((await unseenDocuments(store.db, oldest, 1)).length === 0) return 0;
  return writeInTurn(store.db, async (sql) => {
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

/** Steps over the generations in which something died, not over documents: a commit must not pay for the store's size. */
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

/** 0 when the generation is gone. */
async function deleteSomeOfGeneration(store: Cleaned, id: number): Promise<number> {
  return writeInTurn(store.db, async (sql) => {
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
    await releaseHiddenBy(sql, id);
    await deleteGeneration(sql, id);
    return 0;
  });
}

async function deleteLooseBodies(store: Cleaned): Promise<number> {
  if ((await looseBodies(store.db, 1)).length === 0) return 0;
  return writeInTurn(store.db, async (sql) => {
    const seen: number[] = [];
    const unused: number[] = [];
    let chunks = 0;
    for (const body of await looseBodies(sql, SLICE_DOCUMENTS)) {
      if (chunks >= SLICE_CHUNKS) break;
      if (!body.used && body.chunks > SLICE_CHUNKS) {
        if (seen.length > 0) break;
        // It shrinks slice by slice, so nobody may find what is left of it.
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

interface Keep {
  readonly crawls: number;
  /** Unix seconds. */
  readonly committedSince: number;
}

/**
 * Nothing that died at or below this number can be seen by a generation worth keeping; 0 when all are. Kept are what the
 * last few crawls committed and the state before the first of them, so each of them can be taken back as a whole.
 */
async function cleanupHorizon(sql: Sql, keep: Keep): Promise<number> {
  const first = await firstOfCrawls(sql, keep.crawls);
  const before = await newestBelow(sql, first);
  if (!before) return 0;
  // From the top down, so that the cost is the number of young generations and not of all.
  const youngestOld = await sql.get<{ number: number }>(
    "SELECT number FROM generations WHERE number > 0 AND committed_at < $1 ORDER BY number DESC LIMIT 1",
    [keep.committedSince],
  );
  return youngestOld ? Math.min(before.number, youngestOld.number + 1) : 0;
}

/**
 * The number of the first generation that one of the last `count` crawls committed; 0 when there were not as many. One
 * without a mark is a crawl of its own. Crawls may run side by side, so those of one need not lie together.
 */
async function firstOfCrawls(sql: Sql, count: number): Promise<number> {
  const state = await sql.get<{ active: number }>("SELECT active FROM state WHERE id = 1");
  const marks: string[] = [];
  let at = (state?.active ?? 0) + 1;
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

/** Hidden by a draft, and kept in case they return. One that was kept before is kept as it is now. */
export async function keepHidden(
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

/** They need not be kept any longer. */
async function releaseItems(sql: Sql, { domainId, sourceId }: SourceKey, items: readonly ItemId[]): Promise<void> {
  const those = isListed(sql, "item_id", "$3", "text");
  await release(sql, `domain_id = $1 AND source_id = $2 AND ${those}`, [domainId, sourceId, listOf(items)]);
}

/** What this generation brought has returned. Costs what is kept of the source, not what the generation brought. */
export async function releaseReturned(sql: Sql, { domainId, sourceId }: SourceKey, generation: number): Promise<void> {
  const returned = `EXISTS (SELECT 1 FROM documents d WHERE d.domain_id = $1 AND d.source_id = $2
    AND d.item_id = kept_documents.item_id AND +d.born = $3)`;
  await release(sql, `domain_id = $1 AND source_id = $2 AND ${returned}`, [domainId, sourceId, generation]);
}

/** What this generation hid was never hidden: it was abandoned. */
async function releaseHiddenBy(sql: Sql, generation: number): Promise<void> {
  await release(sql, "died = $1", [generation]);
}

/** Somebody deleted the file itself. To be called while it still has its rows. */
export async function releaseFile(sql: Sql, fileId: string): Promise<void> {
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

/** What cleanupOldGenerations() would take away. Looks at every body: for whoever asks, not for every commit. */
export async function countUnseen(
  db: SqlDatabase,
  options: { readonly retention: Retention; readonly nowSeconds: number },
): Promise<Reclaimed> {
  return db.read(async (sql) => {
    const horizon = Math.max((await readState(sql)).oldest, await cleanupHorizon(sql, keepOf(options)));
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

/** Ended before every kept generation, or brought by one that was abandoned. `$1`: the oldest that is kept. */
const UNSEEN = `(coalesce(+d.died, 0) IN (SELECT id FROM generations WHERE number > 0 AND number <= $1)
  OR +d.born IN (SELECT id FROM generations WHERE number IS NULL AND committed_at IS NOT NULL))`;

function bytesOf({ dialect }: Sql): string {
  return dialect === "sqlite" ? "length(CAST(c.text AS BLOB))" : "octet_length(c.text)";
}

/** Small enough that others get their turn in between. */
const ITEMS_AT_ONCE = 200;

/**
 * Final in all generations of the store, for items that the active one does not show; those that it shows are left alone, and
 * told. What a draft is bringing just now stays. ConflictError while the store is rolled back: what nobody sees now may be what
 * they go forward to. Killed half-way, it may be repeated.
 */
export async function forgetItems(store: Store, source: SourceKey, items: readonly ItemId[]): Promise<ItemId[]> {
  return await inTurns(store, items, async (sql, some) => {
    await refuseIfPinned(sql, "forget documents of", source);
    const seen = new Set(await visibleOf(sql, source, some));
    const unseen = some.filter((item) => !seen.has(item));
    const rows = await deadRows(sql, source, unseen);
    await deleteDocuments(sql, store, rows);
    await releaseItems(sql, source, unseen);
    if (rows.length > 0) await bumpVisibleRevision(sql);
    return [...seen];
  });
}

/** They need not be kept in case they return; what kept generations show of them stays as long as those do. */
export async function letGoOfItems(store: Store, source: SourceKey, items: readonly ItemId[]): Promise<void> {
  await inTurns(store, items, async (sql, some) => {
    await releaseItems(sql, source, some);
    return [];
  });
}

/** Gathers what each turn says. */
async function inTurns(
  store: Store,
  items: readonly ItemId[],
  work: (sql: Sql, some: readonly ItemId[]) => Promise<ItemId[]>,
): Promise<ItemId[]> {
  const said: ItemId[] = [];
  for (let at = 0; at < items.length; at += ITEMS_AT_ONCE) {
    said.push(...(await writeInTurn(store.db, (sql) => work(sql, items.slice(at, at + ITEMS_AT_ONCE)))));
    await nextRound();
  }
  if (items.length === 0) return said;
  await dropLooseBodies(store);
  // The log of a SQLite file has pages as they were before. Whoever reads just now keeps it; the next purge, or the last to close, empties it.
  if (store.db.dialect === "sqlite") await store.db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  return said;
}

async function visibleOf(sql: Sql, { domainId, sourceId }: SourceKey, items: readonly ItemId[]): Promise<ItemId[]> {
  const rows = await sql.all<{ itemId: ItemId }>(
    `SELECT DISTINCT d.item_id AS "itemId" FROM documents d
     WHERE d.domain_id = $1 AND d.source_id = $2 AND ${isListed(sql, "d.item_id", "$3", "text")}
       AND ${visibleAt("(SELECT active FROM state WHERE id = 1)")}`,
    [domainId, sourceId, listOf(items)],
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
       AND +d.died IN (SELECT id FROM generations WHERE number <= (SELECT active FROM state WHERE id = 1))`,
    [domainId, sourceId, listOf(items)],
  );
}

const ACTIVE = "(SELECT active FROM state WHERE id = 1)";

/** One page of the items that the active generation does not show and that may return, or that an earlier one shows. */
export async function hiddenItems(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  page: { readonly after: string; readonly limit: number },
): Promise<ItemId[]> {
  const ended = `+h.died IN (SELECT id FROM generations WHERE number <= ${ACTIVE})`;
  const unseen = `h.item_id > $3 AND NOT EXISTS (
    SELECT 1 FROM documents d WHERE d.domain_id = $1 AND d.source_id = $2 AND d.item_id = h.item_id
      AND ${visibleAt(ACTIVE)})`;
  // A page from either table, in the order of its index: a page costs what it has, however much is hidden.
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

/** Final: gone from every generation, not only from the active one. How many rows it had. */
export async function deleteDocumentsOfFile(sql: Sql, store: Pick<Store, "texts">, fileId: string): Promise<number> {
  const rows = await sql.all<Pick<DocumentRow, "id" | "bodyId">>(
    `SELECT id, body_id AS "bodyId" FROM documents WHERE file_id = $1`,
    [fileId],
  );
  await releaseFile(sql, fileId);
  await deleteDocuments(sql, store, rows);
  return rows.length;
}
