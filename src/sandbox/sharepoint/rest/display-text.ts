import type { Column } from "../tenant/column.ts";
import type { TenantItem } from "../tenant/tenant-item.ts";
import { publishedView } from "../tenant/versions.ts";
import { isTerm, lookupText, peopleIn } from "./field-type.ts";
import type { RequestScope } from "./resource.ts";

/** A column's value as a page shows it, in the locale of the site (American English, UTC). */
export function displayText(column: Column, item: TenantItem): string {
  if (column.type === "Lookup" || column.type === "LookupMulti") return lookupText(column, item).join("; ");
  if (column.type === "User" || column.type === "UserMulti") {
    return peopleIn(column, item)
      .map((user) => user.title)
      .join("; ");
  }
  const value = item.columns.get(column.internalName) ?? null;
  if (value === null) return "";
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (typeof value === "number")
    return column.type === "Currency" ? money(value, column.currencyLocaleId) : value.toLocaleString("en-US");
  if (typeof value === "string") return column.type === "DateTime" ? localTime(value, column.dateOnly) : value;
  if (isTerm(value)) return value.label;
  if ("Url" in value) return `${value.Url}, ${value.Description}`;
  return value.map((each) => (isTerm(each) ? each.label : String(each))).join("; ");
}

/** Currency columns are shown in a locale of their own. */
const CURRENCIES: Readonly<Record<number, { readonly locale: string; readonly currency: string }>> = {
  1031: { locale: "de-DE", currency: "EUR" },
  1033: { locale: "en-US", currency: "USD" },
  1043: { locale: "nl-NL", currency: "EUR" },
  2057: { locale: "en-GB", currency: "GBP" },
};

function money(value: number, localeId: number): string {
  const { locale, currency } = CURRENCIES[localeId] ?? { locale: "en-US", currency: "USD" };
  return value.toLocaleString(locale, { style: "currency", currency }).replaceAll(/\s/gu, " ");
}

/** `10/12/2022 1:07 AM` */
export function localTime(instant: string | number, dateOnly = false): string {
  const date = new Date(instant);
  const day = date.toLocaleDateString("en-US", { timeZone: "UTC" });
  if (dateOnly) return day;
  const time = date.toLocaleTimeString("en-US", { timeZone: "UTC", hour: "numeric", minute: "2-digit" });
  // Newer locale tables put a narrow no-break space before AM and PM; SharePoint puts a plain one.
  return `${day} ${time.replace(/\s/u, " ")}`;
}

/** The item as the app sees it; undefined when it may not see it, or when all there is of it is a draft the app may not see. */
export function shownItem(item: TenantItem, scope: RequestScope): TenantItem | undefined {
  if (item.hidden) return undefined;
  return hidesDrafts(item, scope) ? publishedView(item) : item;
}

export function shownItems(items: readonly TenantItem[], scope: RequestScope): readonly TenantItem[] {
  const differs = items.some((item) => item.hidden || (hidesDrafts(item, scope) && shownItem(item, scope) !== item));
  return differs ? items.flatMap((item) => shownItem(item, scope) ?? []) : items;
}

function hidesDrafts({ library }: TenantItem, { settings }: RequestScope): boolean {
  return settings.drafts === "hidden" || library.draftVisibility > 0;
}
