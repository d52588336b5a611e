import type { Extractor } from "../contracts/document.ts";
import { slicesOf } from "../lib/slices-of.ts";
import type { Sql } from "../lib/sql/sql.ts";
import {
  abandonBodies,
  type BodyRow,
  beginBody,
  findBody,
  finishBody,
  growBody,
  insertBodies,
  insertChunks,
  insertSections,
  type NewBody,
  type NewChunk,
  type UnfinishedBody,
} from "./bodies.ts";
import { passageText } from "./embedding/vector-model.ts";
import { type BodySource, bodyKey, type PreparedBody, prepareBody } from "./prepare-body.ts";
import type { Space, Store } from "./store.ts";
import { writeLocked } from "./store-state.ts";

/**
 * Runs `work` in a transaction in which the store has the body of this file, an existing or a new one. Throws ExtractError if
 * the file cannot be read, and errors of the embedder; nothing is changed then.
 */
export async function withBody<T>(
  store: Store,
  extractor: Extractor,
  source: BodySource,
  signal: AbortSignal,
  work: (sql: Sql, body: BodyRow) => Promise<T>,
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
    const done = await writeLocked(store.db, async (sql) => {
      const known = await findBody(sql, key);
      if (known) return { result: await work(sql, known) };
      // Cleaned up, or embedded by an older model, meanwhile: try again.
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
  work: (sql: Sql, body: BodyRow) => Promise<T>,
): Promise<T> {
  try {
    return await writeLocked(store.db, async (sql) => {
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

/** Slice of a body per transaction: other writers wait some tenths of a second. */
const SLICE_CHUNKS = 500;
const SLICE_SECTIONS = 1000;

/** Is the body too large to be written in one transaction with its document? */
export function isLarge({ chunks, sections }: Pick<PreparedBody, "chunks" | "sections">): boolean {
  return chunks.length > SLICE_CHUNKS || sections.length > SLICE_SECTIONS;
}

/**
 * Embeds and writes all parts of a body, slice by slice. No lookup finds it before the transaction that uses it finishes it; if
 * that never happens, cleanup deletes it. Throws errors of the embedder.
 */
export async function writeAhead(store: Store, body: PreparedBody, signal: AbortSignal): Promise<UnfinishedBody> {
  const { key, title } = body;
  const id = await writeLocked(store.db, (sql) => beginBody(sql, body));
  try {
    for (const sections of slicesOf(body.sections, SLICE_SECTIONS)) {
      await writeLocked(store.db, async (sql) => {
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

/** Returns false if another space became active: vectors of this one would never be found. */
async function writeSlice(
  store: Store,
  bodyId: number,
  chunks: PreparedBody["chunks"],
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  const space = await store.spaces.active(store.db);
  const embedded = await embedChunks(space, chunks, signal);
  return writeLocked(store.db, async (sql) => {
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

/** If this fails, cleanup finds the bodies stale later. */
export async function abandon(store: Pick<Store, "db">, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await writeLocked(store.db, (sql) => abandonBodies(sql, ids)).catch(() => undefined);
}

/** Passages per call of the embedder. Yields to the event loop in between. */
const EMBED_CHUNKS = 256;
/** If so many bodies in a row fail one by one, the embedder is at fault. */
const MAX_FAILURES = 3;

/** Returns the bodies with their vectors, in order, or the error of a body that could not be embedded. Throws only when aborted. */
export async function embedBodies(
  space: Space,
  bodies: readonly PreparedBody[],
  signal: AbortSignal,
): Promise<(NewBody | EmbedFailure)[]> {
  const results: (NewBody | EmbedFailure)[] = [];
  let failures = 0;
  for (const slice of bodySlices(bodies)) {
    const together = failures < MAX_FAILURES ? await attempt(space, slice, signal) : undefined;
    if (together && !("failure" in together)) {
      results.push(...together);
      failures = 0;
      continue;
    }
    let last: EmbedFailure | undefined = together;
    for (const body of slice) {
      const alone = last && failures >= MAX_FAILURES ? last : await attempt(space, [body], signal);
      if ("failure" in alone) last = alone;
      failures = "failure" in alone ? failures + 1 : 0;
      results.push(...("failure" in alone ? [alone] : alone));
    }
  }
  return results;
}

export interface EmbedFailure {
  readonly failure: unknown;
}

async function attempt(
  space: Space,
  bodies: readonly PreparedBody[],
  signal: AbortSignal,
): Promise<NewBody[] | EmbedFailure> {
  try {
    return await embedTogether(space, bodies, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { failure: error };
  }
}

/** Throws errors of the embedder. */
export async function embedTogether(
  space: Space,
  bodies: readonly PreparedBody[],
  signal: AbortSignal,
): Promise<NewBody[]> {
  const all = await embedChunks(
    space,
    bodies.flatMap(({ chunks }) => chunks),
    signal,
  );
  let next = 0;
  return bodies.map((body) => {
    const from = next;
    next += body.chunks.length;
    return { ...body, chunks: all.slice(from, next) };
  });
}

/** Throws errors of the embedder. */
async function embedChunks(
  { embedder }: Space,
  chunks: PreparedBody["chunks"],
  signal: AbortSignal,
): Promise<NewChunk[]> {
  const vectors = chunks.length === 0 ? [] : await embedder.embed(chunks.map(passageText), signal);
  return chunks.map((chunk, at) => ({ ...chunk, vector: vectors[at] ?? null }));
}

function* bodySlices(bodies: readonly PreparedBody[]): Generator<PreparedBody[]> {
  let slice: PreparedBody[] = [];
  let chunks = 0;
  for (const body of bodies) {
    slice.push(body);
    chunks += body.chunks.length;
    if (chunks < EMBED_CHUNKS) continue;
    yield slice;
    slice = [];
    chunks = 0;
  }
  if (slice.length > 0) yield slice;
}
