import type { IngestItem } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { withEvent } from "./item-events.ts";
import { hasLeft } from "./schedule-item.ts";

/** The index has it. Told of another state than the present one, the item stays behind. The same object: nothing to put. */
export function afterIndexed(
  item: IngestItem,
  indexed: {
    readonly docId: string;
    readonly contentHash: string;
    /** The item's `processedGeneration` when it was listed. */
    readonly generation: number;
    readonly at: Date;
  },
): IngestItem {
  if (hasLeft(item.status)) return item;
  const isPresent = indexed.contentHash === item.content.contentHash && indexed.generation >= item.processedGeneration;
  const isFailing = item.scheduling.failureCount > 0 || item.scheduling.goneCount > 0;
  const status = isPresent ? (isFailing ? "Error" : "Indexed") : item.status;
  if (status === item.status && indexed.docId === item.linkage.lastIndexedDocId) return item;
  const told: IngestItem = {
    ...item,
    status,
    linkage: { ...item.linkage, lastIndexedDocId: indexed.docId, indexError: "" },
    scheduling: { ...item.scheduling, lastIndexed: toUtcMicros(indexed.at) },
  };
  return withEvent(told, "indexed", indexed.docId, indexed.at);
}
