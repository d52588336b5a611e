import type { Embedder } from "../../contracts/embedder.ts";
import { CancelledError } from "../../contracts/errors.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import type { Space, SpaceKeeper, Store } from "../store.ts";
import { bumpVisibleRevision, lockState, writeLocked } from "../store-state.ts";
import { createLearntModel } from "./learnt-model.ts";
import { activateSpace, activeSpace, deleteSpace, insertSpace, learntOf, listSpaces, type SpaceRow } from "./spaces.ts";
import type { Report, VectorModel } from "./vector-model.ts";
import { passageText } from "./vector-model.ts";

/** Learnt models take megabytes each; a server has a few stores that are searched all the time. */
const MAX_EMBEDDERS = 16;

/**
 * Keeps the vectors of stores on the configured model. Vectors of the old model are used until all new ones are there; if the old
 * model is unavailable, searches use words only. Serves any number of stores.
 */
export function createSpaceKeeper(model: VectorModel): SpaceKeeper {
  const embedders = new Map<string, Embedder>();
  const checked = new WeakMap<SqlDatabase, FilledRange>();
  // A store that was made with the built-in model still works, whatever model is configured now.
  const builtIn = createLearntModel();
  const embedderOf = async (sql: Sql, row: SpaceRow): Promise<Embedder> => {
    const key = `${row.model} ${row.revision} ${row.dimensions}`;
    let embedder = embedders.get(key);
    if (!embedder) {
      const learnt = (): Promise<Uint8Array | null> => learntOf(sql, row.id);
      embedder = (await model.embedderOf(row, learnt)) ?? (await builtIn.embedderOf(row, learnt));
      embedder ??= createNullEmbedder(row);
      if (embedders.size >= MAX_EMBEDDERS) embedders.delete(embedders.keys().next().value ?? "");
      embedders.set(key, embedder);
    }
    return embedder;
  };
  const active = async (sql: Sql): Promise<SpaceRow> => (await activeSpace(sql)) ?? makeFirst(sql, await model.first());
  return {
    async active(sql, adding = 0): Promise<Space> {
      const row = await active(sql);
      const isOutgrown = await model.isOutgrown?.(sql, row, adding);
      return { id: row.id, embedder: isOutgrown ? createNullEmbedder(row) : await embedderOf(sql, row) };
    },
    async find(sql, spaceId) {
      const row = (await listSpaces(sql)).find(({ id }) => id === spaceId);
      return row && { id: row.id, embedder: await embedderOf(sql, row) };
    },
    async refresh(store, report, signal, mayAnswer = async () => true) {
      const row = await active(store.db);
      const next = await nextSpace(store, model, row, report, signal);
      const space = { id: next.id, embedder: await embedderOf(store.db, next) };
      const known = checked.get(store.db);
      const from = known?.spaceId === space.id ? known.upTo : 0;
      const upTo = await fillSpace(store, space, from, report, signal);
      if (upTo !== undefined) {
        checked.set(store.db, { spaceId: space.id, upTo });
        const isNew = next.id !== row.id;
        if (isNew && !(await mayAnswer(space.id))) return;
        if (isNew) await activateWhenComplete(store, space, upTo, report, signal);
      }
      for (const { id, active } of await listSpaces(store.db)) if (active === 0) await dropSpace(store, id, signal);
    },
    async forgetLearnt({ db }) {
      // No model reads this revision, so the space is replaced by the next refresh, and no process uses a copy of it any more.
      const forget = "UPDATE spaces SET learnt = NULL, revision = 'erased' WHERE learnt IS NOT NULL";
      return await writeLocked(db, async (sql) => {
        const forgotten = await sql.run(forget);
        if (forgotten > 0) await bumpVisibleRevision(sql);
        return forgotten > 0;
      });
    },
  };
}

/** All chunks up to this one have a vector in the space. That does not change: vectors are deleted only with their chunks or the space. */
interface FilledRange {
  readonly spaceId: number;
  readonly upTo: number;
}

/** Another process may have created it meanwhile, so outside of a transaction this starts its own. */
async function makeFirst(sql: Sql | SqlDatabase, embedder: Embedder): Promise<SpaceRow> {
  if ("write" in sql) return writeLocked(sql, (own) => makeFirst(own, embedder));
  await lockState(sql);
  return (await activeSpace(sql)) ?? insertSpace(sql, { ...describe(embedder), learnt: null, active: 1 });
}

/** Returns the space to fill: the active one, an unfinished one, or a new one. */
async function nextSpace(
  store: Store,
  model: VectorModel,
  active: SpaceRow,
  report: Report,
  signal: AbortSignal,
): Promise<SpaceRow> {
  const unfinished = (await listSpaces(store.db)).find((space) => space.active === 0);
  const successor = await model.successor(store, active, unfinished, report, signal);
  if (successor === undefined) return active;
  if ("id" in successor) return successor;
  return writeLocked(store.db, async (sql) => {
    const wanted = describe(successor.embedder);
    const same = (await listSpaces(sql)).find(
      ({ model, revision }) => model === wanted.model && revision === wanted.revision,
    );
    return same ?? insertSpace(sql, { ...wanted, learnt: successor.learnt, active: 0 });
  });
}

function describe({ model, revision, dimensions }: Embedder): { model: string; revision: string; dimensions: number } {
  return { model, revision, dimensions };
}

/** One page is read, embedded and written; a kill loses at most this much work. */
const PAGE = 500;
/** One query covers this many ids: a store of a million passages must not be searched for gaps at once. */
const STRIDE = 20_000;
/** Deleting a million rows at once would block every writer. */
const DROP_SLICE = 5000;

