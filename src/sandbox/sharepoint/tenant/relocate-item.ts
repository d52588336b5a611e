import { BadInputError, NotFoundError } from "../../../contracts/errors.ts";
import type { Library } from "./library.ts";
import { enter, newItemState, openPlace, type Place, refuseIfTaken, requireItem } from "./place-item.ts";
import type { Tenant } from "./tenant.ts";
import {
  attach,
  checkItemName,
  detach,
  FIRST_VERSION,
  type FolderItem,
  folderPathOf,
  pathOf,
  type TenantItem,
  withDescendants,
} from "./tenant-item.ts";

/**
 * Rename in place. "move-to" is how SharePoint's own API does it and leaves the modified time alone; "graph" is a
 * PATCH of the name and makes it later.
 */
export function renameItem(
  tenant: Tenant,
  path: string,
  name: string,
  options: { at?: string; via?: "move-to" | "graph" } = {},
): TenantItem {
  const item = requireItem(tenant, path);
  checkItemName(name);
  if (item.kind === "row") throw new BadInputError(`Rename '${path}': a row has no name of its own; set its Title.`);
  moveItem(tenant, path, `${folderPathOf(item)}/${name}`, options);
  if (options.via === "graph") {
    const atMs = tenant.clock.resolveMs(options.at);
    item.modifiedAtMs = options.at === undefined ? Math.max(atMs, item.modifiedAtMs + 1000) : atMs;
  }
  return item;
}

/** `to` is the whole new path, name included. Identity survives within the site and ends at its border. */
export function moveItem(tenant: Tenant, path: string, to: string, options: { at?: string } = {}): TenantItem {
  const item = requireItem(tenant, path);
  const atMs = tenant.clock.resolveMs(options.at);
  refuseInsideItself(tenant, item, to, "Move");
  const place = openPlace(tenant, to, atMs);
  refuseIfTaken(place, item);
  const [from, target] = [item.library, place.folder.library];
  refuseOtherList(item, target);
  if (from.site !== target.site) return moveToOtherSite(tenant, item, place, atMs);
  // Before anything moves: a column of another type refuses the whole move.
  for (const each of withDescendants(item)) {
    for (const [name, value] of each.columns) target.ensureColumn(name, value);
  }
  const nowMs = tenant.clock.nowMs();
  const staysInFolder = item.parent === place.folder;
  detach(item);
  item.name = place.name;
  attach(item, place.folder);
  item.etag += 2;
  if (from !== target) changeLibrary(item, place.folder, nowMs);
  else if (!staysInFolder) target.noteChange(nowMs, "MoveAway", item);
  target.noteChange(nowMs, staysInFolder ? "Rename" : "MoveInto", item);
  return item;
}

/** Same unique ids, new list item ids: a list item belongs to its list. */
function changeLibrary(item: TenantItem, folder: FolderItem, nowMs: number): void {
  const from = item.library;
  const target = folder.library;
  const moving = [...withDescendants(item)];
  from.remove(new Set(moving));
  from.noteDeletion(nowMs, "MoveAway", item);
  for (const each of moving) {
    each.library = target;
    each.listItemId = target.takeItemId();
  }
  target.insert(moving);
}

function moveToOtherSite(tenant: Tenant, item: TenantItem, place: Place, atMs: number): TenantItem {
  const arrived = copyTree(tenant, item, place, atMs, () => atMs);
  const leaving = new Set(withDescendants(item));
  detach(item);
  item.library.remove(leaving);
  item.library.noteDeletion(tenant.clock.nowMs(), "DeleteObject", item);
  for (const each of leaving) tenant.itemsByUniqueId.delete(each.uniqueId);
  return arrived;
}

/** Within the site a copy bears the very second of its source; in another site it is a second later. */
export function copyItem(tenant: Tenant, path: string, to: string, options: { at?: string } = {}): TenantItem {
  const item = requireItem(tenant, path);
  const atMs = tenant.clock.resolveMs(options.at);
  refuseInsideItself(tenant, item, to, "Copy");
  const place = openPlace(tenant, to, atMs);
  refuseIfTaken(place);
  if (item.kind === "row")
    throw new BadInputError(`Copy '${path}': rows of lists are not copied; add one with the same values.`);
  refuseOtherList(item, place.folder.library);
  const laterByMs = item.library.site === place.folder.library.site ? 0 : 1000;
  const modifiedAtMs = (source: TenantItem): number =>
    options.at === undefined ? source.modifiedAtMs + laterByMs : atMs;
  return copyTree(tenant, item, place, atMs, modifiedAtMs);
}

function copyTree(
  tenant: Tenant,
  source: TenantItem,
  place: Place,
  atMs: number,
  modifiedAtMs: (source: TenantItem) => number,
): TenantItem {
  const state = {
    ...newItemState(tenant, place, atMs),
    modifiedAtMs: modifiedAtMs(source),
    etag: 2,
    uiVersion: FIRST_VERSION,
  };
  const copy: TenantItem =
    source.kind === "file"
      ? { ...state, kind: "file", content: source.content, listedSize: source.listedSize, contentVersion: 1 }
      : { ...state, kind: "folder", children: new Map() };
  for (const [name, value] of source.columns) {
    copy.library.ensureColumn(name, value);
    copy.columns.set(name, value);
  }
  enter(tenant, copy, place.folder);
  if (source.kind === "folder" && copy.kind === "folder") {
    for (const child of source.children.values()) {
      copyTree(tenant, child, { folder: copy, name: child.name }, atMs, modifiedAtMs);
    }
  }
  return copy;
}

/** Rows live in lists and files in libraries, and a row never leaves its list. */
function refuseOtherList(item: TenantItem, target: Library): void {
  if (item.library === target || !(item.library.isList || target.isList)) return;
  throw new BadInputError(`Take '${item.name}' to '${target.path}': nothing moves between a list and another.`);
}

function refuseInsideItself(tenant: Tenant, item: TenantItem, to: string, verb: string): void {
  const names = to.split("/");
  for (let length = names.length - 1; length > 0; length--) {
    if (tenant.itemAt(names.slice(0, length).join("/")) === item) {
      throw new BadInputError(`${verb} '${item.name}': a folder cannot go into itself.`);
    }
  }
}

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
