import { explain } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { ClaimedTask, Task, TaskQueue } from "../../contracts/queue.ts";
import type { IngestItem, Registry } from "../../contracts/registry.ts";
import type { ItemFetcher } from "../../contracts/web.ts";
import { backoffMs } from "../../lib/retry.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { type CheckPolicy, isDue } from "../../plan/web/item-state.ts";
import { afterFailure, beginVisit } from "../../plan/web/item-transitions.ts";
import { changeItem } from "./item-records.ts";

interface WorkParts {
  readonly registry: Registry;
  readonly queue: TaskQueue;
  readonly itemFetcher: ItemFetcher;
  readonly policy: CheckPolicy;
  readonly hosts: HostSemaphore;
  readonly lockMs: number;
  readonly now: () => Date;
}

const RETRY_MS = 1000;
const LONGEST_RETRY_MS = 10 * 60_000;
/** An item that crashes its worker each time is given up for a while. */
const MOST_ATTEMPTS = 20;
/** Clocks of machines differ: an item that is due so soon counts as due. */
const ALMOST_DUE_MS = 60_000;

/**
 * Claims and fetches one item; false if there was none to start. Throws errors that are not the item's fault; its
 * message comes back later.
 */
export async function workOne(worker: string, parts: WorkParts, signal: AbortSignal): Promise<boolean> {
  const { queue, lockMs, hosts } = parts;
  while (!signal.aborted) {
    const task = await queue.claim([ITEM_TASK], worker, lockMs);
    if (!task) return false;
    const message = readMessage(task);
    if (!message) return await queue.complete(task);
    const permit = hosts.tryAcquire(message.host, task.id);
    if (permit === "acquired") return await workOn(task, message, worker, parts, signal);
    // Items of other hosts go first.
    await queue.handBack(task, permit.waitMs);
  }
  return false;
}

async function workOn(
  task: ClaimedTask,
  { id, host }: { readonly id: ItemId; readonly host: string },
  worker: string,
  parts: WorkParts,
  signal: AbortSignal,
): Promise<true> {
  const { queue, hosts } = parts;
  try {
    await fetchClaimed(task, id, worker, parts, signal);
  } catch (error) {
    if (!signal.aborted) {
      await queue.fail(task, { error: explain(error), delayMs: retryMs(task, LONGEST_RETRY_MS) });
      throw error;
    }
    await queue.handBack(task);
  } finally {
    hosts.release(host);
  }
  return true;
}

async function fetchClaimed(
  task: ClaimedTask,
  id: ItemId,
  worker: string,
  parts: WorkParts,
  signal: AbortSignal,
): Promise<void> {
  const { queue, itemFetcher, lockMs } = parts;
  if (task.attempts > MOST_ATTEMPTS) await giveUp(id, task, parts);
  const heartbeat = (): Promise<boolean> => queue.renew(task, lockMs);
  const result = await itemFetcher.fetch(id, { worker, when: "due", force: false, signal, heartbeat });
  if (result.kind === "busy") {
    const leftMs = Date.parse(result.until) - parts.now().getTime();
    // Keep the message: the other worker may have started before the last request, or be dead.
    const delayMs = Math.max(Math.min(leftMs, retryMs(task, lockMs / 4)), 0);
    return void (await queue.fail(task, { error: "Another worker is fetching it.", delayMs }));
  }
  const dueInMs = result.kind === "not due" ? await dropMessage(id, parts) : undefined;
  if (dueInMs === undefined) await queue.complete(task);
  else await queue.fail(task, { error: "It is not due yet.", delayMs: dueInMs });
}

function retryMs({ attempts }: ClaimedTask, longestMs: number): number {
  return backoffMs(attempts, { firstMs: RETRY_MS, longestMs });
}

/**
 * Marks the item as not queued before its message is deleted, so a later request sends a new one. Returns undefined, or
 * how long the message has to wait because the item is due soon.
 */
async function dropMessage(id: ItemId, { registry, now }: WorkParts): Promise<number | undefined> {
  let waitMs: number | undefined;
  await changeItem(registry, id, (item) => {
    const { queuedUntil, nextCrawlAt } = item.scheduling;
    const leftMs = Math.max(Date.parse(nextCrawlAt) - now().getTime(), 0);
    waitMs = queuedUntil !== "" && leftMs < ALMOST_DUE_MS ? leftMs : undefined;
    const isUnchanged = queuedUntil === "" || waitMs !== undefined;
    return isUnchanged ? item : withoutMessage(item);
  });
  return waitMs;
}

