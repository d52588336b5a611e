import { type EntityType, entityType } from "../odata/entity-type.ts";
import type { SiteUser } from "../tenant/site-users.ts";
import { toSharePointTime } from "../tenant/tenant-clock.ts";
import {
  type ColumnValue,
  contentTagOf,
  etagOf,
  FIRST_VERSION,
  type FileItem,
  pathOf,
  versionLabelOf,
} from "../tenant/tenant-item.ts";
import { isDraft } from "../tenant/versions.ts";
import { itemTypeOf } from "./item-type.ts";
import { userType } from "./user-type.ts";
import { fileVersionsOf, fileVersionType } from "./version-type.ts";

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
    Title: (file) => textOf(file.columns.get("Title")),
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

function userOf(file: FileItem, id: number | undefined): SiteUser | null {
  return (id === undefined ? undefined : file.library.site.users.find(id)) ?? null;
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
