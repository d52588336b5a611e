import { type EntityType, entityType } from "../odata/entity-type.ts";
import type { Literal } from "../odata/filter-tokens.ts";
import { COLUMN_KINDS, type Column, entityPropertyNameOf } from "../tenant/column.ts";
import { guidFrom } from "../tenant/guid-sequence.ts";
import type { Library } from "../tenant/library.ts";
import { type BuiltInField, builtInFieldsOf } from "./built-in-fields.ts";

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
