import type { ItemId } from "../../contracts/ids.ts";
import type { ClaimedTask, TaskQueue } from "../../contracts/queue.ts";
import type { IngestItem, Registry } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { changeItem } from "./change-item.ts";

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
export function readMessage({ payload }: Pick<ClaimedTask, "payload">): { id: ItemId; host: string } | undefined {
  const { id, host, partitionKey } = (payload ?? {}) as { readonly [field: string]: unknown };
  // Of earlier versions, and of other programs, the partition has to do.
  return typeof id === "string" && id !== "" ? { id: id as ItemId, host: String(host ?? partitionKey) } : undefined;
}
