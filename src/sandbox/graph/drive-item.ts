import { mediaTypeOf } from "../media-type.ts";
import type { ChangedItem } from "../tenant/change-log.ts";
import type { Library } from "../tenant/library.ts";
import { toSharePointTime } from "../tenant/tenant-clock.ts";
import { etagOf, type FolderItem, pathOf, type TenantItem } from "../tenant/tenant-item.ts";
import { driveIdOf, driveItemIdFrom, driveItemIdOf, siteIdOf } from "./graph-ids.ts";
import { quickXorHash } from "./quick-xor-hash.ts";

export type GraphObject = Readonly<Record<string, unknown>>;

/** The address requests come to, and the tenant that answers. */
export interface GraphScope {
  readonly origin: string;
  readonly tenantId: string;
}

export function driveOf(library: Library, scope: GraphScope): GraphObject {
  return {
    id: driveIdOf(library),
    driveType: "documentLibrary",
    name: library.title,
    webUrl: urlOf(library.path, scope),
    createdDateTime: toSharePointTime(library.createdAtMs),
    lastModifiedDateTime: toSharePointTime(library.changedAtMs),
  };
}

export function driveItemOf(item: TenantItem, scope: GraphScope): GraphObject {
  const times = {
    createdDateTime: toSharePointTime(item.createdAtMs),
    lastModifiedDateTime: toSharePointTime(item.modifiedAtMs),
  };
  return {
    id: driveItemIdOf(item),
    name: item.parent === null ? "root" : item.name,
    eTag: etagOf(item),
    cTag: `"c:{${item.uniqueId.toUpperCase()}},${item.kind === "file" ? item.contentVersion : 0}"`,
    ...times,
    fileSystemInfo: times,
    webUrl: urlOf(pathOf(item), scope),
    parentReference: parentOf(item, scope),
    sharepointIds: sharepointIdsOf(item, scope),
    ...facetsOf(item),
  };
}

function facetsOf(item: TenantItem): GraphObject {
  if (item.kind === "file") {
    return {
      size: item.listedSize,
      file: {
        mimeType: mediaTypeOf(item.name).replace(/;.*/, ""),
        hashes: { quickXorHash: quickXorHash(item.content) },
      },
    };
  }
  const folder = { folder: { childCount: item.kind === "folder" ? listedChildren(item) : 0 } };
  return item.parent === null ? { ...folder, root: {} } : folder;
}

/** A deletion says little: neither name nor place. */
export function deletedItemOf(
  library: Library,
  gone: Pick<ChangedItem, "uniqueId"> & { isFolder: boolean },
): GraphObject {
  return {
    id: driveItemIdFrom(library, gone.uniqueId),
    deleted: { state: "deleted" },
    ...(gone.isFolder ? { folder: {} } : { file: {} }),
    parentReference: { driveType: "documentLibrary", driveId: driveIdOf(library) },
  };
}

/** By id only: the path is not there in a delta, so whoever wants one has to follow the parents. */
function parentOf(item: TenantItem, scope: GraphScope): GraphObject {
  const siteId = siteIdOf(item.library.site, hostOf(scope));
  const place = { driveType: "documentLibrary", driveId: driveIdOf(item.library) };
  return item.parent === null ? place : { ...place, id: driveItemIdOf(item.parent), siteId };
}

function sharepointIdsOf({ library, listItemId, uniqueId }: TenantItem, scope: GraphScope): GraphObject {
  return {
    listId: library.id,
    ...(listItemId === 0 ? {} : { listItemId: String(listItemId) }),
    listItemUniqueId: uniqueId,
    siteId: library.site.id,
    siteUrl: scope.origin + library.site.path,
    tenantId: scope.tenantId,
    webId: library.site.webId,
  };
}

function listedChildren(folder: FolderItem): number {
  return [...folder.children.values()].filter((child) => child.listItemId !== 0).length;
}

export function hostOf(scope: GraphScope): string {
  return new URL(scope.origin).host;
}

export function urlOf(path: string, scope: GraphScope): string {
  return scope.origin + path.split("/").map(encodeURIComponent).join("/");
}
