import { type EntityType, entityType, type Json } from "../odata/entity-type.ts";
import type { Literal } from "../odata/filter-tokens.ts";
import { entityPropertyNameOf } from "../tenant/column.ts";
import type { Library } from "../tenant/library.ts";
import type { SiteUser } from "../tenant/site-users.ts";
import { toSharePointTime } from "../tenant/tenant-clock.ts";
import { type FileItem, folderPathOf, pathOf, type TenantItem, versionLabelOf } from "../tenant/tenant-item.ts";
import {
  type ColumnFields,
  fieldsOfColumn,
  type Getter,
  personFieldsNamed,
  termsOf,
  termType,
} from "./column-fields.ts";
import { contentTypeIdOf, contentTypeType } from "./content-type.ts";
import { entityNameOf, folderType, listType } from "./entity-types.ts";
import { fileType } from "./file-type.ts";
import { textValuesTypeOf } from "./text-values-type.ts";
import { itemVersionTypeOf, versionsOf } from "./version-type.ts";

const BUILT_IN: Readonly<Record<string, Getter>> = {
  FileSystemObjectType: (item) => (item.kind === "folder" ? 1 : 0),
  FSObjType: (item) => (item.kind === "folder" ? 1 : 0),
  Id: (item) => item.listItemId,
  ID: (item) => item.listItemId,
  ServerRedirectedEmbedUri: () => null,
  ServerRedirectedEmbedUrl: () => "",
  ContentTypeId: contentTypeIdOf,
  ComplianceAssetId: () => null,
  Title: titleOf,
  Modified: (item) => toSharePointTime(item.modifiedAtMs),
  Created: (item) => toSharePointTime(item.createdAtMs),
  OData__CopySource: () => null,
  OData__UIVersionString: versionLabelOf,
  owshiddenversion: (item) => item.etag,
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
  ...["OData__UIVersionString", "GUID"],
];

const DATE_COLUMNS = new Set(["Modified", "Created"]);

const PEOPLE: readonly ColumnFields[] = [
  personFieldsNamed("Author", (item) => userOf(item, item.authorId), { many: false }),
  personFieldsNamed("Editor", (item) => userOf(item, item.editorId), { many: false }),
];
const CHECKED_OUT_TO = personFieldsNamed("CheckoutUser", (item) => userOf(item, item.checkedOut?.byId), {
  many: false,
});

function userOf(item: TenantItem, id: number | undefined): SiteUser[] {
  const user = id === undefined ? undefined : item.library.site.users.find(id);
  return user ? [user] : [];
}

/** The list item type of a library or list: what all of them have, and its own columns. */
export function itemTypeOf(library: Library): EntityType {
  const known = types.get(library);
  if (known?.schemaVersion === library.schemaVersion) return known.type;
  const type = describe(library);
  types.set(library, { type, schemaVersion: library.schemaVersion });
  return type;
}

const types = new WeakMap<Library, { type: EntityType; schemaVersion: number }>();

function describe(library: Library): EntityType {
  const columns = [...library.columns.values()].filter(({ internalName }) => internalName !== "Title");
  const own = columns.map((column) => fieldsOfColumn(column, (row) => itemTypeOf(row.library)));
  const parts = [...PEOPLE, ...(library.isList ? [] : [CHECKED_OUT_TO]), ...own];
  const merged = <T>(pick: (part: ColumnFields) => Readonly<Record<string, T>>): Record<string, T> =>
    Object.assign({}, ...parts.map(pick)) as Record<string, T>;
  const ofKind = library.isList ? LISTS_ONLY : {};
  const builtIn = { ...BUILT_IN, ...ofKind };
  return entityType<TenantItem>({
    typeName: `SP.Data.${entityNameOf(library)}Item`,
    defaults: [
      ...DEFAULTS,
      ...(library.isList ? ["Attachments"] : ["CheckoutUserId"]),
      ...own.flatMap(({ properties }) => Object.keys(properties)),
    ],
    together: { Id: "ID", ID: "Id" },
    properties: { ...builtIn, EncodedAbsUrl: encodedUrl, ...merged((part) => part.properties) },
    filterable: {
      ...Object.fromEntries(Object.entries(builtIn).map(([name, read]) => [name, filterValue(name, read)])),
      ...merged((part) => part.filterable),
    },
    indexed: new Set([
      ...["Id", "ID"],
      ...columns.filter(({ indexed }) => indexed).flatMap(({ internalName }) => indexedNames(internalName)),
    ]),
    links: { ...linksOf(library), ...merged((part) => part.links) },
    address: (item) => `Web/Lists(guid'${item.library.id}')/Items(${item.listItemId})`,
    etag: (item) => `"${item.etag}"`,
  });
}

