import { BadInputError } from "../../contracts/errors.ts";
import type { Column } from "./column.ts";
import type { Site } from "./site.ts";
import { toSharePointTime } from "./tenant-clock.ts";
import type { ColumnValue, UrlValue } from "./tenant-item.ts";
import type { Term } from "./term-labels.ts";

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
