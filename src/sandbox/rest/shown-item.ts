import type { TenantItem } from "../tenant/tenant-item.ts";
import { publishedView } from "../tenant/versions.ts";
import type { RequestScope } from "./resource.ts";

/** The item as the app sees it; undefined when it may not see it, or when all there is of it is a draft the app may not see. */
export function shownItem(item: TenantItem, scope: RequestScope): TenantItem | undefined {
  if (item.hidden) return undefined;
  return hidesDrafts(item, scope) ? publishedView(item) : item;
}

export function shownItems(items: readonly TenantItem[], scope: RequestScope): readonly TenantItem[] {
  const differs = items.some((item) => item.hidden || (hidesDrafts(item, scope) && shownItem(item, scope) !== item));
  return differs ? items.flatMap((item) => shownItem(item, scope) ?? []) : items;
}

function hidesDrafts({ library }: TenantItem, { settings }: RequestScope): boolean {
  return settings.drafts === "hidden" || library.draftVisibility > 0;
}
