import { ExtractError, type Extractor } from "../../contracts/document.ts";
import { explain } from "../../contracts/errors.ts";
import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import { labelWords } from "../../index/analyzer.ts";
import { type BodyRow, noteLooseBodies } from "../../index/bodies.ts";
import { parseChunkingKey } from "../../index/chunk-sections.ts";
import { activeDocument, actualPath, type DocumentRow } from "../../index/documents.ts";
import type { Store } from "../../index/store.ts";
import { bumpVisibleRevision, writeLocked } from "../../index/store-state.ts";
import { withBody } from "../../index/write-body.ts";
import { isProcessGone, type ProcessIdentity, thisProcess } from "../../lib/process-identity.ts";
import { randomId } from "../../lib/random-id.ts";
import { isListed, listOf, type Sql, type SqlDatabase } from "../../lib/sql/sql.ts";
import { nowSeconds } from "../../lib/time.ts";

const AT_ONCE = 4;
const CLAIM_SECONDS = 60;
const RENEW_MS = 20_000;
const CHECK_EVERY_MS = 1000;
/** A file that crashed the process this often is not retried. */
const MAX_INTERRUPTIONS = 3;
const INTERRUPTED: Failure = {
  code: "server_error",
  message: "Processing was interrupted several times and is not tried again; attach the file anew to do so.",
};

export interface Work {
  /** Processes one task; with a `failure` it only records it. Throws if the task is to be retried. */
  process(task: AttachTask, failure: Failure | undefined, signal: AbortSignal): Promise<void>;
  /** Called when the queue is empty, for work that is done once after many files. May fail; it is called again. */
  finish(storeId: VectorStoreId, signal: AbortSignal): Promise<void>;
}

/**
 * Processes files in the background, a few at a time. Tasks are in the catalog, so they survive a restart: tasks of a dead
 * process are taken over by the next process that reads their files.
 */
export class ProcessingQueue {
  readonly #catalog: SqlDatabase;
  readonly #work: Work;
  readonly #owner = JSON.stringify({ ...thisProcess(), backend: randomId("") });
  readonly #waiting: WaitingTask[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #changed = new Set<VectorStoreId>();
  readonly #closing = new AbortController();
  #renewing: NodeJS.Timeout | undefined;
  #checkedAtMs = Number.NEGATIVE_INFINITY;

  constructor(catalog: SqlDatabase, work: Work) {
    this.#catalog = catalog;
    this.#work = work;
  }

