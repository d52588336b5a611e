import { explain } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { ClaimedTask, TaskQueue } from "../../contracts/queue.ts";
import type { Registry } from "../../contracts/registry.ts";
import type { ItemLooker } from "../../contracts/web.ts";
import { backoffMs } from "../../lib/backoff.ts";
import { afterFailure, beginLook } from "../../plan/web/look-at-item.ts";
import { type CheckPolicy, isDue } from "../../plan/web/schedule-item.ts";
import { changeItem } from "./change-item.ts";
import type { HostSeats } from "./host-seats.ts";
import { ITEM_TASK, readMessage, withoutMessage } from "./queue-item.ts";

export interface WorkParts {
  readonly registry: Registry;
  readonly queue: TaskQueue;
  readonly looker: ItemLooker;
  readonly policy: CheckPolicy;
  readonly seats: HostSeats;
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
  const { queue, lockMs, seats } = parts;
  while (!signal.aborted) {
    const task = await queue.claim([ITEM_TASK], worker, lockMs);
    if (!task) return false;
    const message = readMessage(task);
    if (!message) return await queue.complete(task);
    const seat = seats.take(message.host, task.id);
    if (seat === "taken") return await workOn(task, message, worker, parts, signal);
    // Those that wait for other hosts go first.
    await queue.handBack(task, seat.waitMs);
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
  const { queue, seats } = parts;
  try {
    await attend(task, id, worker, parts, signal);
  } catch (error) {
    if (!signal.aborted) {
      await queue.fail(task, { error: explain(error), delayMs: retryMs(task, LONGEST_RETRY_MS) });
      throw error;
    }
    await queue.handBack(task);
  } finally {
    seats.leave(host);
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
  const { queue, looker, lockMs } = parts;
  if (task.attempts > MOST_ATTEMPTS) await giveUp(id, task, parts);
  const heartbeat = (): Promise<boolean> => queue.renew(task, lockMs);
  const looked = await looker.look(id, { worker, when: "due", force: false, signal, heartbeat });
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
    isDue(item, now()) ? afterFailure(item, beginLook(item, now()), { reason }, policy) : item,
  );
}
