import { guidFrom } from "../tenant/guid-sequence.ts";
import type { Library } from "../tenant/library.ts";

/** A field every list of its kind has, without anybody having made it. */
export interface BuiltInField {
  readonly internalName: string;
  readonly title: string;
  readonly type: string;
  readonly kind: number;
  readonly hidden: boolean;
  readonly readOnly: boolean;
  readonly sealed: boolean;
}

const HIDDEN = "hidden";
const READ_ONLY = "read-only";

type Line = readonly [internalName: string, title: string, type: string, kind: number, ...flags: string[]];

const EVERY_LIST: readonly Line[] = [
  ["ID", "ID", "Counter", 5, READ_ONLY],
  ["ContentTypeId", "Content Type ID", "ContentTypeId", 25, HIDDEN, READ_ONLY],
  ["ContentType", "Content Type", "Computed", 12],
  ["Modified", "Modified", "DateTime", 4, READ_ONLY],
  ["Created", "Created", "DateTime", 4, READ_ONLY],
  ["Author", "Created By", "User", 20, READ_ONLY],
  ["Editor", "Modified By", "User", 20, READ_ONLY],
  ["_HasCopyDestinations", "Has Copy Destinations", "Boolean", 8, HIDDEN, READ_ONLY],
  ["_CopySource", "Copy Source", "Text", 2, HIDDEN, READ_ONLY],
  ["owshiddenversion", "owshiddenversion", "Integer", 1, HIDDEN, READ_ONLY],
  ["_UIVersion", "UI Version", "Integer", 1, HIDDEN, READ_ONLY],
  ["_UIVersionString", "Version", "Text", 2, READ_ONLY],
  ["Edit", "Edit", "Computed", 12, READ_ONLY],
  ["DocIcon", "Type", "Computed", 12, READ_ONLY],
  ["GUID", "GUID", "Guid", 14, HIDDEN, READ_ONLY],
  ["FileRef", "URL Path", "Lookup", 7, HIDDEN, READ_ONLY],
  ["FileDirRef", "Path", "Lookup", 7, HIDDEN, READ_ONLY],
  ["FSObjType", "Item Type", "Lookup", 7, HIDDEN, READ_ONLY],
  ["UniqueId", "Unique Id", "Lookup", 7, HIDDEN, READ_ONLY],
  ["File_x0020_Type", "File Type", "Text", 2, HIDDEN, READ_ONLY],
  ["ItemChildCount", "Item Child Count", "Lookup", 7, READ_ONLY],
  ["FolderChildCount", "Folder Child Count", "Lookup", 7, READ_ONLY],
  ["AppAuthor", "App Created By", "Lookup", 7, READ_ONLY],
  ["AppEditor", "App Modified By", "Lookup", 7, READ_ONLY],
  ["ComplianceAssetId", "Compliance Asset Id", "Text", 2, READ_ONLY],
];

const LISTS_ONLY: readonly Line[] = [
  ["Attachments", "Attachments", "Attachments", 19],
  ["LinkTitle", "Title", "Computed", 12, READ_ONLY],
  ["LinkTitleNoMenu", "Title", "Computed", 12, READ_ONLY],
  ["FileLeafRef", "Name", "File", 18, HIDDEN],
];

const LIBRARIES_ONLY: readonly Line[] = [
  ["FileLeafRef", "Name", "File", 18],
  ["LinkFilename", "Name", "Computed", 12, READ_ONLY],
  ["FileSizeDisplay", "File Size", "Computed", 12, READ_ONLY],
  ["CheckoutUser", "Checked Out To", "User", 20, READ_ONLY],
  ["Title", "Title", "Text", 2],
];

export function builtInFieldsOf(library: Library): BuiltInField[] {
  const lines = [...EVERY_LIST, ...(library.isList ? LISTS_ONLY : LIBRARIES_ONLY)];
  return [...lines, ...termLines(library)]
    .filter(([internalName]) => !library.columns.has(internalName))
    .map(([internalName, title, type, kind, ...flags]) => ({
      internalName,
      title,
      type,
      kind,
      hidden: flags.includes(HIDDEN),
      readOnly: flags.includes(READ_ONLY),
      sealed: internalName === "ContentType" || internalName === "ContentTypeId",
    }));
}

/** A managed-metadata column brings a hidden note, and the first one in a list the catch-all. */
function termLines(library: Library): Line[] {
  const terms = [...library.columns.values()].filter(({ type }) => type.startsWith("Taxonomy"));
  if (terms.length === 0) return [];
  const notes = terms.map(
    ({ internalName, title }): Line => [
      guidFrom(`note/${internalName}`).replaceAll("-", ""),
      `${title}_0`,
      "Note",
      3,
      HIDDEN,
    ],
  );
  return [
    ...notes,
    ["TaxCatchAll", "Taxonomy Catch All Column", "LookupMulti", 7, HIDDEN],
    ["TaxCatchAllLabel", "Taxonomy Catch All Column1", "LookupMulti", 7, HIDDEN, READ_ONLY],
  ];
}
