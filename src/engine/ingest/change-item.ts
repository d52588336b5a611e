import { ConflictError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem, RegisteredItem, Registry } from "../../contracts/registry.ts";

/** So often in a row somebody else is faster only when something is wrong. */
const MOST_TRIES = 50;

/**
 * Reads, changes and puts; once more when somebody was faster. Given back the very same item, it puts nothing. Returns the
 * record as it then is; undefined when there is none. A change that goes by the members reads them itself, after the record:
 * whoever changes a member looks at the record afterwards, so of two at once one sees what the other did.
 */
export async function changeItem(
  registry: Pick<Registry, "get" | "put">,
  id: ItemId,
  change: (item: IngestItem) => IngestItem | Promise<IngestItem>,
): Promise<RegisteredItem | undefined> {
  for (let tries = 1; ; tries++) {
    const found = await registry.get(id);
    if (!found) return undefined;
    const item = await change(found.item);
    if (item === found.item) return found;
    try {
      return { item, version: await registry.put(item, found.version) };
    } catch (error) {
      if (!(error instanceof ConflictError) || tries >= MOST_TRIES) throw error;
    }
  }
}
