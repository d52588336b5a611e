import { ConflictError } from "../../contracts/errors.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import { newItem } from "../../plan/web/item-state.ts";
import type { VisitorParts } from "./page-visitor.ts";
import type { PageStop } from "./request-page.ts";

/** Whoever loses so often against others has met something else than others. */
const MAX_TRIES = 20;

export interface NotedItem {
  readonly before: IngestItem;
  readonly item: IngestItem;
}

/** Puts what a look made of an item; whoever was quicker is read first, and told of it once more. */
export async function noteItem(
  stop: Pick<PageStop, "id" | "identity" | "registered" | "look">,
  tell: (item: IngestItem) => IngestItem,
  { registry }: Pick<VisitorParts, "registry">,
  { dryRun }: { readonly dryRun: boolean },
): Promise<NotedItem> {
  let current = stop.registered;
  for (let tries = 1; ; tries++) {
    const before = current?.item ?? newItem(stop.identity, stop.look.at);
    const item = tell(before);
    if (dryRun || item === before) return { before, item };
    try {
      await registry.put(item, current?.version ?? null);
      return { before, item };
    } catch (error) {
      if (!(error instanceof ConflictError) || tries === MAX_TRIES) throw error;
      current = await registry.get(stop.id);
    }
  }
}
