import { setImmediate as nextRound } from "node:timers/promises";
import type { Sql } from "../lib/sql/sql.ts";
import { ANALYZER_REVISION, analyze, labelWords } from "./analyzer.ts";
import { chunksAfter } from "./bodies.ts";
import type { Store } from "./store.ts";
import { readState, writeLocked } from "./store-state.ts";

/** Analysed without yielding to the event loop. */
const PAGE = 100;

type IndexedStore = Pick<Store, "db" | "texts">;

/**
 * Rebuilds the words of all passages and labels if another revision of the analyzer made them: words of two revisions do not
 * match. Works page by page, so that others can write meanwhile; after a crash it starts again.
 */
export async function rebuildWords(store: IndexedStore): Promise<void> {
  if ((await readState(store.db)).analyzer === ANALYZER_REVISION) return;
  await forEachPage((afterId) => writeLocked(store.db, (sql) => rebuildChunks(sql, store, afterId)));
  await forEachPage((afterId) => writeLocked(store.db, (sql) => rebuildLabels(sql, store, afterId)));
  await store.db.run("UPDATE state SET analyzer = $1, visible_revision = visible_revision + 1 WHERE id = 1", [
    ANALYZER_REVISION,
  ]);
}

/** `page` returns the last id of its page, or undefined when there are no more. */
async function forEachPage(page: (afterId: number) => Promise<number | undefined>): Promise<void> {
  for (let afterId: number | undefined = 0; afterId !== undefined; ) {
    afterId = await page(afterId);
    await nextRound();
  }
}

async function rebuildChunks(sql: Sql, { texts }: IndexedStore, afterId: number): Promise<number | undefined> {
  const chunks = await chunksAfter(sql, afterId, PAGE);
  await texts.removeChunks(
    sql,
    chunks.map(({ id }) => id),
  );
  await texts.addChunks(
    sql,
    chunks.map(({ id, sectionPath, text }) => ({
      chunkId: id,
      headings: analyze(sectionPath),
      text: analyze(text),
    })),
  );
  return chunks.at(-1)?.id;
}

async function rebuildLabels(sql: Sql, { texts }: IndexedStore, afterId: number): Promise<number | undefined> {
  const rows = await sql.all<{ id: number; name: string; path: string; title: string }>(
    `SELECT d.id, d.name, d.path, coalesce(b.title, '') AS title FROM documents d LEFT JOIN bodies b ON b.id = d.body_id
     WHERE d.id > $1 ORDER BY d.id LIMIT $2`,
    [afterId, PAGE],
  );
  await texts.removeLabels(
    sql,
    rows.map(({ id }) => id),
  );
  await texts.addLabels(
    sql,
    rows.map((row) => ({ documentId: row.id, ...labelWords(row) })),
  );
  return rows.at(-1)?.id;
}
