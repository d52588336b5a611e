import { type EntityType, entityType } from "../odata/entity-type.ts";
import type { Library } from "../tenant/library.ts";
import { pathOf, type TenantItem, versionLabelOf } from "../tenant/tenant-item.ts";
import { displayText, localTime } from "./display-text.ts";

type Shown = (item: TenantItem) => string;

const BUILT_IN: Readonly<Record<string, Shown>> = {
  ID: (item) => String(item.listItemId),
  Modified: (item) => localTime(item.modifiedAtMs),
  Created: (item) => localTime(item.createdAtMs),
  Author: (item) => userName(item, item.authorId),
  Editor: (item) => userName(item, item.editorId),
  _UIVersionString: versionLabelOf,
  owshiddenversion: (item) => String(item.etag),
  FileRef: pathOf,
  FileLeafRef: (item) => item.name,
  FSObjType: (item) => (item.kind === "folder" ? "1" : "0"),
  UniqueId: (item) => `{${item.uniqueId.toUpperCase()}}`,
  _Level: () => "1",
};

/** `FieldValuesAsText`: every field as the text a page shows. */
export function textValuesTypeOf(library: Library): EntityType {
  const shown: Record<string, Shown> = {};
  for (const [name, text] of Object.entries(BUILT_IN)) shown[textKey(name)] = text;
  for (const column of library.columns.values()) {
    shown[textKey(column.internalName)] = (item) => displayText(column, item);
  }
  return entityType<TenantItem>({
    typeName: "SP.FieldStringValues",
    defaults: Object.keys(shown),
    properties: shown,
    links: {},
    address: (item) => `Web/Lists(guid'${item.library.id}')/Items(${item.listItemId})/FieldValuesAsText`,
  });
}

/** Here every underscore is written out: `_Level` is `OData__x005f_Level`. */
export function textKey(internalName: string): string {
  const written = internalName.replaceAll("_", "_x005f_");
  return written.startsWith("_") ? `OData_${written}` : written;
}

function userName(item: TenantItem, id: number): string {
  return item.library.site.users.find(id)?.title ?? "";
}
