import { type EntityType, entityType } from "../odata/entity-type.ts";
import { type FileItem, pathOf } from "../tenant/tenant-item.ts";

/** A file attached to a row. It has neither size nor time of its own here: only its bytes tell. */
export const attachmentType: EntityType = entityType<FileItem>({
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
