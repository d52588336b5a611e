import { type EntityType, entityType } from "../odata/entity-type.ts";
import type { Literal } from "../odata/filter-tokens.ts";
import { COLUMN_KINDS, type Column, entityPropertyNameOf } from "../tenant/column.ts";
import { guidFrom } from "../tenant/guid-sequence.ts";
import type { Library } from "../tenant/library.ts";

/** A field of a list: one somebody made has its column. */
interface Field extends BuiltInField {
  readonly id: string;
  readonly library: Library;
  readonly column: Column | undefined;
}

export function fieldsOf(library: Library): Field[] {
  const own = [...library.columns.values()].map((column) => ({
    internalName: column.internalName,
    title: column.title,
    type: column.type,
    kind: COLUMN_KINDS[column.type],
    hidden: column.hidden,
    readOnly: column.type === "Calculated",
    sealed: false,
    id: column.id,
    column,
  }));
  const builtIn = builtInFieldsOf(library).map((field) => ({
    ...field,
    id: guidFrom(`field/${field.internalName}`),
    column: undefined,
  }));
  return [...own, ...builtIn].map((field) => ({ ...field, library }));
}

export function findField(library: Library, internalNameOrTitle: string): Field | undefined {
  const fields = fieldsOf(library);
  return (
    fields.find(({ internalName }) => internalName === internalNameOrTitle) ??
    fields.find(({ title }) => title.toLowerCase() === internalNameOrTitle.toLowerCase())
  );
}

/** What every field tells; filters may use these. */
const SHARED: Readonly<Record<string, (field: Field) => Exclude<Literal, Date>>> = {
  Id: (field) => field.id,
  InternalName: (field) => field.internalName,
  StaticName: (field) => field.internalName,
  EntityPropertyName: (field) => entityPropertyNameOf(field.internalName),
  Title: (field) => field.title,
  TypeAsString: (field) => field.type,
  FieldTypeKind: (field) => field.kind,
  Hidden: (field) => field.hidden,
  ReadOnlyField: (field) => field.readOnly,
  FromBaseType: (field) => !field.column || field.internalName === "Title",
  Sealed: (field) => field.sealed,
  Indexed: (field) => field.column?.indexed ?? field.internalName === "ID",
  Required: (field) => field.internalName === "Title" && field.library.isList,
  CanBeDeleted: (field) => field.column !== undefined && field.internalName !== "Title",
  Description: () => "",
  Group: (field) => (field.column ? "Custom Columns" : "_Hidden"),
  TypeDisplayName: (field) => field.type,
  DefaultValue: () => null,
};

export const fieldType: EntityType = entityType<Field>({
  typeName: "SP.Field",
  defaults: [
    ...Object.keys(SHARED),
    ...["AllowMultipleValues", "LookupList", "LookupField", "LookupWebId", "Choices", "DisplayFormat", "RichText"],
    ...["CurrencyLocaleId"],
  ],
  properties: {
    ...SHARED,
    // Only fields of the type in question have these; the others leave them out.
    AllowMultipleValues: ({ type }) => (/^(Lookup|User|Taxonomy)/.test(type) ? type.endsWith("Multi") : undefined),
    LookupList: ({ column, type }) =>
      type.startsWith("Lookup") ? (column ? `{${column.lookupListId}}` : "") : undefined,
    LookupField: ({ column, type }) => (type.startsWith("Lookup") ? (column?.lookupField ?? "") : undefined),
    LookupWebId: ({ library, type }) => (type.startsWith("Lookup") ? library.site.webId : undefined),
    Choices: ({ column }) => (column?.type.endsWith("Choice") ? column.choices : undefined),
    DisplayFormat: ({ column, type }) => displayFormat(type, column),
    RichText: ({ column, type }) => (type === "Note" ? (column?.richText ?? false) : undefined),
    CurrencyLocaleId: ({ column }) => (column?.type === "Currency" ? column.currencyLocaleId : undefined),
  },
  filterable: SHARED,
  links: {},
  key: (field) => field.id,
  address: (field) => `Web/Lists(guid'${field.library.id}')/Fields(guid'${field.id}')`,
});

/** For dates 0 is the day alone and 1 the time of day, too; for links 0 is a link and 1 a picture. */
function displayFormat(type: string, column: Column | undefined): number | undefined {
  if (type === "DateTime") return column?.dateOnly ? 0 : 1;
  return type === "URL" || type === "Number" || type === "Currency" ? 0 : undefined;
}

/** A field every list of its kind has, without anybody having made it. */
interface BuiltInField {
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

function builtInFieldsOf(library: Library): BuiltInField[] {
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
