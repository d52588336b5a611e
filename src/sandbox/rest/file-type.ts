import { type EntityType, entityType } from "../odata/entity-type.ts";
import { toSharePointTime } from "../tenant/tenant-clock.ts";
import { contentTagOf, etagOf, FIRST_VERSION, type FileItem, pathOf, versionLabelOf } from "../tenant/tenant-item.ts";
import { itemTypeOf } from "./item-type.ts";

export const fileType: EntityType = entityType<FileItem>({
  typeName: "SP.File",
  defaults: [
    ...["CheckInComment", "CheckOutType", "ContentTag", "CustomizedPageStatus", "ETag", "Exists"],
    ...["ExistsAllowThrowForPolicyFailures", "IrmEnabled", "Length", "Level", "LinkingUri", "LinkingUrl"],
    ...["MajorVersion", "MinorVersion", "Name", "ServerRelativeUrl", "TimeCreated", "TimeLastModified", "Title"],
    ...["UIVersion", "UIVersionLabel", "UniqueId"],
  ],
  properties: {
    CheckInComment: () => "",
    CheckOutType: () => 2,
    ContentTag: contentTagOf,
    CustomizedPageStatus: () => 0,
    ETag: etagOf,
    Exists: () => true,
    ExistsAllowThrowForPolicyFailures: () => true,
    IrmEnabled: () => false,
    // Int64 travels as text.
    Length: (file) => String(file.listedSize),
    Level: () => 1,
    LinkingUri: (file, at) => linkingUri(file, at.origin),
    LinkingUrl: (file, at) => linkingUri(file, at.origin) ?? "",
    MajorVersion: (file) => Math.floor(file.uiVersion / FIRST_VERSION),
    MinorVersion: (file) => file.uiVersion % FIRST_VERSION,
    Name: (file) => file.name,
    ServerRelativeUrl: pathOf,
    TimeCreated: (file) => toSharePointTime(file.createdAtMs),
    TimeLastModified: (file) => toSharePointTime(file.modifiedAtMs),
    Title: (file) => file.columns.get("Title") ?? null,
    UIVersion: (file) => file.uiVersion,
    UIVersionLabel: versionLabelOf,
    UniqueId: (file) => file.uniqueId,
  },
  links: {
    ListItemAllFields: { type: (file) => itemTypeOf(file.library), many: false, get: (file) => file },
  },
  address: (file) =>
    `Web/GetFileByServerRelativePath(decodedurl='${encodeURIComponent(pathOf(file).replaceAll("'", "''"))}')`,
  etag: etagOf,
});

/** Only what Office opens has one. */
function linkingUri(file: FileItem, origin: string): string | null {
  if (!/\.(docx?|xlsx?|pptx?)$/i.test(file.name)) return null;
  const path = pathOf(file).split("/").map(encodeURIComponent).join("/").replaceAll("'", "%27");
  return `${origin}${path}?d=w${file.uniqueId.replaceAll("-", "")}`;
}
