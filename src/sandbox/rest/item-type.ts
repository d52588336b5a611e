import { type EntityType, entityType, type Json } from "../odata/entity-type.ts";
import type { Literal } from "../odata/filter-tokens.ts";
import type { Library } from "../tenant/library.ts";
import { toSharePointTime } from "../tenant/tenant-clock.ts";
import { folderPathOf, pathOf, type TenantItem, versionLabelOf } from "../tenant/tenant-item.ts";
import { entityNameOf, folderType, listType } from "./entity-types.ts";
import { fileType } from "./file-type.ts";

const DOCUMENT_CONTENT_TYPE = "0x0101";
const FOLDER_CONTENT_TYPE = "0x0120";

type Getter = (item: TenantItem) => Json;

const BUILT_IN: Readonly<Record<string, Getter>> = {
  FileSystemObjectType: (item) => (item.kind === "file" ? 0 : 1),
  FSObjType: (item) => (item.kind === "file" ? 0 : 1),
  Id: (item) => item.listItemId,
  ID: (item) => item.listItemId,
  ServerRedirectedEmbedUri: () => null,
  ServerRedirectedEmbedUrl: () => "",
  ContentTypeId: (item) => (item.kind === "file" ? DOCUMENT_CONTENT_TYPE : FOLDER_CONTENT_TYPE),
  ComplianceAssetId: () => null,
  Title: (item) => item.columns.get("Title") ?? null,
  Modified: (item) => toSharePointTime(item.modifiedAtMs),
  Created: (item) => toSharePointTime(item.createdAtMs),
  AuthorId: (item) => item.authorId,
  EditorId: (item) => item.editorId,
  OData__CopySource: () => null,
  OData__UIVersionString: versionLabelOf,
  CheckoutUserId: () => null,
  GUID: (item) => item.guid,
  UniqueId: (item) => item.uniqueId,
  FileRef: pathOf,
  FileLeafRef: (item) => item.name,
  FileDirRef: folderPathOf,
  File_x0020_Type: (item) => (item.kind === "file" ? extensionOf(item.name) : null),
};

const DEFAULTS = [
  ...["FileSystemObjectType", "Id", "ServerRedirectedEmbedUri", "ServerRedirectedEmbedUrl", "ContentTypeId", "Title"],
  ...["ComplianceAssetId", "ID", "Modified", "Created", "AuthorId", "EditorId", "OData__CopySource"],
  ...["CheckoutUserId", "OData__UIVersionString", "GUID"],
];

const DATE_COLUMNS = new Set(["Modified", "Created"]);

/** The list item type of a library: what every library has, and its own columns. */
export function itemTypeOf(library: Library): EntityType {
  const known = types.get(library);
  if (known?.columnCount === library.columns.size) return known.type;
  const type = describe(library);
  types.set(library, { type, columnCount: library.columns.size });
  return type;
}

const types = new WeakMap<Library, { type: EntityType; columnCount: number }>();

function describe(library: Library): EntityType {
  const columns = [...library.columns.keys()].filter((name) => !(name in BUILT_IN));
  const own = Object.fromEntries(columns.map((name) => [name, readColumn(name)]));
  const properties = { ...BUILT_IN, ...own };
  return entityType<TenantItem>({
    typeName: `SP.Data.${entityNameOf(library)}Item`,
    defaults: [...DEFAULTS, ...columns],
    together: { Id: "ID", ID: "Id" },
    properties,
    filterable: Object.fromEntries(
      Object.keys(properties).map((name) => [name, filterValue(library, name, properties)]),
    ),
    links: {
      File: { type: () => fileType, many: false, get: (item) => (item.kind === "file" ? item : null) },
      Folder: { type: () => folderType, many: false, get: (item) => (item.kind === "folder" ? item : null) },
      ParentList: { type: () => listType, many: false, get: (item) => item.library },
    },
    address: (item) => `Web/Lists(guid'${item.library.id}')/Items(${item.listItemId})`,
    etag: (item) => `"${item.etag}"`,
  });
}

function readColumn(name: string): Getter {
  return (item) => item.columns.get(name) ?? null;
}

function filterValue(
  library: Library,
  name: string,
  properties: Readonly<Record<string, Getter>>,
): (item: TenantItem) => Literal {
  const read = properties[name] ?? (() => null);
  const isDate = DATE_COLUMNS.has(name) || library.columns.get(name) === "DateTime";
  return (item) => {
    const value = read(item);
    if (value === null || typeof value === "object") return null;
    return isDate ? new Date(String(value)) : value;
  };
}

function extensionOf(name: string): string {
  const cut = name.lastIndexOf(".");
  return cut < 0 ? "" : name.slice(cut + 1).toLowerCase();
}
