import { BadInputError } from "../../contracts/errors.ts";
import { guidFrom } from "./guid-sequence.ts";

/** A column's type as `TypeAsString` says it, with the number `FieldTypeKind` gives it. */
export const COLUMN_KINDS = {
  Text: 2,
  Note: 3,
  DateTime: 4,
  Choice: 6,
  Lookup: 7,
  LookupMulti: 7,
  Boolean: 8,
  Number: 9,
  Currency: 10,
  URL: 11,
  MultiChoice: 15,
  Calculated: 17,
  User: 20,
  UserMulti: 20,
  TaxonomyFieldType: 0,
  TaxonomyFieldTypeMulti: 0,
  HTML: 0,
} as const;

export type ColumnType = keyof typeof COLUMN_KINDS;

/** A column somebody made, in a list or a library. What every list has is no column here. */
export interface Column {
  readonly id: string;
  /** `Due_x0020_date`: fixed when the column is made; a new title does not change it. */
  readonly internalName: string;
  title: string;
  readonly type: ColumnType;
  readonly choices: readonly string[];
  /** The list a lookup points at; "" for other types. */
  readonly lookupListId: string;
  readonly lookupField: string;
  readonly richText: boolean;
  readonly dateOnly: boolean;
  readonly currencyLocaleId: number;
  /** An index lets filters pass the list view threshold. */
  indexed: boolean;
  readonly hidden: boolean;
}

export type ColumnRequest = Partial<Omit<Column, "id" | "internalName" | "title" | "type">> & {
  readonly title: string;
  readonly internalName?: string;
  readonly type: ColumnType;
};

const MULTIPLE: Readonly<Record<string, ColumnType>> = {
  Choice: "MultiChoice",
  Lookup: "LookupMulti",
  User: "UserMulti",
  TaxonomyFieldType: "TaxonomyFieldTypeMulti",
};

export function readColumnType(name: string, multiple: boolean): ColumnType {
  const type = Object.keys(COLUMN_KINDS).find((each) => each.toLowerCase() === name.toLowerCase());
  if (type === undefined) {
    throw new BadInputError(`Column type '${name}': there are ${Object.keys(COLUMN_KINDS).join(", ")}.`);
  }
  if (!multiple) return type as ColumnType;
  const many = MULTIPLE[type] ?? Object.values(MULTIPLE).find((each) => each === type);
  if (many === undefined) throw new BadInputError(`Column type '${type}': it cannot hold several values.`);
  return many;
}

export function makeColumn(request: ColumnRequest, listId: string): Column {
  const internalName = request.internalName ?? internalNameOf(request.title);
  return {
    id: guidFrom(`column/${listId}/${internalName}`),
    choices: [],
    lookupListId: "",
    lookupField: "",
    richText: false,
    dateOnly: false,
    currencyLocaleId: 1033,
    indexed: false,
    hidden: false,
    ...request,
    internalName,
  };
}

const MAX_INTERNAL_NAME = 32;

/** `Due date` -> `Due_x0020_date`; a digit in front is written out, too. At most 32 characters. */
export function internalNameOf(title: string): string {
  const encode = (character: string): string => `_x${character.charCodeAt(0).toString(16).padStart(4, "0")}_`;
  return title
    .replaceAll(/[^A-Za-z0-9_]/g, encode)
    .replace(/^\d/, encode)
    .slice(0, MAX_INTERNAL_NAME);
}

/** The key under which items carry a column: OData allows no underscore in front. */
export function entityPropertyNameOf(internalName: string): string {
  return internalName.startsWith("_") ? `OData_${internalName}` : internalName;
}
