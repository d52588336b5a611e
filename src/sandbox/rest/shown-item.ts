import type { TenantItem } from "../tenant/tenant-item.ts";
import { publishedView } from "../tenant/versions.ts";
import type { RequestScope } from "./resource.ts";

/** The item as the app sees it; undefined when all there is of it is a draft the app may not see. */
export function shownItem(item: TenantItem, { settings }: RequestScope): TenantItem | undefined {
  return settings.drafts === "hidden" ? publishedView(item) : item;
}

export function shownItems(items: readonly TenantItem[], scope: RequestScope): readonly TenantItem[] {
  const mayDiffer = scope.settings.drafts === "hidden" && items.some((item) => item.library.minorVersions);
  return mayDiffer ? items.flatMap((item) => shownItem(item, scope) ?? []) : items;
}
