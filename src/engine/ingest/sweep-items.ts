import { ConflictError } from "../../contracts/errors.ts";
import { toUtcMicros } from "../../lib/time.ts";
import type { OpenIngestParts } from "./create-ingest.ts";
import { asQueued, ITEM_TASK, isQueued, mayStillWait, sendItem } from "./queue-item.ts";

/** A message for everything that is due and has none that is believed in. Returns how many. */
export async function sweepItems(
  { registry, queue, now }: Pick<OpenIngestParts, "registry" | "queue" | "now">,
  signal: AbortSignal,
): Promise<number> {
  let queued = 0;
  const waitingSince = await queue.waitingSince(ITEM_TASK);
  for await (const page of registry.due(toUtcMicros(now()))) {
    for (const { item, version } of page) {
      if (signal.aborted) return queued;
      if (isQueued(item, now()) || mayStillWait(item, waitingSince)) continue;
      try {
        await registry.put(asQueued(item, now()), version);
      } catch (error) {
        // Somebody is at it.
        if (error instanceof ConflictError) continue;
        throw error;
      }
      await sendItem(item, { queue, registry });
      queued += 1;
    }
  }
  return queued;
}
