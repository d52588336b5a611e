import { ExtractError, type Extractor } from "../../contracts/document.ts";
import { explain } from "../../contracts/errors.ts";
import { labelWords } from "../../index/analyzer.ts";
import { noteLooseBodies, type StoredBody } from "../../index/bodies.ts";
import { parseChunkingKey } from "../../index/chunk-sections.ts";
import { activeDocument, actualPath, type DocumentRow } from "../../index/documents.ts";
import type { Store } from "../../index/store.ts";
import { bumpVisibleRevision, writeInTurn } from "../../index/store-state.ts";
import { withBody } from "../../index/write-body.ts";
import type { Sql } from "../../lib/sql/sql.ts";

export interface Failure {
  readonly code: "unsupported_file" | "invalid_file" | "server_error";
  readonly message: string;
}

/**
 * Makes an attached file searchable, or says in its row why it cannot be. Does nothing when it was detached, cancelled or
 * attached otherwise meanwhile. `failure`: it has failed already, and only has to be told so.
 */
export async function processFile(
  store: Store,
  fileId: string,
  how: { readonly extractor: Extractor; readonly failure: Failure | undefined; readonly signal: AbortSignal },
): Promise<void> {
  const row = await activeDocument(store.db, fileId);
  if (row?.status !== "in_progress") return;
  const failure = how.failure ?? (await tryToProcess(store, row, how));
  if (failure) await writeInTurn(store.db, (sql) => fail(sql, row, failure));
}

async function tryToProcess(
  store: Store,
  row: DocumentRow,
  { extractor, signal }: { readonly extractor: Extractor; readonly signal: AbortSignal },
): Promise<Failure | undefined> {
  const { sha256, fileType } = row;
  const source = { path: actualPath(store, row.file), sha256, fileType, chunking: parseChunkingKey(row.chunking) };
  try {
    await withBody(store, extractor, source, signal, (sql, body) => complete(sql, store, row, body));
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ExtractError) return { code: error.code, message: error.message };
    return { code: "server_error", message: explain(error) };
  }
}

async function complete(sql: Sql, store: Store, row: DocumentRow, body: StoredBody): Promise<void> {
  const now = await current(sql, row);
  // A body without a document would never be cleaned up.
  await noteLooseBodies(
    sql,
    now && now.bodyId !== null && now.bodyId !== body.id ? [now.bodyId] : now ? [] : [body.id],
  );
  if (!now) return;
  await sql.run(
    `UPDATE documents SET status = 'completed', body_id = $1, embedded_at = $2, error_code = NULL, error_message = NULL
     WHERE id = $3`,
    [body.id, Math.floor(Date.now() / 1000), row.id],
  );
  await store.texts.removeLabels(sql, [row.id]);
  await store.texts.addLabels(sql, [{ documentId: row.id, ...labelWords({ ...row, title: body.title }) }]);
  await bumpVisibleRevision(sql);
}

/** Nothing outdated is served: what an earlier processing made of the file goes. */
async function fail(sql: Sql, row: DocumentRow, failure: Failure): Promise<void> {
  const now = await current(sql, row);
  if (!now) return;
  if (now.bodyId !== null) await noteLooseBodies(sql, [now.bodyId]);
  await sql.run(
    "UPDATE documents SET status = 'failed', body_id = NULL, error_code = $1, error_message = $2 WHERE id = $3",
    [failure.code, failure.message, row.id],
  );
  await bumpVisibleRevision(sql);
}

/** undefined when the row is not any more what was begun with. */
async function current(sql: Sql, row: DocumentRow): Promise<Pick<DocumentRow, "bodyId"> | undefined> {
  return sql.get<Pick<DocumentRow, "bodyId">>(
    `SELECT body_id AS "bodyId" FROM documents WHERE id = $1 AND status = 'in_progress' AND chunking = $2`,
    [row.id, row.chunking],
  );
}
