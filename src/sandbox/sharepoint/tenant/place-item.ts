import { BadInputError, NotFoundError } from "../../../contracts/errors.ts";
import { DEFAULT_USER_ID } from "./site-users.ts";
import type { Tenant } from "./tenant.ts";
import {
  attach,
  checkItemName,
  checkSiteRelativePath,
  FIRST_VERSION,
  type FolderItem,
  nameKey,
  type TenantItem,
} from "./tenant-item.ts";

/** A place where something may be put: the folder exists, the name is legal. */
export interface Place {
  readonly folder: FolderItem;
  readonly name: string;
}

/** Makes the folders on the way, as an upload of a folder does. */
export function openPlace(tenant: Tenant, path: string, atMs: number): Place {
  const located = tenant.locate(path);
  const name = located?.names.at(-1);
  if (!located || name === undefined) {
    throw new NotFoundError(
      `Use path '${path}': it leads into no library. Paths look like '/sites/demo/Shared Documents/a.txt'.`,
    );
  }
  for (const segment of located.names) checkItemName(segment);
  checkSiteRelativePath(path.slice(located.library.site.path.length + 1));
  let folder = located.library.root;
  for (const segment of located.names.slice(0, -1)) folder = openFolder(tenant, folder, segment, atMs);
  return { folder, name };
}

function openFolder(tenant: Tenant, parent: FolderItem, name: string, atMs: number): FolderItem {
  const existing = parent.children.get(nameKey(name));
  if (existing && existing.kind !== "folder") {
    throw new BadInputError(`Open folder '${name}': there is a file of this name.`);
  }
  return existing ?? createFolder(tenant, { folder: parent, name }, atMs);
}

export function createFolder(tenant: Tenant, place: Place, atMs: number): FolderItem {
  const folder: FolderItem = { ...newItemState(tenant, place, atMs), kind: "folder", children: new Map() };
  enter(tenant, folder, place.folder);
  return folder;
}

export function newItemState(tenant: Tenant, { folder, name }: Place, atMs: number) {
  return {
    uniqueId: tenant.takeGuid(),
    guid: tenant.takeGuid(),
    listItemId: folder.library.takeItemId(),
    name,
    parent: folder,
    library: folder.library,
    createdAtMs: atMs,
    modifiedAtMs: atMs,
    etag: 1,
    uiVersion: FIRST_VERSION,
    columns: new Map(),
    authorId: DEFAULT_USER_ID,
    editorId: DEFAULT_USER_ID,
    history: [],
    checkInComment: "",
    checkedOut: null,
    pending: folder.library.moderation,
    hidden: false,
  };
}

/** Makes a new item visible: in its folder, among the library's rows, by its id. */
export function enter(tenant: Tenant, item: TenantItem, folder: FolderItem): void {
  attach(item, folder);
  folder.library.insert([item]);
  tenant.itemsByUniqueId.set(item.uniqueId, item);
  folder.library.noteChange(item.modifiedAtMs, "Add", item);
}

export function refuseIfTaken(place: Place, exceptFor?: TenantItem): void {
  const existing = place.folder.children.get(nameKey(place.name));
  if (existing && existing !== exceptFor)
    throw new BadInputError(`Use name '${place.name}': it is taken in this folder.`);
}

/** An item that must be there and is not a library's own root or Forms folder. */
export function requireItem(tenant: Tenant, path: string): TenantItem {
  const item = tenant.itemAt(path);
  if (!item) throw new NotFoundError(`Find item '${path}': it does not exist.`);
  if (item.listItemId === 0) throw new BadInputError(`Change '${path}': this folder belongs to the library itself.`);
  return item;
}