async function giveUp(
  id: ItemId,
  { attempts, error }: ClaimedTask,
  { registry, policy, now }: WorkParts,
): Promise<void> {
  const why = error || "the worker ended each time before the item was done.";
  const reason = `Given up for now after ${attempts} attempts: ${why}`;
  await changeItem(registry, id, (item) =>
    isDue(item, now()) ? afterFailure(item, beginVisit(item, now()), { reason }, policy) : item,
  );
}

/** The task kind of items in the queue. */
export const ITEM_TASK = "ingest";

/**
 * How long a message counts as queued. After that it may be lost: unless it may still wait in a long queue, the timer
 * sends another.
 */
const BELIEVED_MS = 15 * 60_000;
const CLOCKS_DIFFER_MS = 60_000;

/**
 * The item as it is stored before its message is sent. After a kill in between, the timer sends a message when this one
 * has expired.
 */
export function asQueued(item: IngestItem, now: Date): IngestItem {
  const queuedUntil = toUtcMicros(new Date(now.getTime() + BELIEVED_MS));
  return { ...item, scheduling: { ...item.scheduling, queuedUntil } };
}

/** Whether a message waits that no worker has taken. The worker that takes it sees every request made until then. */
export function isQueued({ scheduling }: IngestItem, now: Date): boolean {
  return scheduling.queuedUntil > toUtcMicros(now);
}

/**
 * Whether an expired message may still be in the queue. `waitingSince` is the age of the queue's oldest message; later
 * ones are behind it.
 */
export function mayStillWait({ scheduling }: IngestItem, waitingSince: Date | undefined): boolean {
  if (!waitingSince || scheduling.queuedUntil === "") return false;
  return Date.parse(scheduling.queuedUntil) - BELIEVED_MS >= waitingSince.getTime() - CLOCKS_DIFFER_MS;
}

/** Sends the message of an item that is marked as queued; takes the mark back if that fails. */
export async function sendItem(
  item: IngestItem,
  { queue, registry }: { readonly queue: TaskQueue; readonly registry: Registry },
): Promise<void> {
  const { id, sourceHost: host, reindexGeneration: generation } = item;
  try {
    const payload = { id, ...(await registry.keysOf(item)), generation, host };
    await queue.enqueue({ kind: ITEM_TASK, payload });
  } catch (error) {
    await changeItem(registry, id, withoutMessage).catch(() => undefined);
    throw error;
  }
}

export function withoutMessage(item: IngestItem): IngestItem {
  return { ...item, scheduling: { ...item.scheduling, queuedUntil: "" } };
}

/** undefined: not a message of this kind. */
function readMessage({ payload }: Pick<ClaimedTask, "payload">): { id: ItemId; host: string } | undefined {
  const { id, host, partitionKey } = (payload ?? {}) as { readonly [field: string]: unknown };
  // Messages of earlier releases and other programs have no host: use the partition.
  return typeof id === "string" && id !== "" ? { id: id as ItemId, host: String(host ?? partitionKey) } : undefined;
}

/** Until the first fetch from the host has ended. */
const LEAST_PACE_MS = 10;
/** The host may have become faster. */
const LONGEST_WAIT_MS = 60_000;

interface Host {
  taken: number;
  /** Tasks that were sent back and have not returned yet. */
  readonly waiting: Set<Task["id"]>;
  /** Time between the last two releases. */
  paceMs: number;
  leftAtMs: number;
}

/** Limits how many workers of this process fetch from one host: slow hosts must not occupy all workers. */
export class HostSemaphore {
  readonly #most: number;
  readonly #hosts = new Map<string, Host>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns "acquired", or how long the task should wait: the host's pace times the tasks that wait already. */
  tryAcquire(host: string, task: Task["id"]): "acquired" | { readonly waitMs: number } {
    const nowMs = performance.now();
    const found = this.#hosts.get(host) ?? { taken: 0, waiting: new Set(), paceMs: 0, leftAtMs: nowMs };
    if (found.taken < this.#most) {
      found.taken += 1;
      found.waiting.delete(task);
      this.#hosts.set(host, found);
      return "acquired";
    }
    found.waiting.add(task);
    const paceMs = Math.max(found.paceMs, nowMs - found.leftAtMs, LEAST_PACE_MS);
    return { waitMs: Math.round(Math.min(found.waiting.size * paceMs, LONGEST_WAIT_MS)) };
  }

  release(host: string): void {
    const found = this.#hosts.get(host);
    if (!found) return;
    found.taken -= 1;
    if (found.taken === 0) return void this.#hosts.delete(host);
    const nowMs = performance.now();
    found.paceMs = nowMs - found.leftAtMs;
    found.leftAtMs = nowMs;
  }
}
