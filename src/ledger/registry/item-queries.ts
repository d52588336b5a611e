import type { IngestItem } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";

/** Whether the timer fetches the item when it is due: its address is registered, or a fetch of it was requested and not done. */
export function isScheduled(
  item: Pick<IngestItem, "watched" | "reindexRequested" | "reindexGeneration" | "processedGeneration">,
): boolean {
  return item.watched || item.reindexRequested || item.reindexGeneration > item.processedGeneration;
}

/** Returns the text that a query is matched against, in lower case. */
export function searchTextOf({ displaySource, normalizedSource, title, content }: IngestItem): string {
  return [displaySource, normalizedSource, title, content.foundTitle].join("\n").toLowerCase();
}

export function dayBefore(at: string): string {
  return toUtcMicros(new Date(Date.parse(at) - 86_400_000));
}
