import { randomUUID } from "node:crypto";
import { AlteredError, ExtractError, type Extractor, ReaderError } from "../contracts/document.ts";
import { ConflictError, explain } from "../contracts/errors.ts";
import type { FileId, ItemId, SourceId } from "../contracts/ids.ts";
import type {
  CrawlDraft,
  DocumentFile,
  DraftChanges,
  FailedRef,
  HeldDraft,
  IndexDraft,
  IndexedRef,
  Label,
  SourceDraft,
  StoredDocument,
} from "../contracts/search-index.ts";
import { hashFile } from "../lib/hash.ts";
import { randomId } from "../lib/random-id.ts";
import type { Sql } from "../lib/sql/sql.ts";
import { toUtcMicros } from "../lib/time.ts";
import { TimeSlice } from "../lib/time-slice.ts";
import { labelWords } from "./analyzer.ts";
import {
  abandonBodies,
  type BodyKey,
  type BodyRow,
  findBodies,
  findBody,
  finishBody,
  insertBodies,
  type NewBody,
  nameOfKey,
  passOnDocuments,
  type UnfinishedBody,
  withdrawBody,
} from "./bodies.ts";
import { chunkingKey, DEFAULT_CHUNKING } from "./chunk-sections.ts";
import {
  type DocumentRow,
  type DraftedRow,
  deleteDocuments,
  draftedDocuments,
  endDocuments,
  type HoldingRow,
  insertDocuments,
  type NewDocument,
  newestDocuments,
  type SourceKey,
  storedPath,
} from "./documents.ts";
import {
  abandonGeneration,
  activateGeneration,
  countChanges,
  countReplaced,
  ensureDraft,
  findDraft,
  NEWEST,
  setSource,
  visibleAt,
} from "./generations.ts";
import { bodyKey, type PreparedBody, prepareBody } from "./prepare-body.ts";
import {
  cleanupOldGenerations,
  moveBrought,
  type Retention,
  releaseReturned,
  retainHidden,
  sweepAbandoned,
  takeFromOtherDrafts,
  withdrawSource,
} from "./retention.ts";
import type { Store } from "./store.ts";
import { writeLocked } from "./store-state.ts";
import { abandon, type EmbedFailure, embedBodies, isLarge, writeAhead } from "./write-body.ts";

/** A batch of this size is written: large enough to be cheap, small enough that other writers hardly wait. */
const BATCH_OPERATIONS = 400;
const BATCH_CHUNKS = 2000;
const NEVER_ABORTED = new AbortController().signal;

/** Bodies are found by their hash, so a missing or invalid hash is computed here. */
const SHA256 = /^[0-9a-f]{64}$/;

interface GenerationContext {
  readonly store: Store;
  /** Throws if the store was deleted meanwhile. */
  readonly assertStore: () => Promise<unknown>;
  readonly domainId: string;
  /** undefined: the sources of a crawl fill it together. */
  readonly sourceId?: SourceId;
  /** The same for all that one crawl commits; "" for none. */
  readonly crawl: string;
  readonly extractor: Extractor;
  readonly retention: Retention;
  readonly nowSeconds: () => number;
}

/** A generation without a number. Its row is made with the first change: a draft without changes leaves no trace. */
export class DraftGeneration implements CrawlDraft {
  readonly generationId = randomUUID();
  readonly context: GenerationContext;
  readonly #sources = new Set<string>();
  /** By source: items whose document ends because it cannot be read any more. */
  readonly #unreadable = new Map<string, Set<ItemId>>();
  #id: number | null = null;
  #changes = 0;

  constructor(context: GenerationContext) {
    this.context = context;
  }

  /** null until something has changed. */
  get id(): number | null {
    return this.#id;
  }

  async source(sourceId: SourceId): Promise<EmbeddedDraft> {
    await this.context.assertStore();
    return new EmbeddedDraft(this, sourceId);
  }

