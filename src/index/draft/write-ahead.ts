import { insertChunks } from "../storage/chunks.ts";
import { insertSections } from "../storage/sections.ts";
import { writeInTurn } from "../storage/state.ts";
import type { Store } from "../storage/store.ts";
import { abandonBodies, beginBody, growBody, type UnfinishedBody } from "../storage/unfinished-bodies.ts";
import { embedChunks } from "./embed-bodies.ts";
import type { PreparedBody } from "./prepare-body.ts";

/** What one transaction takes of a body: some tenths of a second, for which other writers wait. */
const SLICE_CHUNKS = 500;
const SLICE_SECTIONS = 1000;

/** Too large to be written in one transaction together with the document. */
export function isLarge({ chunks, sections }: Pick<PreparedBody, "chunks" | "sections">): boolean {
  return chunks.length > SLICE_CHUNKS || sections.length > SLICE_SECTIONS;
}

/**
 * Embeds and writes all parts of a body, slice by slice. Nobody finds it before it is finished, which belongs into the
 * transaction that names it; if that never comes, cleanup takes it away. Throws what the embedder throws.
 */
export async function writeAhead(store: Store, body: PreparedBody, signal: AbortSignal): Promise<UnfinishedBody> {
  const { key, title } = body;
  const id = await writeInTurn(store.db, (sql) => beginBody(sql, body));
  try {
    for (const sections of slicesOf(body.sections, SLICE_SECTIONS)) {
      await writeInTurn(store.db, async (sql) => {
        await growBody(sql, id);
        await insertSections(
          sql,
          sections.map((section) => ({ ...section, bodyId: id })),
        );
      });
    }
    for (const chunks of slicesOf(body.chunks, SLICE_CHUNKS)) {
      while (!(await writeSlice(store, id, chunks, signal)));
    }
    return { id, key, title };
  } catch (error) {
    await abandon(store, [id]);
    throw error;
  }
}

/** false: another space has become the active one, and vectors of this one would never be found. What is written is in both. */
async function writeSlice(
  store: Store,
  bodyId: number,
  chunks: PreparedBody["chunks"],
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  const space = await store.spaces.active(store.db);
  const embedded = await embedChunks(space, chunks, signal);
  return writeInTurn(store.db, async (sql) => {
    await growBody(sql, bodyId);
    if ((await store.spaces.active(sql)).id !== space.id) return false;
    await insertChunks(
      sql,
      store,
      embedded.map((chunk) => ({ ...chunk, bodyId })),
      space.id,
    );
    return true;
  });
}

/** When it fails, the bodies are found stale later. */
export async function abandon(store: Pick<Store, "db">, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await writeInTurn(store.db, (sql) => abandonBodies(sql, ids)).catch(() => undefined);
}

function* slicesOf<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size);
}
