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
/** An item that takes its worker down each time is left alone for a while. */
const MOST_ATTEMPTS = 20;
/** Clocks of machines differ: what is due so soon was meant to be looked at. */
const ALMOST_DUE_MS = 60_000;

/** false: nothing that could be begun. Throws what was not the item's fault; its message comes back after a while. */
export async function workOne(worker: string, parts: WorkParts, signal: AbortSignal): Promise<boolean> {
  const { queue, lockMs, hosts } = parts;
  while (!signal.aborted) {
    const task = await queue.claim([ITEM_TASK], worker, lockMs);
    if (!task) return false;
    const message = readMessage(task);
    if (!message) return await queue.complete(task);
    const permit = hosts.tryAcquire(message.host, task.id);
    if (permit === "acquired") return await workOn(task, message, worker, parts, signal);
    // Those that wait for other hosts go first.
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
    await attend(task, id, worker, parts, signal);
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

async function attend(
  task: ClaimedTask,
  id: ItemId,
  worker: string,
  parts: WorkParts,
  signal: AbortSignal,
): Promise<void> {
  const { queue, itemFetcher, lockMs } = parts;
  if (task.attempts > MOST_ATTEMPTS) await giveUp(id, task, parts);
  const heartbeat = (): Promise<boolean> => queue.renew(task, lockMs);
  const looked = await itemFetcher.fetch(id, { worker, when: "due", force: false, signal, heartbeat });
  if (looked.kind === "busy") {
    const leftMs = Date.parse(looked.until) - parts.now().getTime();
    // Whoever has it may have begun before the last request was made, or be dead: somebody has to look again.
    const delayMs = Math.max(Math.min(leftMs, retryMs(task, lockMs / 4)), 0);
    return void (await queue.fail(task, { error: "Somebody else is looking at it.", delayMs }));
  }
  const dueInMs = looked.kind === "not due" ? await takeOff(id, parts) : undefined;
  if (dueInMs === undefined) await queue.complete(task);
  else await queue.fail(task, { error: "It is not due yet.", delayMs: dueInMs });
}

function retryMs({ attempts }: ClaimedTask, longestMs: number): number {
  return backoffMs(attempts, { firstMs: RETRY_MS, longestMs });
}

/**
 * The message of an item that is not due is not needed, and the record says so first: whoever asks for it from now on sends
 * another. undefined when that is done; otherwise how long the message has to wait.
 */
async function takeOff(id: ItemId, { registry, now }: WorkParts): Promise<number | undefined> {
  let waitMs: number | undefined;
  await changeItem(registry, id, (item) => {
    const { queuedUntil, nextCrawlAt } = item.scheduling;
    const leftMs = Math.max(Date.parse(nextCrawlAt) - now().getTime(), 0);
    waitMs = queuedUntil !== "" && leftMs < ALMOST_DUE_MS ? leftMs : undefined;
    const isTold = queuedUntil === "" || waitMs !== undefined;
    return isTold ? item : withoutMessage(item);
  });
  return waitMs;
}

async function giveUp(
  id: ItemId,
  { attempts, error }: ClaimedTask,
  { registry, policy, now }: WorkParts,
): Promise<void> {
  const why = error || "each time the worker ended before it did.";
  const reason = `Given up for now after ${attempts} attempts: ${why}`;
  await changeItem(registry, id, (item) =>
    isDue(item, now()) ? afterFailure(item, beginVisit(item, now()), { reason }, policy) : item,
  );
}

/** The kind of its messages in the queue. */
export const ITEM_TASK = "ingest";

/** A message that nobody has begun with by then may be lost: unless it may still wait in a long line, the timer sends another. */
const BELIEVED_MS = 15 * 60_000;
const CLOCKS_DIFFER_MS = 60_000;

/** The item as it is put before its message is sent: killed in between, the timer sends one when nobody believes in this one any more. */
export function asQueued(item: IngestItem, now: Date): IngestItem {
  const queuedUntil = toUtcMicros(new Date(now.getTime() + BELIEVED_MS));
  return { ...item, scheduling: { ...item.scheduling, queuedUntil } };
}

/** Is there a message that nobody has begun with? Whoever takes it sees everything asked for until then. */
export function isQueued({ scheduling }: IngestItem, now: Date): boolean {
  return scheduling.queuedUntil > toUtcMicros(now);
}

/**
 * The same of a message that is old: is it still in the line? `waitingSince` tells when the first one there was put there, so
 * whatever was sent later may be behind it.
 */
export function mayStillWait({ scheduling }: IngestItem, waitingSince: Date | undefined): boolean {
  if (!waitingSince || scheduling.queuedUntil === "") return false;
  return Date.parse(scheduling.queuedUntil) - BELIEVED_MS >= waitingSince.getTime() - CLOCKS_DIFFER_MS;
}

/** The record says already that it is queued; if that does not work out, it says so no longer. */
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

/** undefined: no message of ours. */
function readMessage({ payload }: Pick<ClaimedTask, "payload">): { id: ItemId; host: string } | undefined {
  const { id, host, partitionKey } = (payload ?? {}) as { readonly [field: string]: unknown };
  // Of earlier versions, and of other programs, the partition has to do.
  return typeof id === "string" && id !== "" ? { id: id as ItemId, host: String(host ?? partitionKey) } : undefined;
}

/** Before the first look at the host ended. */
const LEAST_PACE_MS = 10;
/** A host may be quicker than it was. */
const LONGEST_WAIT_MS = 60_000;

interface Host {
  taken: number;
  /** Those that were told to wait and have not been back. */
  readonly waiting: Set<Task["id"]>;
  /** How long it took until the last permit was free again. */
  paceMs: number;
  leftAtMs: number;
}

/** Hosts are asked at their own pace, so whoever looks at an item may have to wait: not all of a process for the same host. */
export class HostSemaphore {
  readonly #most: number;
  readonly #hosts = new Map<string, Host>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Otherwise, how long the task should wait: for as long as the host takes for those that wait already. */
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
