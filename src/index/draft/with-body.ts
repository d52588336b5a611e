import type { Extractor } from "../../contracts/document.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import { findBody, insertBodies, type StoredBody } from "../storage/bodies.ts";
import { writeInTurn } from "../storage/state.ts";
import type { Store } from "../storage/store.ts";
import { abandonBodies, finishBody, type UnfinishedBody } from "../storage/unfinished-bodies.ts";
import { embedTogether } from "./embed-bodies.ts";
import { type BodySource, bodyKey, type PreparedBody, prepareBody } from "./prepare-body.ts";
import { abandon, isLarge, writeAhead } from "./write-ahead.ts";

/**
 * Runs `work` in a transaction in which the body of these bytes is in the store: the one that is there, or a new one.
 * Throws ExtractError when the bytes cannot be read, and whatever the embedder throws; then nothing was changed.
 */
export async function withBody<T>(
  store: Store,
  extractor: Extractor,
  source: BodySource,
  signal: AbortSignal,
  work: (sql: Sql, body: StoredBody) => Promise<T>,
): Promise<T> {
  const key = bodyKey(extractor, source);
  let prepared: PreparedBody | undefined;
  for (;;) {
    signal.throwIfAborted();
    if (!prepared && !(await findBody(store.db, key))) prepared = await prepareBody(extractor, source, signal);
    if (prepared && isLarge(prepared)) {
      return withLargeBody(store, await writeAhead(store, prepared, signal), work);
    }
    const space = await store.spaces.active(store.db);
    const bodies = prepared ? await embedTogether(space, [prepared], signal) : [];
    const done = await writeInTurn(store.db, async (sql) => {
      const known = await findBody(sql, key);
      if (known) return { result: await work(sql, known) };
      // Cleaned up or embedded by an older model in the meantime: once more.
      if (bodies.length === 0 || (await store.spaces.active(sql)).id !== space.id) return undefined;
      const [body] = await insertBodies(sql, store, bodies, space.id);
      return body && { result: await work(sql, body) };
    });
    if (done) return done.result;
  }
}

async function withLargeBody<T>(
  store: Store,
  body: UnfinishedBody,
  work: (sql: Sql, body: StoredBody) => Promise<T>,
): Promise<T> {
  try {
    return await writeInTurn(store.db, async (sql) => {
      const known = await findBody(sql, body.key);
      if (known) await abandonBodies(sql, [body.id]);
      else await finishBody(sql, body);
      return work(sql, known ?? body);
    });
  } catch (error) {
    await abandon(store, [body.id]);
    throw error;
  }
}
