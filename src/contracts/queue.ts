/** Work that any process may do. */
export interface NewTask {
  /** Decides who can do it: `crawl`. */
  readonly kind: string;
  /** Everything needed to do it, as JSON. */
  readonly payload: unknown;
}

/** A task as the queue tells it. One that was completed is not there any more. */
export interface Task extends NewTask {
  readonly id: number | string;
  /** How often it was claimed; handing it back takes that claim back. */
  readonly attempts: number;
  /** Why the last attempt failed; "" when none did. */
  readonly error: string;
}

/** A task that belongs to whoever claimed it, until the lease ends. */
export interface ClaimedTask extends Task {
  readonly lease: string;
}

/**
 * Tasks shared by all processes that see the same database. Each is claimed by one at a time. A worker that does not renew
 * its lease, or is known to have ended, loses the task to the next one; what it does with a lost task changes nothing.
 */
export interface TaskQueue {
  enqueue(task: NewTask): Promise<void>;
  /** The task that has waited longest; undefined when there is nothing to do. `worker` is for people. */
  claim(kinds: readonly string[], worker: string, leaseMs: number): Promise<ClaimedTask | undefined>;
  /** false: somebody else has it, or it is gone. The same is meant by false below. */
  renew(task: ClaimedTask, leaseMs: number): Promise<boolean>;
  complete(task: ClaimedTask): Promise<boolean>;
  /** It waits for `delayMs`, then may be claimed again. */
  fail(task: ClaimedTask, failure: { readonly error: string; readonly delayMs: number }): Promise<boolean>;
  /** For the next one, at once or after a while, as if it had not been claimed. */
  handBack(task: ClaimedTask, delayMs?: number): Promise<boolean>;
  /** When the oldest of those that wait to be claimed was put there; undefined when none does. */
  waitingSince(kind: string): Promise<Date | undefined>;
  close(): Promise<void>;
}

/** A queue that can be looked through. */
export interface ListedTaskQueue extends TaskQueue {
  /** Those that wait and those that are claimed, oldest first. */
  list(): Promise<Task[]>;
}
