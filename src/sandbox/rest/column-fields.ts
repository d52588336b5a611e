import { type EntityType, entityType, type Json, type Link } from "../odata/entity-type.ts";
import type { Literal } from "../odata/filter-tokens.ts";
import { ODataError } from "../odata/odata-error.ts";
import { type Column, entityPropertyNameOf } from "../tenant/column.ts";
import type { SiteUser } from "../tenant/site-users.ts";
import type { ColumnValue, TenantItem } from "../tenant/tenant-item.ts";
import type { Term } from "../tenant/term-labels.ts";
import { personType } from "./user-type.ts";

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
