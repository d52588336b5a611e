import { deleteBodyIfUnused, looseBodies } from "./bodies.ts";
import { cleanupHorizon, deleteGenerationIfEmpty } from "./generations.ts";
import type { Database } from "./open-database.ts";

/** What stays readable after a commit: the last few generations, and every one younger than this. */
export interface Retention {
  readonly generations: number;
  readonly seconds: number;
}

export const DEFAULT_RETENTION: Retention = { generations: 3, seconds: 24 * 3600 };

const SLICE_DOCUMENTS = 200;
const SLICE_CHUNKS = 1000;

/**
 * Removes what no kept generation can see, in slices with a short lock each, up to about `budget` documents and as many
 * bodies. Whatever is left (also after a crash) is found again by the next call.
 */
export async function cleanup(
  db: Database,
  options: { readonly retention: Retention; readonly nowSeconds: number; readonly budget: number },
): Promise<void> {
  const { retention, nowSeconds, budget } = options;
  const horizon = cleanupHorizon(db, retention.generations, nowSeconds - retention.seconds);
  for (let spent = 0; spent < budget; spent += SLICE_DOCUMENTS) {
    if (horizon === 0 || deleteUnseenDocuments(db, horizon) < SLICE_DOCUMENTS) break;
    await breathe();
  }
  await dropLooseBodies(db, budget);
}

/** Bodies that lost their last document, up to `budget` of them. */
export async function dropLooseBodies(db: Database, budget: number): Promise<void> {
  let spent = 0;
  while (spent < budget) {
    const dropped = deleteLooseBodies(db);
    if (dropped === 0) return;
    spent += dropped;
    await breathe();
  }
}

function deleteUnseenDocuments(db: Database, horizon: number): number {
  return db.write(() => {
    const rows = unseenDocuments(db, horizon);
    const remove = db.statement("DELETE FROM documents WHERE id = ?");
    const generations = new Set<number>();
    for (const { id, born, died } of rows) {
      remove.run(id);
      generations.add(born).add(died);
    }
    for (const generation of generations) deleteGenerationIfEmpty(db, generation, horizon);
    return rows.length;
  });
}

/** Steps over the generations in which something died, not over documents: a commit must not pay for the store's size. */
function unseenDocuments(db: Database, horizon: number): DeadRow[] {
  const next = db.statement("SELECT min(died) AS died FROM documents WHERE died > ?");
  const number = db.statement("SELECT number FROM generations WHERE id = ?");
  const dead = db.statement("SELECT id, born, died FROM documents WHERE died = ? LIMIT ?");
  const rows: DeadRow[] = [];
  for (let at = 0; rows.length < SLICE_DOCUMENTS; ) {
    const died = next.get(at)?.["died"];
    if (died === null || died === undefined) break;
    at = Number(died);
    const endedAt = number.get(at)?.["number"];
    if (endedAt === null || endedAt === undefined || Number(endedAt) > horizon) continue;
    rows.push(...(dead.all(at, SLICE_DOCUMENTS - rows.length) as unknown as DeadRow[]));
  }
  return rows;
}

interface DeadRow {
  readonly id: number;
  readonly born: number;
  readonly died: number;
}

function deleteLooseBodies(db: Database): number {
  if (looseBodies(db, 1).length === 0) return 0;
  return db.write(() => {
    let bodies = 0;
    let chunks = 0;
    for (const body of looseBodies(db, SLICE_DOCUMENTS)) {
      chunks += deleteBodyIfUnused(db, body);
      bodies++;
      if (chunks >= SLICE_CHUNKS) break;
    }
    return bodies;
  });
}

/** Lets other work of the process run between two slices. */
function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
