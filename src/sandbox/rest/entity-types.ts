import { type EntityType, entityType, type Json } from "../odata/entity-type.ts";
import type { Library } from "../tenant/library.ts";
import type { Site } from "../tenant/site.ts";
import { toSharePointTime } from "../tenant/tenant-clock.ts";
import { type FolderItem, pathOf, type TenantItem } from "../tenant/tenant-item.ts";
import { changeTokenText } from "./change-token.ts";
import { fieldsOf, fieldType } from "./field-type.ts";
import { fileType } from "./file-type.ts";
import { itemTypeOf } from "./item-type.ts";
import { userType } from "./user-type.ts";

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
