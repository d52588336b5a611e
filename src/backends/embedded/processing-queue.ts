import { ExtractError, type Extractor } from "../../contracts/document.ts";
import { explain } from "../../contracts/errors.ts";
import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import { labelWords } from "../../index/analyzer.ts";
import { noteLooseBodies, type StoredBody } from "../../index/bodies.ts";
import { parseChunkingKey } from "../../index/chunk-sections.ts";
import { activeDocument, actualPath, type DocumentRow } from "../../index/documents.ts";
import type { Store } from "../../index/store.ts";
import { bumpVisibleRevision, writeInTurn } from "../../index/store-state.ts";
import { withBody } from "../../index/write-body.ts";
import { isProcessGone, type ProcessIdentity, thisProcess } from "../../lib/process-identity.ts";
import { randomId } from "../../lib/random-id.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { nowSeconds } from "../../lib/time.ts";

const AT_ONCE = 4;
const CLAIM_SECONDS = 60;
const RENEW_MS = 20_000;
const LOOK_EVERY_MS = 1000;
/** A file that took the process down this often is not tried again. */
const MAX_INTERRUPTIONS = 3;
const INTERRUPTED: Failure = {
  code: "server_error",
  message: "Processing was interrupted several times and is not tried again; attach the file anew to do so.",
};

export interface Work {
  /** Does the work of one task; with a `failure` there is nothing left to do but to tell it. Throws when it is to be tried again. */
  process(task: AttachTask, failure: Failure | undefined, signal: AbortSignal): Promise<void>;
  /** When there is nothing left to do: what is worth doing once after many files. May fail; it will come again. */
  finish(storeId: VectorStoreId, signal: AbortSignal): Promise<void>;
}

/**
 * Files are processed in the background, a few at a time. What has to be done is in the catalog, so it survives a restart:
 * tasks of a process that is gone are taken up by whoever looks next.
 */
export class Processing {
  readonly #catalog: SqlDatabase;
  readonly #work: Work;
  readonly #owner = JSON.stringify({ ...thisProcess(), backend: randomId("") });
  readonly #waiting: WaitingTask[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #changed = new Set<VectorStoreId>();
  readonly #closing = new AbortController();
  #renewing: NodeJS.Timeout | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(catalog: SqlDatabase, work: Work) {
    this.#catalog = catalog;
    this.#work = work;
  }

  /** Nobody else touches the tasks from here on; `start` follows once there is something to work on. */
  async reserve(tasks: readonly AttachTask[]): Promise<void> {
    await insertTasks(this.#catalog, tasks, this.#claim());
  }

  start(tasks: readonly AttachTask[]): void {
    this.#waiting.push(...tasks.map((task) => ({ ...task, owner: this.#owner, interruptions: 0 })));
    this.#pump();
  }

  /**
   * Takes up what others left unfinished. To be called whenever somebody looks at a file in progress; false: nothing was
   * done, because it is too soon after the last time.
   */
  async takeUp(): Promise<boolean> {
    const now = performance.now();
    if (this.#closing.signal.aborted || now - this.#lookedAtMs < LOOK_EVERY_MS) return false;
    this.#lookedAtMs = now;
    for (const { owner, claimedUntil } of await otherOwners(this.#catalog, this.#owner)) {
      if (owner !== "" && claimedUntil >= nowSeconds() && !isGone(owner)) continue;
      const taken = await this.#catalog.write((sql) => claimTasksOf(sql, owner, this.#claim()));
      this.#waiting.push(...taken);
    }
    this.#pump();
    return true;
  }

  /** What is under way ends or is interrupted; what is left is handed back. */
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
      // Handed back, so that the next look tries again; while closing, everything is.
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

/** Claims are between processes, so they go by the real clock, whatever clock the backend was given. */

export interface Failure {
  readonly code: "unsupported_file" | "invalid_file" | "server_error";
  readonly message: string;
}

/**
 * Makes an attached file searchable, or says in its row why it cannot be. Does nothing when it was detached, cancelled or
 * attached otherwise meanwhile. `failure`: it has failed already, and only has to be told so.
 */
export async function processFile(
  store: Store,
  fileId: string,
  how: { readonly extractor: Extractor; readonly failure: Failure | undefined; readonly signal: AbortSignal },
): Promise<void> {
  const row = await activeDocument(store.db, fileId);
  if (row?.status !== "in_progress") return;
  const failure = how.failure ?? (await tryToProcess(store, row, how));
  if (failure) await writeInTurn(store.db, (sql) => fail(sql, row, failure));
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

async function complete(sql: Sql, store: Store, row: DocumentRow, body: StoredBody): Promise<void> {
  const now = await current(sql, row);
  // A body without a document would never be cleaned up.
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

/** Nothing outdated is served: what an earlier processing made of the file goes. */
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

/** undefined when the row is not any more what was begun with. */
async function current(sql: Sql, row: DocumentRow): Promise<Pick<DocumentRow, "bodyId"> | undefined> {
  return sql.get<Pick<DocumentRow, "bodyId">>(
    `SELECT body_id AS "bodyId" FROM documents WHERE id = $1 AND status = 'in_progress' AND chunking = $2`,
    [row.id, row.chunking],
  );
}

/** A file that is to be made searchable in a store. There is one for every attached file that is `in_progress`. */
export interface AttachTask {
  readonly storeId: VectorStoreId;
  readonly fileId: FileId;
}

interface WaitingTask extends AttachTask {
  /** "": handed back. */
  readonly owner: string;
  readonly interruptions: number;
}

/** Claimed from the start: until its file is in the store, nobody else may look at it. */
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

/** Of files of one store: those that have a task. */
export async function filesWithTask(sql: Sql, tasks: readonly AttachTask[]): Promise<ReadonlySet<FileId>> {
  const rows = await sql.all<{ fileId: FileId }>(
    `SELECT file_id AS "fileId" FROM attach_tasks WHERE store_id = $1 AND ${isListed(sql, "file_id", "$2", "text")}`,
    [tasks[0]?.storeId ?? "", listOf(tasks.map(({ fileId }) => fileId))],
  );
  return new Set(rows.map(({ fileId }) => fileId));
}

/** Owners of tasks, other than this one. */
async function otherOwners(
  sql: Sql,
  owner: string,
): Promise<{ readonly owner: string; readonly claimedUntil: number }[]> {
  return sql.all(
    'SELECT owner, max(claimed_until) AS "claimedUntil" FROM attach_tasks WHERE owner <> $1 GROUP BY owner',
    [owner],
  );
}

/** Takes over all tasks of an owner. */
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

/** Handed back after it went wrong half-way. */
async function releaseInterrupted(sql: Sql, { storeId, fileId }: AttachTask): Promise<void> {
  await sql.run(
    `UPDATE attach_tasks SET owner = '', claimed_until = 0, interruptions = interruptions + 1
     WHERE store_id = $1 AND file_id = $2`,
    [storeId, fileId],
  );
}
