import { ConflictError } from "../../contracts/errors.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import { newItem } from "../../plan/web/item-state.ts";
import type { VisitorParts } from "./page-visitor.ts";
import type { ResolvedUrl } from "./request-page.ts";

/** Whoever loses so often against others has met something else than others. */
const MAX_TRIES = 20;

export interface UpdatedItem {
  readonly before: IngestItem;
  readonly item: IngestItem;
}

/** Puts what a look made of an item; whoever was quicker is read first, and told of it once more. */
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
