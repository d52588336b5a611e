import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import { listStoreFiles, type Store } from "./store-files.ts";
import { readItemId, type StoreFile } from "./wire-codec.ts";

/** What a store holds of one item. */
export interface Held {
  /** The newest completed file: what counts as the item's document. */
  current: StoreFile | undefined;
  /** Older, failed or unfinished ones that a crash left between adding and detaching. */
  readonly strays: StoreFile[];
}

/** Looks at the whole store and keeps what carries the marks of this domain and source. Throws rather than miss a page. */
export async function surveySource(store: Store, domainId: DomainId, sourceId: SourceId): Promise<Map<ItemId, Held>> {
  const items = new Map<ItemId, Held>();
  // Newest first, so the first completed file of an item is its newest; created_at has only whole seconds.
  for await (const file of listStoreFiles(store)) {
    const itemId = readItemId(file, domainId, sourceId);
    if (itemId === undefined) continue;
    const held: Held = items.get(itemId) ?? { current: undefined, strays: [] };
    if (!held.current && file.status === "completed") held.current = file;
    else held.strays.push(file);
    items.set(itemId, held);
  }
  return items;
}
