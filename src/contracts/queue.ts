/** Work for any process. */
export interface NewTask {
  /** Which workers can do it: `crawl`. */
  readonly kind: string;
  /** The input, as JSON. */
  readonly payload: unknown;
}

/** A task in the queue. A completed one is deleted. */
export interface Task extends NewTask {
  readonly id: number | string;
  /** How often it was claimed; handBack does not count. */
  readonly attempts: number;
  /** Why the last attempt failed, or "". */
  readonly error: string;
}

/** A task that a worker has claimed, until the lease ends. */
export interface ClaimedTask extends Task {
  readonly lease: string;
}

/**
 * Tasks shared by all processes that use the same database. Each is claimed by one worker at a time. A worker that does
 * not renew its lease, or is known to have ended, loses the task; its later calls change nothing.
 */
export interface TaskQueue {
  enqueue(task: NewTask): Promise<void>;
  /** Claims the task that has waited longest; undefined: none. `worker` is for messages. */
  claim(kinds: readonly string[], worker: string, leaseMs: number): Promise<ClaimedTask | undefined>;
  /** false, here and below: another worker has the task, or it is gone. */
  renew(task: ClaimedTask, leaseMs: number): Promise<boolean>;
  complete(task: ClaimedTask): Promise<boolean>;
  /** The task can be claimed again after `delayMs`. */
  fail(task: ClaimedTask, failure: { readonly error: string; readonly delayMs: number }): Promise<boolean>;
  /** Returns the task, for now or later, as if it had not been claimed. */
  handBack(task: ClaimedTask, delayMs?: number): Promise<boolean>;
  /** Returns when the oldest waiting task was enqueued; undefined: none waits. */
  waitingSince(kind: string): Promise<Date | undefined>;
  close(): Promise<void>;
}

/** A queue that can be listed. */
export interface ListedTaskQueue extends TaskQueue {
  /** Waiting and claimed tasks, oldest first. */
  list(): Promise<Task[]>;
}
