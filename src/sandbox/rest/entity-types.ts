import { type EntityType, entityType, type Json } from "../odata/entity-type.ts";
import type { Literal } from "../odata/filter-tokens.ts";
import { entityPropertyNameOf } from "../tenant/column.ts";
import type { Library } from "../tenant/library.ts";
import type { Site } from "../tenant/site.ts";
import type { SiteUser } from "../tenant/site-users.ts";
import { toSharePointTime } from "../tenant/tenant-clock.ts";
import {
  type ColumnValue,
  contentTagOf,
  etagOf,
  FIRST_VERSION,
  type FileItem,
  type FolderItem,
  folderPathOf,
  pathOf,
  type TenantItem,
  versionLabelOf,
} from "../tenant/tenant-item.ts";
import { isDraft } from "../tenant/versions.ts";
import { changeTokenText } from "./change-token.ts";
import {
  type ColumnFields,
  fieldsOfColumn,
  type Getter,
  personFieldsNamed,
  termsOf,
  termType,
} from "./column-fields.ts";
import { contentTypeIdOf, contentTypeType } from "./content-type.ts";
import { fieldsOf, fieldType } from "./field-type.ts";
import { textValuesTypeOf } from "./text-values-type.ts";
import { userType } from "./user-type.ts";
import { fileVersionsOf, fileVersionType, itemVersionTypeOf, versionsOf } from "./version-type.ts";

// Site, web, list, folder, file and list item link to each other, so they are declared in one module.

export const siteType: EntityType = entityType<Site>({
  typeName: "SP.Site",
  defaults: ["Id", "ServerRelativeUrl", "Url", "GroupId", "ReadOnly", "CompatibilityLevel"],
  properties: {
    Id: (site) => site.id,
    ServerRelativeUrl: (site) => site.path || "/",
    Url: (site, at) => at.origin + site.path,
    GroupId: () => "00000000-0000-0000-0000-000000000000",
    ReadOnly: () => false,
    CompatibilityLevel: () => 15,
  },
  links: { RootWeb: { type: () => webType, many: false, get: (site) => site } },
  address: () => "site",
});

export const webType: EntityType = entityType<Site>({
  typeName: "SP.Web",
  defaults: ["Id", "Title", "Url", "ServerRelativeUrl", "Created", "Description", "Language", "WebTemplate"],
  properties: {
    Id: (site) => site.webId,
    Title: (site) => site.title,
    Url: (site, at) => at.origin + site.path,
    ServerRelativeUrl: (site) => site.path || "/",
    // The one time without a Z.
    Created: (site) => new Date(site.createdAtMs).toISOString().slice(0, -1),
    Description: () => "",
    Language: () => 1033,
    WebTemplate: () => "GROUP",
  },
  links: {
    Lists: { type: () => listType, many: true, get: (site) => site.libraries },
    SiteUsers: { type: () => userType, many: true, get: (site) => site.users.all() },
  },
  address: () => "Web",
});

function changeTokenOf(library: Library): Json {
  return { StringValue: changeTokenText(library, library.changes.position) };
}

/** `Shared Documents` -> `Shared_x0020_Documents` */
export function entityNameOf(library: Library): string {
  const name = library.root.name.replaceAll(
    /[^A-Za-z0-9_]/g,
    (character) => `_x${character.charCodeAt(0).toString(16).padStart(4, "0")}_`,
  );
  return library.isList ? `${name}List` : name;
}

