import type { Embedder } from "../../contracts/embedder.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { activeSpace, insertSpace, learntOf, listSpaces, type SpaceRow } from "../storage/spaces.ts";
import { lockState, writeInTurn } from "../storage/state.ts";
import type { Space, SpaceKeeper, Store } from "../storage/store.ts";
import { createBlindEmbedder } from "./blind-embedder.ts";
import { createLearntModel } from "./learnt-model.ts";
import { activateWhenComplete, dropSpace, fillSpace } from "./space-vectors.ts";
import type { Report, VectorModel } from "./vector-model.ts";

/** Learnt models take megabytes each; a server has a few stores that are asked all the time. */
const MAX_EMBEDDERS = 16;

/**
 * Keeps the vectors of a store on the model the settings name. Vectors of another model go on answering until all of the
 * new ones are there; where that model cannot be had any more, words alone answer. Serves any number of stores.
 */
export function createSpaceKeeper(model: VectorModel): SpaceKeeper {
  const embedders = new Map<string, Embedder>();
  const checked = new WeakMap<SqlDatabase, Checked>();
  // Whatever the settings name now, a store that was made without any goes on answering.
  const builtIn = createLearntModel();
  const embedderOf = async (sql: Sql, row: SpaceRow): Promise<Embedder> => {
    const key = `${row.model} ${row.revision} ${row.dimensions}`;
    let embedder = embedders.get(key);
    if (!embedder) {
      const learnt = (): Promise<Uint8Array | null> => learntOf(sql, row.id);
      embedder = (await model.embedderOf(row, learnt)) ?? (await builtIn.embedderOf(row, learnt));
      embedder ??= createBlindEmbedder(row);
      if (embedders.size >= MAX_EMBEDDERS) embedders.delete(embedders.keys().next().value ?? "");
      embedders.set(key, embedder);
    }
    return embedder;
  };
  const active = async (sql: Sql): Promise<SpaceRow> => (await activeSpace(sql)) ?? makeFirst(sql, await model.first());
  return {
    async active(sql): Promise<Space> {
      const row = await active(sql);
      const isOutgrown = await model.isOutgrown?.(sql, row);
      return { id: row.id, embedder: isOutgrown ? createBlindEmbedder(row) : await embedderOf(sql, row) };
    },
    async refresh(store, report, signal) {
      const row = await active(store.db);
      const next = await nextSpace(store, model, row, report, signal);
      const space = { id: next.id, embedder: await embedderOf(store.db, next) };
      const known = checked.get(store.db);
      const from = known?.spaceId === space.id ? known.upTo : 0;
      const upTo = await fillSpace(store, space, from, report, signal);
      if (upTo !== undefined) {
        checked.set(store.db, { spaceId: space.id, upTo });
        if (next.id !== row.id) await activateWhenComplete(store, space, upTo, report, signal);
      }
      for (const { id, active } of await listSpaces(store.db)) if (active === 0) await dropSpace(store, id, signal);
    },
  };
}

/** Up to this chunk, all have a vector in the space. It stays so: vectors go only with their chunks, or with the space. */
interface Checked {
  readonly spaceId: number;
  readonly upTo: number;
}

/** Somebody else may have made it meanwhile, so outside a transaction this is one of its own. */
async function makeFirst(sql: Sql | SqlDatabase, embedder: Embedder): Promise<SpaceRow> {
  if ("write" in sql) return writeInTurn(sql, (own) => makeFirst(own, embedder));
  await lockState(sql);
  return (await activeSpace(sql)) ?? insertSpace(sql, { ...described(embedder), learnt: null, active: 1 });
}

/** The space to fill: the active one, one that is there unfinished, or a new one. */
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
  return writeInTurn(store.db, async (sql) => {
    const wanted = described(successor.embedder);
    const same = (await listSpaces(sql)).find(
      ({ model, revision }) => model === wanted.model && revision === wanted.revision,
    );
    return same ?? insertSpace(sql, { ...wanted, learnt: successor.learnt, active: 0 });
  });
}

function described({ model, revision, dimensions }: Embedder): { model: string; revision: string; dimensions: number } {
  return { model, revision, dimensions };
}
