import { explain } from "../../contracts/errors.ts";
import { refuseIfPinned } from "../storage/refuse-if-pinned.ts";
import { writeInTurn } from "../storage/state.ts";
import type { Store } from "../storage/store.ts";
import { abandonBodies, type UnfinishedBody } from "../storage/unfinished-bodies.ts";
import { applyOperations, type Outcome, type Target } from "./apply-operations.ts";
import { type EmbedFailure, embedBodies } from "./embed-bodies.ts";
import { itemOf, type Operation, type ReadyBody } from "./operation.ts";
import type { PreparedBody } from "./prepare-body.ts";
import { abandon, isLarge, writeAhead } from "./write-ahead.ts";

type Ready = ReadyBody | EmbedFailure;

/** Embeds what a batch brings and writes it in one transaction, except for large bodies, which are written ahead of it. */
export async function writeBatch(
  store: Store,
  operations: readonly Operation<PreparedBody>[],
  target: Omit<Target, "spaceId">,
  signal: AbortSignal,
): Promise<Outcome> {
  const prepared = operations.flatMap((operation) =>
    operation.kind === "put" && operation.body ? [operation.body] : [],
  );
  const large = prepared.filter(isLarge);
  const small = prepared.filter((body) => !isLarge(body));
  if (large.length > 0) await refuseIfPinned(store.db, "commit draft of", target.source);
  const ahead = new Map<PreparedBody, UnfinishedBody | EmbedFailure>();
  try {
    for (const body of large) ahead.set(body, await tryToWriteAhead(store, body, signal));
    for (;;) {
      const outcome = await embedAndWrite(store, operations, { ...target, small, ahead }, signal);
      if (outcome) return outcome;
    }
  } catch (error) {
    await abandon(store, idsOf(ahead));
    throw error;
  }
}

async function tryToWriteAhead(
  store: Store,
  body: PreparedBody,
  signal: AbortSignal,
): Promise<UnfinishedBody | EmbedFailure> {
  try {
    return await writeAhead(store, body, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { failure: error };
  }
}

interface Batch extends Omit<Target, "spaceId"> {
  readonly small: readonly PreparedBody[];
  readonly ahead: ReadonlyMap<PreparedBody, UnfinishedBody | EmbedFailure>;
}

/** undefined: the vectors are of a space that is no longer the active one, and would never be found. */
async function embedAndWrite(
  store: Store,
  operations: readonly Operation<PreparedBody>[],
  batch: Batch,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { small, ahead, ...target } = batch;
  const space = await store.spaces.active(store.db);
  const embedded = await embedBodies(space, small, signal);
  const bodies = new Map<PreparedBody, Ready | undefined>([
    ...ahead,
    ...small.map((body, at) => [body, embedded[at]] as const),
  ]);
  const ready = operations.map((operation) => readied(operation, bodies));
  return writeInTurn(store.db, async (sql) => {
    await refuseIfPinned(sql, "commit draft of", target.source);
    if ((await store.spaces.active(sql)).id !== space.id) return undefined;
    const outcome = await applyOperations(sql, store, ready, { ...target, spaceId: space.id });
    await abandonBodies(sql, idsOf(ahead));
    return outcome;
  });
}

function readied(operation: Operation<PreparedBody>, bodies: ReadonlyMap<PreparedBody, Ready | undefined>): Operation {
  if (operation.kind !== "put" || !operation.body) return { ...operation, body: null } as Operation;
  const body = bodies.get(operation.body);
  if (body && !("failure" in body)) return { ...operation, body };
  const reason = explain(body?.failure ?? "embed document: no vectors came back");
  return { kind: "fail", failed: { itemId: itemOf(operation), reason, permanent: false } };
}

function idsOf(ahead: Batch["ahead"]): number[] {
  return [...ahead.values()].flatMap((body) => ("failure" in body ? [] : [body.id]));
}