  async changes(): Promise<DraftChanges> {
    const draft = this.#id === null ? undefined : await findDraft(this.context.store.db, this.#id);
    if (!draft) return { brought: 0, removed: 0 };
    const replaced = await countReplaced(this.context.store.db, this.#id ?? 0);
    return { brought: draft.added, removed: draft.removed - replaced };
  }

  async hold(): Promise<HeldDraft> {
    const { store, domainId, crawl, nowSeconds } = this.context;
    const generationId = randomUUID();
    const id = this.#id;
    if (id === null) return { generationId, documents: 0 };
    const draft = { domainId, sourceId: "", generationId, crawl, createdAt: nowSeconds() };
    const to = await writeLocked(store.db, (sql) => ensureDraft(sql, draft));
    return { generationId, documents: await moveBrought(store, id, to, this.#unreadable) };
  }

  note(sourceId: string, { generation, changes, failed }: Pick<Outcome, "generation" | "changes" | "failed">): void {
    const unreadable = this.#unreadable.get(sourceId) ?? new Set();
    this.#unreadable.set(sourceId, unreadable);
    for (const [itemId, failure] of failed) {
      if (failure?.permanent) unreadable.add(itemId);
      else unreadable.delete(itemId);
    }
    this.#id = generation;
    this.#changes += changes;
    if (changes > 0) this.#sources.add(sourceId);
  }

  async commit(
    signal: AbortSignal,
    options: { readonly allowEmpty: boolean } = { allowEmpty: false },
  ): Promise<number | null> {
    signal.throwIfAborted();
    const { store, assertStore, nowSeconds } = this.context;
    await assertStore();
    const [only, ...others] = this.#sources;
    const sourceId = others.length === 0 ? (only ?? "") : "";
    const number =
      this.#id === null
        ? null
        : await commitGeneration(store, { id: this.#id, sourceId, nowSeconds: nowSeconds(), ...options });
    if (this.#changes > 0) await this.#cleanUp();
    return number;
  }

  /** Undoes everything. */
  async discard(): Promise<void> {
    const { store, nowSeconds } = this.context;
    const id = this.#id;
    if (id === null) return;
    await writeLocked(store.db, (sql) => abandonGeneration(sql, id, nowSeconds()));
    await sweepAbandoned(store);
  }

  /** Deletes up to two documents per changed one: cleanup keeps up, and a commit costs what changed. */
  async #cleanUp(): Promise<void> {
    const { store, retention, nowSeconds } = this.context;
    const budget = 2 * this.#changes + 200;
    try {
      await cleanupOldGenerations(store, { retention, nowSeconds: nowSeconds(), budget });
    } catch {
      // The commit is done, and must not be reported as failed; the next commit cleans up again.
    }
  }
}

/**
 * Collects changes of one source under a generation that has no number yet, so no reader sees them. They are written in batches; a
 * crash leaves rows that are swept later, and bodies that are reused. Puts may run concurrently.
 */
class EmbeddedDraft implements IndexDraft, SourceDraft {
  readonly #generation: DraftGeneration;
  readonly #source: SourceKey;
  readonly #refs = new Map<ItemId, IndexedRef>();
  readonly #failed = new Map<ItemId, FailedRef>();
  #pending: Operation<PreparedBody>[] = [];
  #pendingChunks = 0;
  /** Bodies that wait to be written, by nameOfKey. */
  readonly #bodies = new Set<string>();
  /** Bodies that this draft made anew, by nameOfKey: documents with the same content share them. */
  readonly #renewed = new Set<string>();
  /** Batches are written one after the other, so that the last operation on an item counts. */
  #written: Promise<void> = Promise.resolve();
  #open = true;

  constructor(generation: DraftGeneration, sourceId: SourceId) {
    this.#generation = generation;
    this.#source = { domainId: generation.context.domainId, sourceId };
  }

  async put(file: DocumentFile, signal: AbortSignal): Promise<void> {
    this.#checkOpen();
    signal.throwIfAborted();
    await this.#enqueuePut(file, signal);
    await this.#flushIfLarge(signal);
  }

  async relabel(itemId: ItemId, label: Label): Promise<void> {
    this.#checkOpen();
    this.#pending.push({ kind: "relabel", itemId, label });
    await this.#flushIfLarge(NEVER_ABORTED);
  }

  async remove(itemId: ItemId, { mayReturn } = { mayReturn: false }): Promise<void> {
    this.#checkOpen();
    this.#pending.push({ kind: "end", itemId, mayReturn });
    await this.#flushIfLarge(NEVER_ABORTED);
  }

  async stage(signal: AbortSignal): Promise<readonly FailedRef[]> {
    this.#checkOpen();
    const failed = await this.#writeAll(signal);
    // Those of all changes of a crawl may not fit into memory: whoever stages asks for `stored`.
    this.#refs.clear();
    return failed;
  }

  async stored(items: readonly ItemId[]): Promise<StoredDocument[]> {
    const rows = await newestDocuments(this.#context.store.db, this.#source, items);
    return rows.map((row) => {
      const { name, path, url, fileType, modifiedAt } = row;
      return { ...refOf(row), label: { name, path, url, fileType, modifiedAt } };
    });
  }

  async commit(
    signal: AbortSignal,
    options?: { readonly allowEmpty: boolean },
  ): Promise<{ ready: IndexedRef[]; failed: FailedRef[] }> {
    this.#checkOpen();
    const failed = await this.#writeAll(signal);
    await this.#generation.commit(signal, options);
    this.#open = false;
    return { ready: [...this.#refs.values()], failed: [...failed] };
  }

  async discard(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#pending = [];
    await this.#written.catch(() => undefined);
    const { id } = this.#generation;
    if (!this.#isShared) await this.#generation.discard();
    else if (id !== null) await withdrawSource(this.#context.store, this.#source, id);
  }

  get #context(): GenerationContext {
    return this.#generation.context;
  }

  get #isShared(): boolean {
    return this.#context.sourceId === undefined;
  }

  async #writeAll(signal: AbortSignal): Promise<readonly FailedRef[]> {
    for (;;) {
      await this.#written;
      if (this.#pending.length === 0) return [...this.#failed.values()];
      await this.#flush(signal);
    }
  }

  /** Queues a put. Extracts the text, unless the store has the same content already. */
  async #enqueuePut(file: DocumentFile, signal: AbortSignal): Promise<void> {
    const { store, extractor } = this.#context;
    try {
      const sha256 = SHA256.test(file.sha256) ? file.sha256 : await hashFile(file.path);
      const { path, cachedText, label } = file;
      const source = {
        path,
        sha256,
        fileType: label.fileType,
        chunking: DEFAULT_CHUNKING,
        ...(cachedText && { cachedText }),
      };
      const key = bodyKey(extractor, source);
      const name = nameOfKey(key);
      const isMade = this.#bodies.has(name) || this.#renewed.has(name);
      const known = isMade || (!file.isAnew && (await findBody(store.db, key)) !== undefined);
      const body = known ? null : await prepareBody(extractor, source, signal);
      this.#pending.push({ kind: "put", file: { ...file, sha256 }, key, body });
      if (body) this.#bodies.add(name);
      this.#pendingChunks += body?.chunks.length ?? 0;
    } catch (error) {
      signal.throwIfAborted();
      // A permanent failure removes the outdated version from search; a temporary one keeps it.
      const byReader = error instanceof ReaderError;
      const permanent = error instanceof ExtractError && (!byReader || file.isLastTry === true);
      const isAltered = error instanceof AlteredError;
      const why = { ...(byReader && { byReader }), ...(isAltered && { isAltered }) };
      const failed = { itemId: file.itemId, reason: explain(error), permanent, ...why };
      this.#pending.push({ kind: "fail", failed });
    }
  }

  /** Waits for the previous batch: at most one batch is being written and one is in memory. */
  async #flushIfLarge(signal: AbortSignal): Promise<void> {
    if (this.#pending.length < BATCH_OPERATIONS && this.#pendingChunks < BATCH_CHUNKS) return;
    const before = this.#written;
    void this.#flush(signal);
    await before;
  }

  #flush(signal: AbortSignal): Promise<void> {
    const operations = this.#pending;
    this.#pending = [];
    this.#pendingChunks = 0;
    const mine = this.#written.then(() => this.#write(operations, signal));
    this.#written = mine;
    // A failed batch fails the draft: every later call rejects, and an incomplete draft cannot be committed.
    mine.catch(() => undefined);
    return mine;
  }

  async #write(operations: readonly Operation<PreparedBody>[], signal: AbortSignal): Promise<void> {
    const { store, sourceId = "", crawl, nowSeconds } = this.#context;
    const { domainId } = this.#source;
    const { generationId, id: generation } = this.#generation;
    const target = {
      source: this.#source,
      draft: { domainId, sourceId, generationId, crawl },
      generation,
      renewed: this.#renewed,
      nowSeconds: nowSeconds(),
    };
    const outcome = await writeBatch(store, operations, target, signal);
    for (const operation of operations) {
      if (operation.kind === "put" && operation.body) this.#bodies.delete(nameOfKey(operation.key));
    }
    this.#note(outcome);
    // Queued without a body, because the store had it; since then cleanup of another process deleted it, or rebuilding it failed.
    for (const file of outcome.bodiless) await this.#enqueuePut(file, signal);
  }

  #note(outcome: Outcome): void {
    this.#generation.note(this.#source.sourceId, outcome);
    for (const name of outcome.renewed) this.#renewed.add(name);
    for (const [itemId, failed] of outcome.failed) {
      if (failed) this.#failed.set(itemId, failed);
      else this.#failed.delete(itemId);
    }
    if (this.#isShared) return;
    for (const [itemId, ref] of outcome.refs) {
      if (ref) this.#refs.set(itemId, withoutLabel(ref));
      else this.#refs.delete(itemId);
    }
  }

  #checkOpen(): void {
    if (!this.#open) throw new ConflictError("use draft: it was committed or discarded");
  }
}

/** The caller knows the label of what it put; leaving it out saves memory in a first crawl. */
function withoutLabel({ itemId, fileId, sha256, uploadedAt, embeddedAt }: IndexedRef): IndexedRef {
  return { itemId, fileId, sha256, uploadedAt, embeddedAt };
}

type Ready = ReadyBody | EmbedFailure;

/** Embeds a batch and writes it in one transaction, except for large bodies, which are written before it. */
async function writeBatch(
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

/** Returns undefined if the space of the vectors is not the active one any more: they would never be found. */
async function embedAndWrite(
  store: Store,
  operations: readonly Operation<PreparedBody>[],
  batch: Batch,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { small, ahead, ...target } = batch;
  const adding = small.reduce((sum, { chunks }) => sum + chunks.length, 0);
  const space = await store.spaces.active(store.db, adding);
  const embedded = await embedBodies(space, small, signal);
  const bodies = new Map<PreparedBody, Ready | undefined>([
    ...ahead,
    ...small.map((body, at) => [body, embedded[at]] as const),
  ]);
  const ready = operations.map((operation) => toReadyOperation(operation, bodies));
  return writeLocked(store.db, async (sql) => {
    if ((await store.spaces.active(sql)).id !== space.id) return undefined;
    const outcome = await applyOperations(sql, store, ready, { ...target, spaceId: space.id });
    await abandonBodies(sql, idsOf(ahead));
    return outcome;
  });
}

function toReadyOperation(
  operation: Operation<PreparedBody>,
  bodies: ReadonlyMap<PreparedBody, Ready | undefined>,
): Operation {
  if (operation.kind !== "put" || !operation.body) return { ...operation, body: null } as Operation;
  const body = bodies.get(operation.body);
  if (body && !("failure" in body)) return { ...operation, body };
  const reason = explain(body?.failure ?? "embed document: no vectors came back");
  return { kind: "fail", failed: { itemId: itemOf(operation), reason, permanent: false } };
}

function idsOf(ahead: Batch["ahead"]): number[] {
  return [...ahead.values()].flatMap((body) => ("failure" in body ? [] : [body.id]));
}

interface Outcome {
  /** null as long as nothing has changed. */
  readonly generation: number | null;
  readonly changes: number;
  /** The result of the last operation on each item; null if it was removed. */
  readonly refs: Map<ItemId, IndexedRef | null>;
  /** By item; undefined: an earlier failure does not count any more. */
  readonly failed: Map<ItemId, FailedRef | undefined>;
  /** Puts without a body, whose body has been cleaned up meanwhile. */
  readonly bodiless: DocumentFile[];
  /** The bodies that were made anew, by nameOfKey. */
  readonly renewed: ReadonlySet<string>;
}

interface Target {
  readonly source: SourceKey;
  /** The generation, if it has to be created. */
  readonly draft: SourceKey & { readonly generationId: string; readonly crawl: string };
  /** null: the first batch with a change creates it. */
  readonly generation: number | null;
  /** The bodies that the draft made anew before, by nameOfKey. */
  readonly renewed: ReadonlySet<string>;
  /** The space the vectors of the bodies are in. */
  readonly spaceId: number;
  readonly nowSeconds: number;
}

/** Writes a batch in the caller's transaction: all of it or nothing. */
async function applyOperations(
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
  // Before the documents are read: they have the new bodies then, and are not changed documents.
  const renewed = await renewBodies(sql, store, operations, known, target);
  const ids = [...new Set(operations.map(itemOf))];
  const changing = operations.filter((operation) => operation.kind !== "fail" || operation.failed.permanent);
  await takeFromOtherDrafts(sql, store, source, [...new Set(changing.map(itemOf))], target.generation ?? 0);
  const rows = await draftedDocuments(sql, source, ids, target.generation ?? 0);
  const befores = Map.groupBy(rows, ({ itemId }) => itemId);
  const context = { store, source, nowSeconds, known };
  const items = new Map(ids.map((id) => [id, new DraftedItem(befores.get(id) ?? [], context)]));
  const isRenewed = (name: string): boolean => renewed.has(name) || target.renewed.has(name);
  const outcome = { ...fold(operations, items, known, isRenewed), renewed };
  const changed = [...items.values()].filter((item) => item.changed);
  if (changed.length === 0) return { ...outcome, generation: target.generation, changes: renewed.size };
  const generation = target.generation ?? (await ensureDraft(sql, { ...target.draft, createdAt: nowSeconds }));
  await writeItems(sql, store, changed, { ...target, generation, bodies: bodiesOf(operations), known });
  return { ...outcome, generation, changes: changed.length + renewed.size };
}

/**
 * Where the store has a body that was made anew, stores the new one and gives it all documents of the old one: at once, because the
 * content is the same. Updates `known`. Returns the names of all bodies that were made anew.
 */
async function renewBodies(
  sql: Sql,
  store: Store,
  operations: readonly Operation[],
  known: Map<string, BodyRow>,
  { spaceId, nowSeconds }: Pick<Target, "spaceId" | "nowSeconds">,
): Promise<ReadonlySet<string>> {
  const anew = bodiesOf(operations.filter((operation) => operation.kind === "put" && operation.file.isAnew === true));
  const old = new Map([...known].filter(([name]) => anew.has(name)));
  for (const { id } of old.values()) await withdrawBody(sql, id);
  const fresh = [...anew].flatMap(([name, body]) => (old.has(name) ? [body] : []));
  const stored = await storeBodies(sql, store, fresh, spaceId);
  for (const [name, { id }] of old) {
    const body = stored.get(name);
    if (!body) continue;
    await passOnDocuments(sql, { from: id, to: body.id, embeddedAt: nowSeconds });
    known.set(name, body);
  }
  return new Set(anew.keys());
}

type Folded = Pick<Outcome, "refs" | "failed" | "bodiless">;

/** Applies the operations to the items in memory, in order. */
function fold(
  operations: readonly Operation[],
  items: ReadonlyMap<ItemId, DraftedItem>,
  known: ReadonlyMap<string, BodyRow>,
  isRenewed: (name: string) => boolean,
): Folded {
  const { refs, failed, bodiless }: Folded = { refs: new Map(), failed: new Map(), bodiless: [] };
  const atHand = bodiesOf(operations);
  const hasBody = ({ file, key }: Operation & { readonly kind: "put" }): boolean => {
    const name = nameOfKey(key);
    return (known.has(name) || atHand.has(name)) && (!file.isAnew || isRenewed(name));
  };
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
    } else if (!hasBody(operation)) {
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

interface BatchWrite extends Target {
  readonly generation: number;
  readonly bodies: ReadonlyMap<string, ReadyBody>;
  readonly known: ReadonlyMap<string, BodyRow>;
}

async function writeItems(sql: Sql, store: Store, items: readonly DraftedItem[], writing: BatchWrite): Promise<void> {
  const { generation } = writing;
  const versions = items.flatMap(({ now }) => (now ? [now] : []));
  const befores = items.flatMap((item) => item.befores);
  // Rows of this draft are deleted; visible rows are ended, which takes effect at the commit.
  const own = befores.filter((row) => row.own === 1);
  const visible = befores.filter((row) => row.own === 0);
  // First, because it locks the draft or finds it taken over.
  if (!(await countChanges(sql, generation, versions.length - own.length, visible.length))) {
    const { domainId, sourceId } = writing.source;
    throw new ConflictError(`write draft of ${domainId}/${sourceId}: another run of this source has taken over`);
  }
  await deleteDocuments(sql, store, own);
  await endDocuments(
    sql,
    visible.map(({ id }) => id),
    generation,
  );
  await retainHidden(
    sql,
    items.flatMap(({ retained }) => (retained ? [retained] : [])),
    generation,
  );
  await insertVersions(sql, store, versions, writing);
}

/** Inserts only bodies that a version needs: a body without a document would never be cleaned up. */
async function insertVersions(
  sql: Sql,
  store: Store,
  versions: readonly Version[],
  writing: BatchWrite,
): Promise<void> {
  if (versions.length === 0) return;
  const names = [...new Set(versions.flatMap(({ body }) => ("name" in body ? [body.name] : [])))];
  const wanted = names.flatMap((name) => writing.bodies.get(name) ?? []);
  const stored = await storeBodies(sql, store, wanted, writing.spaceId);
  const documents: NewDocument[] = [];
  const timeSlice = new TimeSlice();
  for (const { row, body } of versions) {
    const { id = null, title = "" } = ("id" in body ? body : stored.get(body.name)) ?? {};
    documents.push({ ...row, bodyId: id, born: writing.generation, words: labelWords({ ...row, title }) });
    if (timeSlice.isOver()) await timeSlice.next();
  }
  await insertDocuments(sql, store, documents);
}

/** Returns the stored bodies, by nameOfKey. */
async function storeBodies(
  sql: Sql,
  store: Store,
  bodies: readonly ReadyBody[],
  spaceId: number,
): Promise<Map<string, BodyRow>> {
  const stored = new Map<string, BodyRow>();
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

/** A document as a batch will leave it. A body that is not written yet is given by its name. */
interface Version {
  readonly row: Omit<DocumentRow, "id" | "bodyId">;
  readonly body: BodyRow | { readonly name: string };
}

interface BatchContext {
  readonly store: Pick<Store, "storageFolder">;
  readonly source: SourceKey;
  readonly nowSeconds: number;
  /** The bodies that are in the store, by nameOfKey. */
  readonly known: ReadonlyMap<string, BodyRow>;
}

/** State of one item before a batch, and after its last operation. */
class DraftedItem {
  readonly before: DraftedRow | undefined;
  /** All that the store shows of it: one, unless it is damaged. */
  readonly befores: readonly DraftedRow[];
  #now: Version | undefined;
  #changed = false;
  #mayReturn = false;
  readonly #context: BatchContext;

  constructor(befores: readonly DraftedRow[], context: BatchContext) {
    const before = befores.at(-1);
    this.before = before;
    this.befores = befores;
    this.#context = context;
    this.#now = before && { row: before, body: { id: before.bodyId ?? 0, title: before.title } };
  }

  get now(): Version | undefined {
    return this.#now;
  }

  /** False for an item that was added and removed within the batch. */
  get changed(): boolean {
    return this.#changed && (this.before !== undefined || this.#now !== undefined);
  }

  /** The row to retain in case the item returns. */
  get retained(): DraftedRow | undefined {
    return this.#mayReturn && this.#now === undefined ? this.before : undefined;
  }

  put({ file, key }: Operation & { readonly kind: "put" }): Version {
    const { store, source, nowSeconds, known } = this.#context;
    const name = nameOfKey(key);
    const body = known.get(name) ?? { name };
    const columns = { ...this.#labelled(file.label), file: storedPath(store, file.path) };
    // A document keeps its row when its body was rebuilt, unless its hash is of other bytes.
    const isSound = this.befores.length < 2 && this.#now?.row.status === "completed";
    const isUnchanged = isSound && this.#now && isSame(this.#now.body, body) && this.#now.row.sha256 === file.sha256;
    if (this.#now && isUnchanged) return this.#relabelTo(this.#now, columns);
    const row: Version["row"] = {
      ...columns,
      ...source,
      itemId: file.itemId,
      fileId: file.knownFileId ?? (randomId("file-") as FileId),
      sha256: file.sha256,
      bytes: file.bytes,
      chunking: chunkingKey(DEFAULT_CHUNKING),
      status: "completed",
      errorCode: null,
      errorMessage: null,
      uploadedAt: nowSeconds,
      embeddedAt: nowSeconds,
    };
    return this.#become({ row, body });
  }

  /** Returns false if there is nothing to relabel. */
  relabel(label: Label): boolean {
    if (!this.#now) return false;
    this.#relabelTo(this.#now, { ...this.#labelled(label), file: movedFile(this.#now.row, label.path) });
    return true;
  }

  end({ mayReturn } = { mayReturn: false }): void {
    if (!this.#now) return;
    this.#now = undefined;
    this.#changed = true;
    this.#mayReturn = mayReturn;
  }

  #labelled({ name, path, url, fileType, modifiedAt, attributes }: Label): LabelColumns {
    const known = url || (this.#now?.row.url ?? "");
    return { name, path, url: known, fileType, modifiedAt, attributes: JSON.stringify(attributes) };
  }

  /** A new label makes a new row with the same file id, so that earlier generations keep the old one. */
  #relabelTo(now: Version, columns: LabelAndFile): Version {
    const unchanged = Object.entries(columns).every(
      ([column, value]) => now.row[column as keyof LabelAndFile] === value,
    );
    return unchanged ? now : this.#become({ ...now, row: { ...now.row, ...columns } });
  }

  #become(version: Version): Version {
    this.#changed = true;
    this.#now = version;
    return version;
  }
}

function isSame(a: Version["body"], b: Version["body"]): boolean {
  return "id" in a ? "id" in b && a.id === b.id : "name" in b && a.name === b.name;
}

type LabelColumns = Pick<DocumentRow, "name" | "path" | "url" | "fileType" | "modifiedAt" | "attributes">;
type LabelAndFile = LabelColumns & Pick<DocumentRow, "file">;

/** Returns the path of the bytes after a move. The mirror has the layout of the source, so only the end of the path changes. */
function movedFile(current: Pick<DocumentRow, "file" | "path">, path: string): string {
  const native = (text: string): string => (current.file.includes("\\") ? text.replaceAll("/", "\\") : text);
  if (current.path === "" || !current.file.endsWith(native(current.path))) return current.file;
  return current.file.slice(0, -current.path.length) + native(path);
}

/** A body that can be stored at once: complete, or written ahead. */
type ReadyBody = NewBody | UnfinishedBody;

/** A change that waits to be written. `Body`: the content, unless the store has it. */
type Operation<Body = ReadyBody> =
  | { readonly kind: "put"; readonly file: DocumentFile; readonly key: BodyKey; readonly body: Body | null }
  | { readonly kind: "relabel"; readonly itemId: ItemId; readonly label: Label }
  | { readonly kind: "end"; readonly itemId: ItemId; readonly mayReturn: boolean }
  /** A failed put: a permanent failure removes the item, any other leaves it as it is. */
  | { readonly kind: "fail"; readonly failed: FailedRef };

function itemOf(operation: Operation<unknown>): ItemId {
  if (operation.kind === "put") return operation.file.itemId;
  return operation.kind === "fail" ? operation.failed.itemId : operation.itemId;
}

interface Commit {
  readonly id: number;
  /** The only source that the draft changed; "" if there are several. */
  readonly sourceId: string;
  readonly nowSeconds: number;
  /** The domain may become empty. */
  readonly allowEmpty: boolean;
}

/**
 * Makes a draft visible; returns its number, or null if nothing is left in it. Throws ConflictError, without any change, if it must not
 * be committed.
 */
export async function commitGeneration(store: Pick<Store, "db">, commit: Commit): Promise<number | null> {
  const { id, sourceId, nowSeconds, allowEmpty } = commit;
  return writeLocked(store.db, async (sql) => {
    const draft = await findDraft(sql, id);
    if (!draft) throw new ConflictError("commit draft: another run of this source has taken over");
    const { domainId } = draft;
    // Other drafts may have taken all of it, or it went and came back.
    if (draft.added === 0 && draft.removed === 0) {
      await abandonGeneration(sql, id, nowSeconds);
      return null;
    }
    if (!allowEmpty && (await leavesNothing(sql, domainId, id))) {
      const what = sourceId === "" ? domainId : `${domainId}/${sourceId}`;
      throw new ConflictError(
        `commit draft of ${what}: nothing of the domain ${domainId} would be left; readers keep what they have until the removals are confirmed`,
      );
    }
    await setSource(sql, id, sourceId);
    const number = await activateGeneration(sql, id, nowSeconds);
    await releaseReturned(sql, domainId, id);
    return number;
  });
}

/** True only for a draft that adds nothing and ends all that the newest generation has. */
async function leavesNothing(sql: Sql, domainId: string, generation: number): Promise<boolean> {
  const brings = await sql.get("SELECT id FROM documents WHERE born = $1 LIMIT 1", [generation]);
  if (brings) return false;
  const left = await sql.get(
    `SELECT d.id FROM documents d WHERE d.domain_id = $1 AND d.died IS DISTINCT FROM $2
       AND ${visibleAt(NEWEST)} LIMIT 1`,
    [domainId, generation],
  );
  return left === undefined;
}

export function refOf(row: Omit<HoldingRow, "id">): IndexedRef {
  return {
    itemId: row.itemId,
    fileId: row.fileId,
    sha256: row.sha256,
    fileType: row.fileType,
    path: row.path,
    url: row.url,
    uploadedAt: fromUnixSeconds(row.uploadedAt),
    embeddedAt: fromUnixSeconds(row.embeddedAt),
  };
}

let lastSecond = { seconds: 0, instant: toUtcMicros(new Date(0)) };

/** Caches the last second: documents of one crawl share it, and formatting times dominates listings. */
export function fromUnixSeconds(seconds: number): string {
  if (seconds !== lastSecond.seconds) lastSecond = { seconds, instant: toUtcMicros(new Date(seconds * 1000)) };
  return lastSecond.instant;
}
