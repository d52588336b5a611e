import type { Json } from "../odata/entity-type.ts";
import type { Column } from "../tenant/column.ts";
import type { SiteUser } from "../tenant/site-users.ts";
import { toSharePointTime } from "../tenant/tenant-clock.ts";
import { folderPathOf, pathOf, type TenantItem, versionLabelOf } from "../tenant/tenant-item.ts";
import { isTerm, lookedUpRows, peopleIn } from "./column-fields.ts";
import { contentTypeIdOf } from "./content-type.ts";
import { displayText, localTime } from "./display-text.ts";

export interface RowOptions {
  /** Otherwise times come as the page shows them. */
  readonly utc: boolean;
  /** Internal names to add to what every row has; none: all columns. */
  readonly fields: readonly string[];
}

/** A row of RenderListDataAsStream: all values are text, ids are in capitals and braces. */
export function renderedRow(item: TenantItem, { utc, fields }: RowOptions): Json {
  const columns = [...item.library.columns.values()];
  const wanted = fields.length === 0 ? columns : columns.filter(({ internalName }) => fields.includes(internalName));
  const time = (ms: number): string => (utc ? toSharePointTime(ms) : localTime(ms));
  return {
    ID: String(item.listItemId),
    PermMask: "0x1b03c4312ef",
    FSObjType: item.kind === "folder" ? "1" : "0",
    ContentTypeId: contentTypeIdOf(item),
    UniqueId: `{${item.uniqueId.toUpperCase()}}`,
    FileRef: pathOf(item),
    "FileRef.urlencode": encodeURIComponent(pathOf(item)),
    FileLeafRef: item.name,
    FileDirRef: folderPathOf(item),
    ...sizesOf(item),
    Title: String(item.columns.get("Title") ?? ""),
    Modified: time(item.modifiedAtMs),
    Created: time(item.createdAtMs),
    Author: userOf(item, item.authorId),
    Editor: userOf(item, item.editorId),
    owshiddenversion: String(item.etag),
    _UIVersionString: versionLabelOf(item),
    ...(item.kind === "row" ? { Attachments: item.attachments.size > 0 ? "1" : "0" } : {}),
    ...Object.assign({}, ...wanted.map((column) => rendered(column, item, utc))),
  };
}

/** The bytes of the current version, and of all versions together. */
function sizesOf(item: TenantItem): Record<string, Json> {
  if (item.kind !== "file") return {};
  const earlier = item.history.reduce((sum, version) => sum + (version.listedSize ?? 0), 0);
  return { File_x0020_Size: String(item.listedSize), SMTotalSize: String(item.listedSize + earlier) };
}

function userOf(item: TenantItem, id: number): Json {
  const user = item.library.site.users.find(id);
  return user ? [person(user)] : "";
}

function person(user: SiteUser): Json {
  return { id: String(user.id), title: user.title, email: user.email, sip: user.email, picture: "" };
}

function rendered(column: Column, item: TenantItem, utc: boolean): Record<string, Json> {
  const name = column.internalName;
  const value = item.columns.get(name) ?? null;
  const text = displayText(column, item);
  if (column.type.startsWith("Lookup")) {
    const found = lookedUpRows(column, item).map((row) => ({
      lookupId: row.listItemId,
      lookupValue: String(row.columns.get(column.lookupField) ?? ""),
      isSecretFieldValue: false,
    }));
    return { [name]: found.length > 0 ? found : "" };
  }
  if (column.type.startsWith("User")) return { [name]: peopleIn(column, item).map(person) };
  if (value === null) return { [name]: "" };
  if (isTerm(value)) return { [name]: { __type: "TaxonomyFieldValue", Label: value.label, TermID: value.termGuid } };
  if (Array.isArray(value)) {
    return { [name]: value.map((each) => (isTerm(each) ? { Label: each.label, TermID: each.termGuid } : each)) };
  }
  if (typeof value === "boolean") return { [name]: text, [`${name}.value`]: value ? "1" : "0" };
  if (typeof value === "number") return { [name]: text, [`${name}.`]: String(value) };
  if (typeof value === "object" && "Url" in value) return { [name]: value.Url, [`${name}.desc`]: value.Description };
  if (column.type === "DateTime") return { [name]: utc ? String(value) : text };
  const isRich = column.richText || column.type === "HTML";
  return { [name]: isRich ? `<div dir="" class="ms-rtestate-field">${text}</div>` : text };
}
