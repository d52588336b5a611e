import { type EntityType, entityType, type Json } from "../odata/entity-type.ts";
import type { Column } from "../tenant/column.ts";
import type { Library } from "../tenant/library.ts";
import { toSharePointTime } from "../tenant/tenant-clock.ts";
import { type FileItem, type ItemVersion, pathOf, type TenantItem, versionLabelOf } from "../tenant/tenant-item.ts";
import { snapshotOf, viewOf } from "../tenant/versions.ts";
import { fieldsOfColumn, lookedUpRows, peopleIn } from "./column-fields.ts";
import { textKey } from "./text-values-type.ts";
import { userType } from "./user-type.ts";

/** One version of an item, the current one included. */
export interface VersionOf<Item extends TenantItem> {
  readonly item: Item;
  readonly version: ItemVersion;
  readonly isCurrent: boolean;
}

/** Newest first. */
export function versionsOf(item: TenantItem): VersionOf<TenantItem>[] {
  const earlier = item.history.map((version) => ({ item, version, isCurrent: false }));
  return [...earlier, { item, version: snapshotOf(item), isCurrent: true }].reverse();
}

/** `items(7)/versions`: the fields of every version, people and lookups with their text. */
export function itemVersionTypeOf(library: Library): EntityType {
  const columns = [...library.columns.values()];
  const own = Object.fromEntries(columns.map((column) => [textKey(column.internalName), readColumn(column)]));
  const properties = {
    VersionId: ({ version }: VersionOf<TenantItem>) => version.uiVersion,
    VersionLabel: ({ version }: VersionOf<TenantItem>) => versionLabelOf(version),
    IsCurrentVersion: ({ isCurrent }: VersionOf<TenantItem>) => isCurrent,
    Created: ({ version }: VersionOf<TenantItem>) => toSharePointTime(version.modifiedAtMs),
    Modified: ({ version }: VersionOf<TenantItem>) => toSharePointTime(version.modifiedAtMs),
    Editor: ({ item, version }: VersionOf<TenantItem>) => person(item, version.editorId),
    Author: ({ item }: VersionOf<TenantItem>) => person(item, item.authorId),
    ID: ({ item }: VersionOf<TenantItem>) => item.listItemId,
    FileRef: ({ item }: VersionOf<TenantItem>) => pathOf(item),
    FileLeafRef: ({ item }: VersionOf<TenantItem>) => item.name,
    // 0 approved, 2 pending.
    OData__x005f_ModerationStatus: ({ version }: VersionOf<TenantItem>) => (version.pending ? 2 : 0),
    OData__x005f_UIVersionString: ({ version }: VersionOf<TenantItem>) => versionLabelOf(version),
    ...own,
  };
  return entityType<VersionOf<TenantItem>>({
    typeName: "SP.ListItemVersion",
    defaults: Object.keys(properties),
    properties,
    links: {},
    key: ({ version }) => version.uiVersion,
    address: ({ item, version }) =>
      `Web/Lists(guid'${item.library.id}')/Items(${item.listItemId})/Versions(${version.uiVersion})`,
  });
}

function readColumn(column: Column): (each: VersionOf<TenantItem>) => Json {
  const many = column.type.endsWith("Multi");
  return ({ item, version }) => {
    const then = viewOf(item, version);
    if (column.type.startsWith("Lookup")) {
      const found = lookedUpRows(column, then).map((row) => ({
        LookupId: row.listItemId,
        LookupValue: String(row.columns.get(column.lookupField) ?? ""),
      }));
      return many ? found : (found[0] ?? null);
    }
    if (column.type.startsWith("User")) {
      const found = peopleIn(column, then).map((user) => person(item, user.id));
      return many ? found : (found[0] ?? null);
    }
    const [read] = Object.values(fieldsOfColumn(column, () => userType).properties);
    return read?.(then) ?? null;
  };
}

function person(item: TenantItem, id: number): Json {
  const user = item.library.site.users.find(id);
  return user ? { LookupId: user.id, LookupValue: user.title, Email: user.email } : null;
}

/** `File/Versions`: the earlier ones only, oldest first, each with bytes of its own. */
export const fileVersionType: EntityType = entityType<VersionOf<FileItem>>({
  typeName: "SP.FileVersion",
  defaults: ["CheckInComment", "Created", "ID", "IsCurrentVersion", "Length", "Size", "Url", "VersionLabel"],
  properties: {
    CheckInComment: ({ version }) => version.comment,
    Created: ({ version }) => toSharePointTime(version.modifiedAtMs),
    ID: ({ version }) => version.uiVersion,
    IsCurrentVersion: () => false,
    Length: ({ version }) => String(version.listedSize ?? 0),
    Size: ({ version }) => version.listedSize ?? 0,
    Url: ({ item, version }) => historyUrl(item, version),
    VersionLabel: ({ version }) => versionLabelOf(version),
  },
  links: {
    CreatedBy: {
      type: () => userType,
      many: false,
      get: ({ item, version }) => item.library.site.users.find(version.editorId) ?? null,
    },
  },
  key: ({ version }) => version.uiVersion,
  address: ({ item, version }) => `Web/GetFileById('${item.uniqueId}')/Versions(${version.uiVersion})`,
});

export function fileVersionsOf(file: FileItem): VersionOf<FileItem>[] {
  return file.history.map((version) => ({ item: file, version, isCurrent: false }));
}

function historyUrl(file: FileItem, version: ItemVersion): string {
  return `_vti_history/${version.uiVersion}${pathOf(file).slice(file.library.site.path.length)}`;
}