export const listType: EntityType = entityType<Library>({
  typeName: "SP.List",
  defaults: [
    ...["AllowContentTypes", "BaseTemplate", "BaseType", "Created", "CurrentChangeToken", "Description"],
    ...["DraftVersionVisibility", "EnableAttachments", "EnableFolderCreation", "EnableMinorVersions"],
    ...["EnableModeration", "EnableVersioning", "EntityTypeName", "ForceCheckout", "HasExternalDataSource", "Hidden"],
    ...["Id", "ItemCount", "LastItemDeletedDate", "LastItemModifiedDate", "LastItemUserModifiedDate"],
    ...["ListItemEntityTypeFullName", "MajorVersionLimit", "ParentWebUrl", "Title"],
  ],
  properties: {
    AllowContentTypes: () => true,
    BaseTemplate: (library) => library.template,
    BaseType: (library) => (library.isList ? 0 : 1),
    Created: (library) => toSharePointTime(library.createdAtMs),
    CurrentChangeToken: changeTokenOf,
    Description: () => "",
    DraftVersionVisibility: (library) => library.draftVisibility,
    DefaultDisplayFormUrl: (library) => `${formsPathOf(library)}/DispForm.aspx`,
    DefaultViewUrl: (library) => `${formsPathOf(library)}/AllItems.aspx`,
    EnableAttachments: (library) => library.isList,
    EnableFolderCreation: () => true,
    EnableMinorVersions: (library) => library.minorVersions,
    EnableModeration: (library) => library.moderation,
    EnableVersioning: () => true,
    EntityTypeName: entityNameOf,
    ForceCheckout: (library) => library.forceCheckout,
    HasExternalDataSource: () => false,
    Hidden: () => false,
    Id: (library) => library.id,
    ItemCount: (library) => library.rows.length,
    LastItemDeletedDate: (library) => toSharePointTime(library.deletedAtMs),
    LastItemModifiedDate: (library) => toSharePointTime(library.changedAtMs),
    LastItemUserModifiedDate: (library) => toSharePointTime(library.changedAtMs),
    ListItemEntityTypeFullName: (library) => `SP.Data.${entityNameOf(library)}Item`,
    MajorVersionLimit: () => 500,
    ParentWebUrl: (library) => library.site.path || "/",
    Title: (library) => library.title,
  },
  links: {
    RootFolder: { type: () => folderType, many: false, get: (library) => library.root },
    ParentWeb: { type: () => webType, many: false, get: (library) => library.site },
    Fields: { type: () => fieldType, many: true, get: fieldsOf },
  },
  filterable: {
    Id: (library) => library.id,
    Title: (library) => library.title,
    BaseTemplate: (library) => library.template,
    BaseType: (library) => (library.isList ? 0 : 1),
    Hidden: () => false,
    ItemCount: (library) => library.rows.length,
    EntityTypeName: entityNameOf,
  },
  key: (library) => library.id,
  address: (library) => `Web/Lists(guid'${library.id}')`,
  etag: (library) => `"${library.changes.position.sequence}"`,
});

/** A list keeps its forms in its own folder, a library in one below. */
function formsPathOf(library: Library): string {
  return library.isList ? library.path : `${library.path}/Forms`;
}

export const folderType: EntityType = entityType<FolderItem>({
  typeName: "SP.Folder",
  defaults: [
    ...["Exists", "IsWOPIEnabled", "ItemCount", "Name", "ProgID", "ServerRelativeUrl", "TimeCreated"],
    ...["TimeLastModified", "UniqueId", "WelcomePage"],
  ],
  properties: {
    Exists: () => true,
    IsWOPIEnabled: () => false,
    ItemCount: (folder) => listedChildren(folder).length,
    Name: (folder) => folder.name,
    ProgID: () => null,
    ServerRelativeUrl: pathOf,
    TimeCreated: (folder) => toSharePointTime(folder.createdAtMs),
    TimeLastModified: (folder) => toSharePointTime(folder.modifiedAtMs),
    UniqueId: (folder) => folder.uniqueId,
    WelcomePage: () => "",
  },
  links: {
    Files: { type: () => fileType, many: true, get: filesIn },
    Folders: { type: () => folderType, many: true, get: foldersIn },
    ParentFolder: { type: () => folderType, many: false, get: (folder) => folder.parent },
    ListItemAllFields: {
      type: (folder) => itemTypeOf(folder.library),
      many: false,
      get: (folder) => (folder.listItemId === 0 ? null : folder),
    },
  },
  address: (folder) =>
    `Web/GetFolderByServerRelativePath(decodedurl='${encodeURIComponent(pathOf(folder).replaceAll("'", "''"))}')`,
});

function listedChildren(folder: FolderItem): TenantItem[] {
  return [...folder.children.values()].filter((child) => child.listItemId !== 0);
}

function filesIn(folder: FolderItem): TenantItem[] {
  return [...folder.children.values()].filter((child) => child.kind === "file");
}

function foldersIn(folder: FolderItem): TenantItem[] {
  return [...folder.children.values()].filter((child) => child.kind === "folder");
}

