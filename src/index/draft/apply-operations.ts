import { ConflictError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { DocumentFile, FailedRef, IndexedRef } from "../../contracts/search-index.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import { Turn } from "../../lib/turn.ts";
import { findBodies, insertBodies, type NewBody, nameOfKey, type StoredBody } from "../storage/bodies.ts";
import {
  deleteDocuments,
  draftedDocuments,
  endDocuments,
  insertDocuments,
  type NewDocument,
  type SourceKey,
} from "../storage/documents.ts";
import { countChanges, insertGeneration } from "../storage/generations.ts";
import { keepHidden } from "../storage/kept-documents.ts";
import type { Store } from "../storage/store.ts";
import { finishBody } from "../storage/unfinished-bodies.ts";
import { labelWords } from "../text/label-words.ts";
import { DraftedItem, type Version } from "./drafted-item.ts";
import { itemOf, type Operation, type ReadyBody } from "./operation.ts";
import { refOf } from "./ref-of.ts";

export interface Outcome {
  /** null as long as nothing has changed. */
  readonly generation: number | null;
  readonly changes: number;
  /** What the last operation on an item left of it: null when it ended. */
  readonly refs: Map<ItemId, IndexedRef | null>;
  /** By item; undefined: what had failed before does not count any more. */
  readonly failed: Map<ItemId, FailedRef | undefined>;
  /** Came without a body because it was there, and now it is not. */
  readonly bodiless: DocumentFile[];
}

export interface Target {
  readonly source: SourceKey;
  /** The mark of the generation it makes. */
  readonly crawl: string;
  /** null: the first batch that changes something makes it. */
  readonly generation: number | null;
  /** The space the vectors of the bodies are in. */
  readonly spaceId: number;
  readonly nowSeconds: number;
}

/** Writes a batch of a draft. The caller holds the transaction: a batch is there as a whole or not at all. */
export async function applyOperations(
  sql: Sql,
  store: Store,
  operations: readonly Operation[],
  target: Target,
): Promise<Outcome> {
  const { source, nowSeconds } = target;
  const known = await findBodies(
    sql,
    operations.flatMap((operation) => (operation.kind === "put" ? [operation.key] : [])),
  );
  const ids = [...new Set(operations.map(itemOf))];
  const rows = await draftedDocuments(sql, source, ids, target.generation ?? 0);
  const befores = new Map(rows.map((row) => [row.itemId, row]));
  const context = { store, source, nowSeconds, known };
  const items = new Map(ids.map((id) => [id, new DraftedItem(befores.get(id), context)]));
  const outcome = fold(operations, items, known);
  const changed = [...items.values()].filter((item) => item.changed);
  if (changed.length === 0) return { ...outcome, generation: target.generation, changes: 0 };
  const mark = { crawl: target.crawl, createdAt: nowSeconds };
  const generation = target.generation ?? (await insertGeneration(sql, source, mark));
  await writeItems(sql, store, changed, { ...target, generation, bodies: bodiesOf(operations), known });
  return { ...outcome, generation, changes: changed.length };
}

type Folded = Pick<Outcome, "refs" | "failed" | "bodiless">;

/** Plays the operations in their order; nothing is written yet. */
function fold(
  operations: readonly Operation[],
  items: ReadonlyMap<ItemId, DraftedItem>,
  known: ReadonlyMap<string, StoredBody>,
): Folded {
  const { refs, failed, bodiless }: Folded = { refs: new Map(), failed: new Map(), bodiless: [] };
  const atHand = bodiesOf(operations);
  for (const operation of operations) {
    const itemId = itemOf(operation);
    const item = items.get(itemId);
    if (!item) continue;
    if (operation.kind === "fail") {
      failed.set(itemId, operation.failed);
      if (operation.failed.permanent) refs.set(itemId, null);
      if (operation.failed.permanent) item.end();
      continue;
    }
    if (operation.kind === "relabel") {
      if (item.relabel(operation.label)) continue;
      failed.set(itemId, { itemId, reason: "relabel item: the index does not hold it", permanent: false });
      continue;
    }
    failed.set(itemId, undefined);
    if (operation.kind === "end") {
      refs.set(itemId, null);
      item.end(operation);
    } else if (!known.has(nameOfKey(operation.key)) && !atHand.has(nameOfKey(operation.key))) {
      bodiless.push(operation.file);
    } else {
      refs.set(itemId, refOf(item.put(operation).row));
    }
  }
  return { refs, failed, bodiless };
}

function bodiesOf(operations: readonly Operation[]): Map<string, ReadyBody> {
  const bodies = new Map<string, ReadyBody>();
  for (const operation of operations) {
    if (operation.kind === "put" && operation.body) bodies.set(nameOfKey(operation.key), operation.body);
  }
  return bodies;
}

interface Writing extends Target {
  readonly generation: number;
  readonly bodies: ReadonlyMap<string, ReadyBody>;
  readonly known: ReadonlyMap<string, StoredBody>;
}

async function writeItems(sql: Sql, store: Store, items: readonly DraftedItem[], writing: Writing): Promise<void> {
  const { generation } = writing;
  const versions = items.flatMap(({ now }) => (now ? [now] : []));
  const befores = items.flatMap(({ before }) => (before ? [before] : []));
  // Rows the draft brought itself just go; a visible row gets its end, which counts once the draft is committed.
  const own = befores.filter((row) => row.own === 1);
  const visible = befores.filter((row) => row.own === 0);
  // First of all, because it locks the draft or finds it taken.
  if (!(await countChanges(sql, generation, versions.length - own.length, visible.length))) {
    const { domainId, sourceId } = writing.source;
    throw new ConflictError(
      `write draft of ${domainId}/${sourceId}: another run of this source has taken over, or the store was rolled back`,
    );
  }
  await deleteDocuments(sql, store, own);
  await endDocuments(
    sql,
    visible.map(({ id }) => id),
    generation,
  );
  await keepHidden(
    sql,
    items.flatMap(({ kept }) => (kept ? [kept] : [])),
    generation,
  );
  await insertVersions(sql, store, versions, writing);
}

/** Only bodies that a version needs are written: one without a document would never be cleaned up. */
async function insertVersions(sql: Sql, store: Store, versions: readonly Version[], writing: Writing): Promise<void> {
  if (versions.length === 0) return;
  const names = [...new Set(versions.flatMap(({ body }) => ("name" in body ? [body.name] : [])))];
  const wanted = names.flatMap((name) => writing.bodies.get(name) ?? []);
  const stored = await storeBodies(sql, store, wanted, writing.spaceId);
  const documents: NewDocument[] = [];
  const turn = new Turn();
  for (const { row, body } of versions) {
    const { id = null, title = "" } = ("id" in body ? body : stored.get(body.name)) ?? {};
    documents.push({ ...row, bodyId: id, born: writing.generation, words: labelWords({ ...row, title }) });
    if (turn.isOver()) await turn.next();
  }
  await insertDocuments(sql, store, documents);
}

/** By nameOfKey. */
async function storeBodies(
  sql: Sql,
  store: Store,
  bodies: readonly ReadyBody[],
  spaceId: number,
): Promise<Map<string, StoredBody>> {
  const stored = new Map<string, StoredBody>();
  const fresh: NewBody[] = [];
  for (const body of bodies) {
    if ("id" in body) {
      await finishBody(sql, body);
      stored.set(nameOfKey(body.key), body);
    } else fresh.push(body);
  }
  for (const [at, body] of (await insertBodies(sql, store, fresh, spaceId)).entries()) {
    const key = fresh[at]?.key;
    if (key) stored.set(nameOfKey(key), body);
  }
  return stored;
}
