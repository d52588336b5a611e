import type { Tenant } from "./tenant.ts";
import { toSharePointTime } from "./tenant-clock.ts";
import { contentTagOf, etagOf, pathOf, type TenantItem, versionLabelOf } from "./tenant-item.ts";

/** What a test compares its own findings with. */
export interface ItemDescription {
  readonly path: string;
  readonly kind: TenantItem["kind"];
  readonly uniqueId: string;
  readonly listItemId: number;
  readonly size: number;
  readonly modifiedAt: string;
  readonly createdAt: string;
  readonly etag: string;
  readonly contentTag: string;
  readonly version: string;
}

export function describeLibrary(tenant: Tenant, path: string): ItemDescription[] {
  return tenant.libraryAt(path).rows.map(describeItem);
}

export function describeItem(item: TenantItem): ItemDescription {
  return {
    path: pathOf(item),
    kind: item.kind,
    uniqueId: item.uniqueId,
    listItemId: item.listItemId,
    size: item.kind === "file" ? item.listedSize : 0,
    modifiedAt: toSharePointTime(item.modifiedAtMs),
    createdAt: toSharePointTime(item.createdAtMs),
    etag: item.kind === "row" ? `"${item.etag}"` : etagOf(item),
    contentTag: item.kind === "file" ? contentTagOf(item) : "",
    version: versionLabelOf(item),
  };
}
