import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import { refuseIfTaken, requireItem } from "./place-item.ts";
import type { Tenant } from "./tenant.ts";
import { attach, detach, pathOf, type TenantItem, withDescendants } from "./tenant-item.ts";

/** One deletion: a file, or a folder with all that was in it. */
export interface Recycled {
  readonly item: TenantItem;
  readonly path: string;
  readonly deletedAtMs: number;
}

export function recycleItem(tenant: Tenant, path: string, options: { at?: string } = {}): Recycled {
  const item = requireItem(tenant, path);
  const recycled = { item, path: pathOf(item), deletedAtMs: tenant.clock.resolveMs(options.at) };
  const leaving = new Set(withDescendants(item));
  detach(item);
  item.library.remove(leaving);
  item.library.noteDeletion(recycled.deletedAtMs, "DeleteObject", item);
  for (const each of leaving) tenant.itemsByUniqueId.delete(each.uniqueId);
  tenant.recycleBin.set(item.uniqueId, recycled);
  return recycled;
}

/** By unique id, or by the path it had; of several deletions of one path the latest comes back. */
export function restoreItem(tenant: Tenant, pathOrUniqueId: string): TenantItem {
  const recycled = findRecycled(tenant, pathOrUniqueId);
  if (!recycled) throw new NotFoundError(`Restore '${pathOrUniqueId}': it is not in the recycle bin.`);
  const { item } = recycled;
  const folder = item.parent;
  if (!folder || (folder.listItemId !== 0 && tenant.itemsByUniqueId.get(folder.uniqueId) !== folder)) {
    throw new BadInputError(`Restore '${recycled.path}': its folder is gone; restore the folder first.`);
  }
  refuseIfTaken({ folder, name: item.name });
  attach(item, folder);
  const returning = [...withDescendants(item)];
  item.library.insert(returning);
  for (const each of returning) tenant.itemsByUniqueId.set(each.uniqueId, each);
  item.etag++;
  item.library.noteChange(tenant.clock.nowMs(), "Restore", item);
  tenant.recycleBin.delete(item.uniqueId);
  return item;
}

function findRecycled(tenant: Tenant, pathOrUniqueId: string): Recycled | undefined {
  const key = pathOrUniqueId.toLowerCase();
  return (
    tenant.recycleBin.get(key) ?? [...tenant.recycleBin.values()].findLast((each) => each.path.toLowerCase() === key)
  );
}
