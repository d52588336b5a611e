import { setImmediate as nextRound } from "node:timers/promises";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { deleteBodies, forgetLooseBodies, looseBodies } from "./bodies.ts";
import { deleteChunksOfBodies } from "./chunks.ts";
import { cleanupHorizon, type Keep } from "./cleanup-horizon.ts";
import { type DocumentRow, deleteDocuments } from "./documents.ts";
import { abandonedGenerations, deleteGeneration, deleteGenerationIfEmpty, raiseOldest } from "./generations.ts";
import { releaseHiddenBy } from "./kept-documents.ts";
import { readState, writeInTurn } from "./state.ts";
import type { Store } from "./store.ts";
import { abandonStaleBodies, withdrawBody } from "./unfinished-bodies.ts";

/** What stays readable after a commit: the states before and after each of the last few crawls, and all younger than this. */
export interface Retention {
  readonly crawls: number;
  readonly seconds: number;
}

export const DEFAULT_RETENTION: Retention = { crawls: 3, seconds: 24 * 3600 };

const SLICE_DOCUMENTS = 200;
const SLICE_CHUNKS = 1000;

/** How much to do, and what is called between two slices of it. */
export interface Pace {
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

export function keepOf({
  retention,
  nowSeconds,
}: {
  readonly retention: Retention;
  readonly nowSeconds: number;
}): Keep {
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