  /** Claims the tasks for this process; `start` begins the work. */
  async reserve(tasks: readonly AttachTask[]): Promise<void> {
    await insertTasks(this.#catalog, tasks, this.#claim());
  }

  start(tasks: readonly AttachTask[]): void {
    this.#waiting.push(...tasks.map((task) => ({ ...task, owner: this.#owner, interruptions: 0 })));
    this.#pump();
  }

  /**
   * Takes over tasks of dead processes. Called whenever a client reads a file in progress. Returns false if nothing was done
   * because the last check was less than a second ago.
   */
  async takeOver(): Promise<boolean> {
    const now = performance.now();
    if (this.#closing.signal.aborted || now - this.#checkedAtMs < CHECK_EVERY_MS) return false;
    this.#checkedAtMs = now;
    for (const { owner, claimedUntil } of await otherOwners(this.#catalog, this.#owner)) {
      if (owner !== "" && claimedUntil >= nowSeconds() && !isGone(owner)) continue;
      const taken = await this.#catalog.write((sql) => claimTasksOf(sql, owner, this.#claim()));
      this.#waiting.push(...taken);
    }
    this.#pump();
    return true;
  }

  /** Interrupts running tasks, and releases the rest for other processes. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#waiting.length = 0;
    await Promise.allSettled(this.#running);
    clearInterval(this.#renewing);
    await releaseClaims(this.#catalog, this.#owner);
  }

  #pump(): void {
    if (this.#closing.signal.aborted) return;
    while (this.#running.size < AT_ONCE) {
      const task = this.#waiting.shift();
      if (!task) break;
      this.#track(this.#run(task));
    }
    if (this.#running.size === 0 && this.#changed.size > 0) this.#track(this.#finish());
    if (this.#running.size === 0) {
      clearInterval(this.#renewing);
      this.#renewing = undefined;
    } else {
      this.#renewing ??= setInterval(() => void this.#renew(), RENEW_MS).unref();
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => {
      this.#running.delete(tracked);
      this.#pump();
    });
    this.#running.add(tracked);
  }

  async #finish(): Promise<void> {
    const stores = [...this.#changed];
    this.#changed.clear();
    for (const id of stores) await this.#work.finish(id, this.#closing.signal).catch(() => undefined);
  }

  async #run(task: WaitingTask): Promise<void> {
    const { signal } = this.#closing;
    this.#changed.add(task.storeId);
    try {
      const failure = task.interruptions >= MAX_INTERRUPTIONS ? INTERRUPTED : undefined;
      await this.#work.process(task, failure, signal);
      await deleteTasks(this.#catalog, [task]);
    } catch {
      // Released for a retry; while closing, all tasks are.
      if (!signal.aborted) await releaseInterrupted(this.#catalog, task).catch(() => undefined);
    }
  }

  async #renew(): Promise<void> {
    await renewClaims(this.#catalog, this.#owner, this.#claim().until).catch(() => undefined);
  }

  #claim(): { readonly owner: string; readonly until: number } {
    return { owner: this.#owner, until: nowSeconds() + CLAIM_SECONDS };
  }
}

function isGone(owner: string): boolean {
  try {
    return isProcessGone(JSON.parse(owner) as ProcessIdentity);
  } catch {
    return true;
  }
}

export interface Failure {
  readonly code: "unsupported_file" | "invalid_file" | "server_error";
  readonly message: string;
}

/**
 * Makes an attached file searchable, or records in its row why that failed. Does nothing if the file was detached, cancelled
 * or attached again meanwhile. `failure`: given if the file has failed already; it is only recorded.
 */
export async function processFile(
  store: Store,
  fileId: string,
  how: { readonly extractor: Extractor; readonly failure: Failure | undefined; readonly signal: AbortSignal },
): Promise<void> {
  const row = await activeDocument(store.db, fileId);
  if (row?.status !== "in_progress") return;
  const failure = how.failure ?? (await tryToProcess(store, row, how));
  if (failure) await writeLocked(store.db, (sql) => fail(sql, row, failure));
}

async function tryToProcess(
  store: Store,
  row: DocumentRow,
  { extractor, signal }: { readonly extractor: Extractor; readonly signal: AbortSignal },
): Promise<Failure | undefined> {
  const { sha256, fileType } = row;
  const source = { path: actualPath(store, row.file), sha256, fileType, chunking: parseChunkingKey(row.chunking) };
  try {
    await withBody(store, extractor, source, signal, (sql, body) => complete(sql, store, row, body));
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ExtractError) return { code: error.code, message: error.message };
    return { code: "server_error", message: explain(error) };
  }
}

async function complete(sql: Sql, store: Store, row: DocumentRow, body: BodyRow): Promise<void> {
  const now = await current(sql, row);
  // A body without a document must be noted as loose, or it would never be cleaned up.
  await noteLooseBodies(
    sql,
    now && now.bodyId !== null && now.bodyId !== body.id ? [now.bodyId] : now ? [] : [body.id],
  );
  if (!now) return;
  await sql.run(
    `UPDATE documents SET status = 'completed', body_id = $1, embedded_at = $2, error_code = NULL, error_message = NULL
     WHERE id = $3`,
    [body.id, Math.floor(Date.now() / 1000), row.id],
  );
  await store.texts.removeLabels(sql, [row.id]);
  await store.texts.addLabels(sql, [{ documentId: row.id, ...labelWords({ ...row, title: body.title }) }]);
  await bumpVisibleRevision(sql);
}

/** Records the failure and drops the body of an earlier processing: nothing outdated is served. */
async function fail(sql: Sql, row: DocumentRow, failure: Failure): Promise<void> {
  const now = await current(sql, row);
  if (!now) return;
  if (now.bodyId !== null) await noteLooseBodies(sql, [now.bodyId]);
  await sql.run(
    "UPDATE documents SET status = 'failed', body_id = NULL, error_code = $1, error_message = $2 WHERE id = $3",
    [failure.code, failure.message, row.id],
  );
  await bumpVisibleRevision(sql);
}

/** Returns undefined if the row has changed since processing began. */
async function current(sql: Sql, row: DocumentRow): Promise<Pick<DocumentRow, "bodyId"> | undefined> {
  return sql.get<Pick<DocumentRow, "bodyId">>(
    `SELECT body_id AS "bodyId" FROM documents WHERE id = $1 AND status = 'in_progress' AND chunking = $2`,
    [row.id, row.chunking],
  );
}

/** A file to be processed for a store. There is one for every attached file that is `in_progress`. */
export interface AttachTask {
  readonly storeId: VectorStoreId;
  readonly fileId: FileId;
}

interface WaitingTask extends AttachTask {
  /** "": released. */
  readonly owner: string;
  readonly interruptions: number;
}

/** Inserts tasks already claimed: no other process may work on one before its file is in the store. */
async function insertTasks(
  sql: Sql,
  tasks: readonly AttachTask[],
  claim: { readonly owner: string; readonly until: number },
): Promise<void> {
  await sql.insert(
    "attach_tasks (store_id, file_id, owner, claimed_until, interruptions)",
    tasks.map(({ storeId, fileId }) => [storeId, fileId, claim.owner, claim.until, 0]),
    `ON CONFLICT (store_id, file_id) DO UPDATE SET owner = excluded.owner, claimed_until = excluded.claimed_until,
       interruptions = 0`,
  );
}

/** Returns those of the files that have a task. All are of one store. */
export async function filesWithTask(sql: Sql, tasks: readonly AttachTask[]): Promise<ReadonlySet<FileId>> {
  const rows = await sql.all<{ fileId: FileId }>(
    `SELECT file_id AS "fileId" FROM attach_tasks WHERE store_id = $1 AND ${isListed(sql, "file_id", "$2", "text")}`,
    [tasks[0]?.storeId ?? "", listOf(tasks.map(({ fileId }) => fileId))],
  );
  return new Set(rows.map(({ fileId }) => fileId));
}

/** Returns the owners of tasks, other than this one. */
async function otherOwners(
  sql: Sql,
  owner: string,
): Promise<{ readonly owner: string; readonly claimedUntil: number }[]> {
  return sql.all(
    'SELECT owner, max(claimed_until) AS "claimedUntil" FROM attach_tasks WHERE owner <> $1 GROUP BY owner',
    [owner],
  );
}

/** Takes over all tasks of another owner. */
async function claimTasksOf(
  sql: Sql,
  former: string,
  claim: { readonly owner: string; readonly until: number },
): Promise<WaitingTask[]> {
  return sql.all<WaitingTask>(
    `UPDATE attach_tasks SET owner = $1, claimed_until = $2,
       interruptions = interruptions + CASE WHEN owner = '' THEN 0 ELSE 1 END
     WHERE owner = $3
     RETURNING store_id AS "storeId", file_id AS "fileId", owner, interruptions`,
    [claim.owner, claim.until, former],
  );
}

async function renewClaims(sql: Sql, owner: string, until: number): Promise<void> {
  await sql.run("UPDATE attach_tasks SET claimed_until = $1 WHERE owner = $2", [until, owner]);
}

async function releaseClaims(sql: Sql, owner: string): Promise<void> {
  await sql.run("UPDATE attach_tasks SET owner = '', claimed_until = 0 WHERE owner = $1", [owner]);
}

export async function deleteTasks(sql: Sql, tasks: readonly AttachTask[]): Promise<void> {
  for (const { storeId, fileId } of tasks) {
    await sql.run("DELETE FROM attach_tasks WHERE store_id = $1 AND file_id = $2", [storeId, fileId]);
  }
}

/** Releases a task that failed half-way. */
async function releaseInterrupted(sql: Sql, { storeId, fileId }: AttachTask): Promise<void> {
  await sql.run(
    `UPDATE attach_tasks SET owner = '', claimed_until = 0, interruptions = interruptions + 1
     WHERE store_id = $1 AND file_id = $2`,
    [storeId, fileId],
  );
}
