import type { Literal } from "../odata/filter.ts";
import { ODataError } from "../odata/odata-error.ts";
import { type EntityType, entityType, type Json, type Link } from "../odata/projection.ts";
import { COLUMN_KINDS, type Column, entityPropertyNameOf, type Term } from "../tenant/column.ts";
import { guidFrom } from "../tenant/guid-sequence.ts";
import type { Library } from "../tenant/library.ts";
import type { SiteUser } from "../tenant/site-users.ts";
import type { ColumnValue, TenantItem } from "../tenant/tenant-item.ts";

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

export type Getter = (item: TenantItem) => Json;

/** What one column adds to the items of its list. */
export interface ColumnFields {
  readonly properties: Readonly<Record<string, Getter>>;
  readonly links: Readonly<Record<string, Link>>;
  readonly filterable: Readonly<Record<string, (item: TenantItem) => Literal>>;
}

/** `itemType` describes the rows of another list, for lookups. */
export function fieldsOfColumn(column: Column, itemType: (item: TenantItem) => EntityType): ColumnFields {
  if (column.type === "Lookup" || column.type === "LookupMulti") return lookupFields(column, itemType);
  if (column.type === "User" || column.type === "UserMulti") return personFields(column);
  const name = entityPropertyNameOf(column.internalName);
  const read = (item: TenantItem): ColumnValue => item.columns.get(column.internalName) ?? null;
  return {
    properties: { [name]: (item) => toJson(column, read(item)) },
    links: {},
    filterable: { [name]: filterReader(column, read) },
  };
}

function toJson(column: Column, value: ColumnValue): Json {
  if (value === null || typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value === "string") return column.type === "Calculated" ? `string;#${value}` : value;
  // A single term gives its number in the site's hidden list where a reader expects its text.
  if (isTerm(value)) return { Label: String(value.wssId), TermGuid: value.termGuid, WssId: value.wssId };
  if ("Url" in value) return { Description: value.Description, Url: value.Url };
  if (value.length === 0) return column.type === "MultiChoice" ? null : [];
  return value.map((each) => (isTerm(each) ? { Label: each.label, TermGuid: each.termGuid, WssId: each.wssId } : each));
}

export function isTerm(value: unknown): value is Term {
  return typeof value === "object" && value !== null && "termGuid" in value;
}

function filterReader(column: Column, read: (item: TenantItem) => ColumnValue): (item: TenantItem) => Literal {
  if (column.type.endsWith("Multi") || column.type === "Note" || column.type === "HTML") return cannotFilter(column);
  return (item) => {
    const value = read(item);
    if (value === null) return null;
    if (column.type === "DateTime") return new Date(String(value));
    if (isTerm(value)) return value.label;
    if (typeof value === "object") return "Url" in value ? value.Url : value.join(";#");
    return value;
  };
}

/** Thrown when a row is looked at, which is late for a list without rows, and soon enough for every other. */
function cannotFilter(column: Column): () => never {
  return () => {
    throw new ODataError(
      400,
      "-1, Microsoft.SharePoint.SPException",
      `The field '${column.internalName}' of type '${column.type}' cannot be used in the query filter expression.`,
    );
  };
}

/** Ids of rows that still exist: deleting a row empties the lookups that point at it. */
export function lookedUpRows(column: Column, item: TenantItem): TenantItem[] {
  const list = item.library.site.libraryById(column.lookupListId);
  return idsIn(item, column).flatMap((id) => list?.find(id) ?? []);
}

export function peopleIn(column: Column, item: TenantItem): SiteUser[] {
  return idsIn(item, column).flatMap((id) => item.library.site.users.find(id) ?? []);
}

function idsIn(item: TenantItem, column: Column): number[] {
  const value = item.columns.get(column.internalName) ?? null;
  if (typeof value === "number") return [value];
  return Array.isArray(value) ? value.filter((each) => typeof each === "number") : [];
}

function lookupFields(column: Column, itemType: (item: TenantItem) => EntityType): ColumnFields {
  const name = entityPropertyNameOf(column.internalName);
  const many = column.type === "LookupMulti";
  const ids = (item: TenantItem): number[] => lookedUpRows(column, item).map((row) => row.listItemId);
  const text = (item: TenantItem): Literal => lookupText(column, item)[0] ?? null;
  return {
    properties: { [`${name}Id`]: many ? ids : (item) => ids(item)[0] ?? null },
    links: {
      [name]: {
        type: (target) => itemType(target as TenantItem),
        many,
        needsFields: true,
        ...(many ? { refusesEmpty: true } : {}),
        get: (item) => oneOrMany(lookedUpRows(column, item as TenantItem), many),
      },
    },
    filterable: many
      ? { [`${name}Id`]: cannotFilter(column), [`${name}/${column.lookupField}`]: cannotFilter(column) }
      : {
          [`${name}Id`]: (item) => ids(item)[0] ?? null,
          [`${name}/Id`]: (item) => ids(item)[0] ?? null,
          [`${name}/${column.lookupField}`]: text,
        },
  };
}

