import { ConflictError } from "../../contracts/errors.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import { newItem } from "../../plan/web/item-state.ts";
import type { ResolvedUrl, VisitorParts } from "./request-page.ts";

/** More conflicts than that have another cause than concurrent writers. */
const MAX_TRIES = 20;

export interface UpdatedItem {
  readonly before: IngestItem;
  readonly item: IngestItem;
}

/** Applies `change` to the record and stores it; after a conflict, to the record that is stored by then. */
export async function updateItem(
  resolved: Pick<ResolvedUrl, "id" | "identity" | "registered" | "context">,
  change: (item: IngestItem) => IngestItem,
  { registry }: Pick<VisitorParts, "registry">,
  { dryRun }: { readonly dryRun: boolean },
): Promise<UpdatedItem> {
  let current = resolved.registered;
  for (let tries = 1; ; tries++) {
    const before = current?.item ?? newItem(resolved.identity, resolved.context.at);
    const item = change(before);
    if (dryRun || item === before) return { before, item };
    try {
      await registry.put(item, current?.version ?? null);
      return { before, item };
    } catch (error) {
      if (!(error instanceof ConflictError) || tries === MAX_TRIES) throw error;
      current = await registry.get(resolved.id);
    }
  }
}
