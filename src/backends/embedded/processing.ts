import type { VectorStoreId } from "../../contracts/ids.ts";
import { isProcessGone, type ProcessIdentity, thisProcess } from "../../lib/process-identity.ts";
import { randomId } from "../../lib/random-id.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import { nowSeconds } from "../../lib/time.ts";
import {
  type AttachTask,
  claimTasksOf,
  deleteTasks,
  insertTasks,
  otherOwners,
  releaseClaims,
  releaseInterrupted,
  renewClaims,
  type WaitingTask,
} from "./catalog/attach-tasks.ts";
import type { Failure } from "./process-file.ts";

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