export const fileType: EntityType = entityType<FileItem>({
  typeName: "SP.File",
  defaults: [
    ...["CheckInComment", "CheckOutType", "ContentTag", "CustomizedPageStatus", "ETag", "Exists"],
    ...["ExistsAllowThrowForPolicyFailures", "IrmEnabled", "Length", "Level", "LinkingUri", "LinkingUrl"],
    ...["MajorVersion", "MinorVersion", "Name", "ServerRelativeUrl", "TimeCreated", "TimeLastModified", "Title"],
    ...["UIVersion", "UIVersionLabel", "UniqueId"],
  ],
  properties: {
    CheckInComment: (file) => file.checkInComment,
    CheckOutType: (file) => (file.checkedOut ? 0 : 2),
    ContentTag: contentTagOf,
    CustomizedPageStatus: () => 0,
    ETag: etagOf,
    Exists: () => true,
    ExistsAllowThrowForPolicyFailures: () => true,
    IrmEnabled: () => false,
    // Int64 travels as text.
    Length: (file) => String(file.listedSize),
    // 255 is for whoever checked it out; to others a checked-out file is what was checked in last.
    Level: (file) => (isDraft(file) ? 2 : 1),
    LinkingUri: (file, at) => linkingUri(file, at.origin),
    LinkingUrl: (file, at) => linkingUri(file, at.origin) ?? "",
    MajorVersion: (file) => Math.floor(file.uiVersion / FIRST_VERSION),
    MinorVersion: (file) => file.uiVersion % FIRST_VERSION,
    Name: (file) => file.name,
    ServerRelativeUrl: pathOf,
    TimeCreated: (file) => toSharePointTime(file.createdAtMs),
    TimeLastModified: (file) => toSharePointTime(file.modifiedAtMs),
    Title: titleOf,
    UIVersion: (file) => file.uiVersion,
    UIVersionLabel: versionLabelOf,
    UniqueId: (file) => file.uniqueId,
  },
  links: {
    ListItemAllFields: {
      type: (file) => itemTypeOf(file.library),
      many: false,
      get: (file) => (file.listItemId === 0 ? null : file),
    },
    Versions: { type: () => fileVersionType, many: true, get: fileVersionsOf },
    CheckedOutByUser: { type: () => userType, many: false, get: (file) => userOf(file, file.checkedOut?.byId) },
    Author: { type: () => userType, many: false, get: (file) => userOf(file, file.authorId) },
    ModifiedBy: { type: () => userType, many: false, get: (file) => userOf(file, file.editorId) },
  },
  address: (file) =>
    `Web/GetFileByServerRelativePath(decodedurl='${encodeURIComponent(pathOf(file).replaceAll("'", "''"))}')`,
  etag: etagOf,
});

function userOf(item: TenantItem, id: number | undefined): SiteUser | null {
  return (id === undefined ? undefined : item.library.site.users.find(id)) ?? null;
}

function textOf(value: ColumnValue | undefined): string | null {
  return value === undefined || value === null ? null : String(value);
}

/** Only what Office opens has one. */
function linkingUri(file: FileItem, origin: string): string | null {
  if (!/\.(docx?|xlsx?|pptx?)$/i.test(file.name)) return null;
  const path = pathOf(file).split("/").map(encodeURIComponent).join("/").replaceAll("'", "%27");
  return `${origin}${path}?d=w${file.uniqueId.replaceAll("-", "")}`;
}

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
  personFieldsNamed("Author", (item) => usersOf(item, item.authorId), { many: false }),
  personFieldsNamed("Editor", (item) => usersOf(item, item.editorId), { many: false }),
];
const CHECKED_OUT_TO = personFieldsNamed("CheckoutUser", (item) => usersOf(item, item.checkedOut?.byId), {
  many: false,
});

function usersOf(item: TenantItem, id: number | undefined): SiteUser[] {
  const user = userOf(item, id);
  return user ? [user] : [];
}

/** The list item type of a library or list: what all of them have, and its own columns. */
export function itemTypeOf(library: Library): EntityType {
  const known = types.get(library);
  if (known?.schemaVersion === library.schemaVersion) return known.type;
  const type = describeItems(library);
  types.set(library, { type, schemaVersion: library.schemaVersion });
  return type;
}

const types = new WeakMap<Library, { type: EntityType; schemaVersion: number }>();

function describeItems(library: Library): EntityType {
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
  return textOf(item.columns.get("Title"));
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
