import { BadInputError } from "../../../contracts/errors.ts";
import { guidFrom } from "./guid-sequence.ts";
import type { Site } from "./tenant.ts";
import { toSharePointTime } from "./tenant-clock.ts";
import type { ColumnValue, UrlValue } from "./tenant-item.ts";

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
function internalNameOf(title: string): string {
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

/**
 * What a column keeps of the value somebody entered. People, terms and rows of other lists may be given by name, as a
 * person picks them; what is kept is the id. Throws BadInputError when the value does not fit.
 */
export function toColumnValue(column: Column, input: unknown, site: Site): ColumnValue {
  if (input === null || input === undefined) return null;
  return READERS[column.type]({ column, site, input });
}

interface Entered {
  readonly column: Column;
  readonly site: Site;
  readonly input: unknown;
}

type Reader = (entered: Entered) => ColumnValue;

const READERS: Readonly<Record<Column["type"], Reader>> = {
  Text: text,
  Note: text,
  HTML: text,
  Choice: text,
  MultiChoice: (entered) => each(entered).map(text),
  DateTime: instant,
  Boolean: truth,
  Number: number,
  Currency: number,
  URL: link,
  Lookup: lookup,
  LookupMulti: (entered) => each(entered).map(lookup),
  User: user,
  UserMulti: (entered) => each(entered).map(user),
  TaxonomyFieldType: term,
  TaxonomyFieldTypeMulti: (entered) => each(entered).map(term),
  // The sandbox calculates nothing: it shows the result it is given.
  Calculated: (entered) => (typeof entered.input === "number" ? entered.input : text(entered)),
};

function each(entered: Entered): Entered[] {
  if (!Array.isArray(entered.input)) throw misfit(entered, "a list");
  return entered.input.map((input: unknown) => ({ ...entered, input }));
}

function text(entered: Entered): string {
  if (typeof entered.input !== "string") throw misfit(entered, "a text");
  return entered.input;
}

function number(entered: Entered): number {
  if (typeof entered.input !== "number" || !Number.isFinite(entered.input)) throw misfit(entered, "a number");
  return entered.input;
}

function truth(entered: Entered): boolean {
  if (typeof entered.input !== "boolean") throw misfit(entered, "true or false");
  return entered.input;
}

function instant(entered: Entered): string {
  const ms = typeof entered.input === "string" ? Date.parse(entered.input) : Number.NaN;
  if (Number.isNaN(ms)) throw misfit(entered, "an ISO 8601 instant");
  return toSharePointTime(ms);
}

function link(entered: Entered): UrlValue {
  const { input } = entered;
  if (typeof input === "string") return { Description: input, Url: input };
  const { Url, Description = Url } = (typeof input === "object" ? input : {}) as Record<string, unknown>;
  if (typeof Url !== "string" || typeof Description !== "string") throw misfit(entered, "{Url, Description}");
  return { Description, Url };
}

function lookup(entered: Entered): number {
  const { column, site, input } = entered;
  const list = site.libraryById(column.lookupListId);
  const row =
    typeof input === "number"
      ? list?.find(input)
      : list?.rows.find((each) => each.columns.get(column.lookupField) === input);
  if (!row) throw misfit(entered, `the id or ${column.lookupField} of a row in the list it looks up`);
  return row.listItemId;
}

function user(entered: Entered): number {
  const { site, input } = entered;
  if (typeof input === "string" && input !== "") return site.users.ensure(input).id;
  if (typeof input === "number" && site.users.find(input)) return input;
  throw misfit(entered, "a name, a mail address or the id of a user of the site");
}

function term(entered: Entered): Term {
  const { input } = entered;
  if (typeof input !== "string" || input === "") throw misfit(entered, "the label of a term");
  return entered.site.terms.ensure(input);
}

function misfit({ column, input }: Entered, wanted: string): BadInputError {
  return new BadInputError(
    `Column '${column.title}' of type ${column.type}: give ${wanted}; got ${JSON.stringify(input).slice(0, 80)}.`,
  );
}

/** A managed term as a site remembers it in its hidden list. */
export interface Term {
  /** The row in the hidden list: the number that a single-valued column gives instead of the text. */
  readonly wssId: number;
  readonly label: string;
  readonly termGuid: string;
}

/** The terms used in one site. */
export class TermLabels {
  readonly #terms: Term[] = [];

  ensure(label: string): Term {
    const known = this.#terms.find((term) => term.label === label);
    if (known) return known;
    const term = { wssId: this.#terms.length + 1, label, termGuid: guidFrom(`term/${label}`) };
    this.#terms.push(term);
    return term;
  }
}