const LISTS_ONLY: Readonly<Record<string, Getter>> = {
  Attachments: (item) => item.kind === "row" && item.attachments.size > 0,
};

function linksOf(library: Library): EntityType["links"] {
  const as = <T extends TenantItem["kind"]>(kind: T, value: unknown): Extract<TenantItem, { kind: T }> | null => {
    const item = value as TenantItem;
    return item.kind === kind ? (item as Extract<TenantItem, { kind: T }>) : null;
  };
  const files = {
    File: { type: () => fileType, many: false, get: (item: unknown) => as("file", item) },
  };
  const attachments = {
    AttachmentFiles: {
      type: () => attachmentType,
      many: true,
      get: (item: unknown) => [...(as("row", item)?.attachments.values() ?? [])],
    },
  };
  return {
    ...files,
    ...(library.isList ? attachments : {}),
    Folder: { type: () => folderType, many: false, get: (item) => as("folder", item) },
    ParentList: { type: () => listType, many: false, get: () => library },
    ContentType: { type: () => contentTypeType, many: false, get: (item) => item },
    FieldValuesAsText: { type: () => textValuesTypeOf(library), many: false, get: (item) => item },
    TaxCatchAll: { type: () => termType, many: true, needsFields: true, get: (item) => termsOf(item as TenantItem) },
    Versions: { type: () => itemVersionTypeOf(library), many: true, get: (item) => versionsOf(item as TenantItem) },
  };
}

function indexedNames(internalName: string): string[] {
  const name = entityPropertyNameOf(internalName);
  return [name, `${name}Id`];
}

function filterValue(name: string, read: Getter): (item: TenantItem) => Literal {
  return (item) => {
    const value = read(item);
    if (value === null || typeof value === "object") return null;
    return DATE_COLUMNS.has(name) ? new Date(String(value)) : value;
  };
}

function titleOf(item: TenantItem): string | null {
  const title = item.columns.get("Title") ?? null;
  return title === null ? null : String(title);
}

function encodedUrl(item: TenantItem, at: { readonly origin: string }): Json {
  return at.origin + pathOf(item).split("/").map(encodeURIComponent).join("/").replaceAll("'", "%27");
}

function extensionOf(name: string): string {
  const cut = name.lastIndexOf(".");
  return cut < 0 ? "" : name.slice(cut + 1).toLowerCase();
}

/** A file attached to a row. It has neither size nor time of its own here: only its bytes tell. */
const attachmentType: EntityType = entityType<FileItem>({
  typeName: "SP.Attachment",
  defaults: ["FileName", "FileNameAsPath", "ServerRelativePath", "ServerRelativeUrl"],
  properties: {
    FileName: (file) => file.name,
    FileNameAsPath: (file) => ({ DecodedUrl: file.name }),
    ServerRelativePath: (file) => ({ DecodedUrl: pathOf(file) }),
    ServerRelativeUrl: pathOf,
  },
  links: {},
  key: (file) => file.name,
  address: (file) =>
    `Web/Lists(guid'${file.library.id}')/Items(${file.parent?.name})/AttachmentFiles('${encodeURIComponent(file.name.replaceAll("'", "''"))}')`,
});
