import type { IngestItem } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";

/** The timer minds when it is due: somebody asked for this very address, or for a look that it has not got. */
export function isScheduled(
  item: Pick<IngestItem, "watched" | "reindexRequested" | "reindexGeneration" | "processedGeneration">,
): boolean {
  return item.watched || item.reindexRequested || item.reindexGeneration > item.processedGeneration;
}

/** What the text of a query is looked for in. */
export function searchTextOf({ displaySource, normalizedSource, title, content }: IngestItem): string {
  return [displaySource, normalizedSource, title, content.foundTitle].join("\n").toLowerCase();
}

export function dayBefore(at: string): string {
  return toUtcMicros(new Date(Date.parse(at) - 86_400_000));
}