/**
 * Embeds every chunk after `checked` that has no vector in the space. Continues after a kill, because written vectors stay. Returns the
 * last chunk it knows; undefined if the model is unavailable, or another process dropped the space meanwhile.
 */
async function fillSpace(
  store: Store,
  space: Space,
  checked: number,
  report: Report,
  signal: AbortSignal,
): Promise<number | undefined> {
  const total = await countChunks(store.db);
  let done = 0;
  for (let after = checked; ; ) {
    if (signal.aborted) throw new CancelledError("embed passages: cancelled");
    const last = await lastChunk(store.db);
    if (after >= last) return after;
    const upTo = Math.min(after + STRIDE, last);
    const page = await lacking(store.db, space.id, after, upTo);
    if (page.length > 0) {
      const vectors = await space.embedder.embed(page.map(passageText), signal);
      if (vectors.length === 0) return undefined;
      if (!(await writeLocked(store.db, (sql) => addVectors(store, sql, space, page, vectors)))) return undefined;
      done += page.length;
      if (total > PAGE)
        report(`[ ${Math.min(done, total)} / ${total} ] Embedding passages with ${space.embedder.model}`);
    }
    after = page.length < PAGE ? upTo : (page.at(-1)?.chunkId ?? upTo);
  }
}

/** Activates the space if it is complete, in one transaction: no chunk can be added between the check and the switch. `checked`: as fillSpace returned it. */
async function activateWhenComplete(
  store: Store,
  space: Space,
  checked: number,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  for (let after: number | undefined = checked; after !== undefined; ) {
    const from: number = after;
    const done = await writeLocked(store.db, async (sql) => {
      if (!(await isThere(sql, space.id))) return true;
      if ((await lacking(sql, space.id, from, Number.MAX_SAFE_INTEGER)).length > 0) return false;
      await activateSpace(sql, space.id);
      return true;
    });
    if (done) return;
    after = await fillSpace(store, space, from, report, signal);
  }
}

async function dropSpace(store: Store, spaceId: number, signal: AbortSignal): Promise<void> {
  for (let dropped = DROP_SLICE; dropped >= DROP_SLICE; ) {
    if (signal.aborted) throw new CancelledError("drop old vectors: cancelled");
    dropped = await writeLocked(store.db, (sql) =>
      sql.run(
        `DELETE FROM vectors WHERE space_id = $1 AND chunk_id IN
           (SELECT chunk_id FROM vectors WHERE space_id = $1 ORDER BY chunk_id LIMIT ${DROP_SLICE})`,
        [spaceId],
      ),
    );
  }
  await writeLocked(store.db, async (sql) => {
    await store.vectors.drop(sql, spaceId);
    await deleteSpace(sql, spaceId);
  });
}

interface ChunkToEmbed {
  readonly chunkId: number;
  readonly bodyId: number;
  readonly sectionPath: string;
  readonly text: string;
}

const LACKING = `FROM chunks c LEFT JOIN vectors v ON v.space_id = $1 AND v.chunk_id = c.id
  WHERE c.id > $2 AND c.id <= $3 AND v.chunk_id IS NULL`;

async function lacking(sql: Sql, spaceId: number, after: number, upTo: number): Promise<ChunkToEmbed[]> {
  return sql.all<ChunkToEmbed>(
    `SELECT c.id AS "chunkId", c.body_id AS "bodyId", c.section_path AS "sectionPath", c.text
     ${LACKING} ORDER BY c.id LIMIT ${PAGE}`,
    [spaceId, after, upTo],
  );
}

async function lastChunk(sql: Sql): Promise<number> {
  return Number((await sql.get<{ id: number | null }>("SELECT MAX(id) AS id FROM chunks"))?.id ?? 0);
}

async function countChunks(sql: Sql): Promise<number> {
  return Number((await sql.get<{ n: number }>("SELECT COUNT(*) AS n FROM chunks"))?.n ?? 0);
}

/** Chunks may have been deleted, embedded by another process, or the space dropped, while these were being embedded. */
async function addVectors(
  store: Store,
  sql: Sql,
  space: Space,
  page: readonly ChunkToEmbed[],
  vectors: readonly Float32Array[],
): Promise<boolean> {
  if (!(await isThere(sql, space.id))) return false;
  const rows = await sql.all<{ id: number }>(`SELECT c.id ${LACKING}`, [
    space.id,
    (page[0]?.chunkId ?? 1) - 1,
    page.at(-1)?.chunkId ?? 0,
  ]);
  const open = new Set(rows.map(({ id }) => Number(id)));
  const wanted = page.flatMap(({ chunkId, bodyId }, at) => {
    const vector = vectors[at];
    return vector && open.has(chunkId) ? [{ chunkId, bodyId, vector }] : [];
  });
  await store.vectors.add(sql, space.id, wanted);
  return true;
}

async function isThere(sql: Sql, spaceId: number): Promise<boolean> {
  return (await sql.get("SELECT id FROM spaces WHERE id = $1", [spaceId])) !== undefined;
}

/**
 * Stands in for an unavailable model. Returns no vectors, so searches use words only, and passages added meanwhile get their vectors
 * when the model is available again.
 */
function createNullEmbedder(of: Omit<Embedder, "embed">): Embedder {
  const { model, revision, dimensions } = of;
  return { model, revision, dimensions, embed: async () => [] };
}