export function lookupText(column: Column, item: TenantItem): string[] {
  return lookedUpRows(column, item).map((row) => String(row.columns.get(column.lookupField) ?? ""));
}

function personFields(column: Column): ColumnFields {
  const many = column.type === "UserMulti";
  return personFieldsNamed(entityPropertyNameOf(column.internalName), (item) => peopleIn(column, item), {
    many,
    refuse: cannotFilter(column),
  });
}

/** Also for Author, Editor and CheckoutUser, which are people without being columns somebody made. */
export function personFieldsNamed(
  name: string,
  people: (item: TenantItem) => SiteUser[],
  { many, refuse }: { many: boolean; refuse?: () => never },
): ColumnFields {
  const id = (item: TenantItem): number | null => people(item)[0]?.id ?? null;
  return {
    properties: {
      [`${name}Id`]: many ? (item) => people(item).map((user) => user.id) : id,
      [`${name}StringId`]: many
        ? (item) => people(item).map((user) => String(user.id))
        : (item) => String(id(item) ?? "") || null,
    },
    links: {
      [name]: {
        type: () => personType,
        many,
        needsFields: true,
        get: (item) => oneOrMany(people(item as TenantItem), many),
      },
    },
    filterable: {
      [`${name}Id`]: many && refuse ? refuse : id,
      [`${name}/Id`]: many && refuse ? refuse : id,
      [`${name}/Title`]: many && refuse ? refuse : (item) => people(item)[0]?.title ?? null,
      [`${name}/EMail`]: many && refuse ? refuse : (item) => people(item)[0]?.email ?? null,
    },
  };
}

function oneOrMany(found: readonly unknown[], many: boolean): unknown {
  return many ? found : (found[0] ?? null);
}

/** The terms an item uses, whichever column they are in: the way to the text of a single-valued one. */
export const termType: EntityType = entityType<Term>({
  typeName: "SP.Data.TaxonomyHiddenListListItem",
  defaults: ["Id", "Term"],
  together: { Id: "ID", ID: "Id" },
  properties: {
    Id: (term) => term.wssId,
    ID: (term) => term.wssId,
    Title: (term) => term.label,
    Term: (term) => term.label,
    Term1033: (term) => term.label,
    IdForTerm: (term) => term.termGuid,
  },
  links: {},
  address: (term) => `Web/Lists/GetByTitle('TaxonomyHiddenList')/Items(${term.wssId})`,
});

export function termsOf(item: TenantItem): Term[] {
  const found = [...item.columns.values()].flatMap((value) => (Array.isArray(value) ? value : [value])).filter(isTerm);
  return [...new Map(found.map((term) => [term.wssId, term])).values()];
}

/** A user as `siteusers` gives it. */
export const userType: EntityType = entityType<SiteUser>({
  typeName: "SP.User",
  defaults: [
    ...["Id", "IsHiddenInUI", "LoginName", "Title", "PrincipalType", "Email", "Expiration"],
    ...["IsEmailAuthenticationGuestUser", "IsShareByEmailGuestUser", "IsSiteAdmin", "UserPrincipalName"],
  ],
  properties: {
    Id: (user) => user.id,
    IsHiddenInUI: () => false,
    LoginName: (user) => user.loginName,
    Title: (user) => user.title,
    PrincipalType: () => 1,
    Email: (user) => user.email,
    Expiration: () => "",
    IsEmailAuthenticationGuestUser: () => false,
    IsShareByEmailGuestUser: () => false,
    IsSiteAdmin: () => false,
    UserPrincipalName: (user) => user.email || null,
  },
  links: {},
  filterable: {
    Id: (user) => user.id,
    Title: (user) => user.title,
    Email: (user) => user.email,
    LoginName: (user) => user.loginName,
  },
  key: (user) => user.id,
  address: (user) => `Web/GetUserById(${user.id})`,
});

/** The same user as a person column gives it: a row of the user information list, where the mail is `EMail`. */
const personType: EntityType = entityType<SiteUser>({
  typeName: "SP.Data.UserInfoItem",
  defaults: ["Id", "Title"],
  together: { Id: "ID", ID: "Id" },
  properties: {
    Id: (user) => user.id,
    ID: (user) => user.id,
    Title: (user) => user.title,
    EMail: (user) => user.email,
    Name: (user) => user.loginName,
    UserName: (user) => user.email,
    FirstName: (user) => user.title.split(" ")[0] ?? "",
    LastName: (user) => user.title.split(" ").slice(1).join(" "),
    JobTitle: () => null,
    Department: () => null,
  },
  links: {},
  address: (user) => `Web/SiteUserInfoList/Items(${user.id})`,
});
