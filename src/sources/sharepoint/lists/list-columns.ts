import type { FieldDescription } from "./find-list.ts";
import { OWN_FROM, TAIL, UTC_MARK } from "./list-export.ts";

/** A column of the export. */
export interface Column extends FieldDescription {
  /** Its unique title in the export. */
  readonly heading: string;
}

/** Returns the columns in the order of the export. The first two and the last four are always present, if need be without values. */
export function chooseColumns(fields: readonly FieldDescription[]): Column[] {
  const find = (name: string, type: string, title = name): FieldDescription =>
    fields.find((field) => field.internalName === name) ?? { ...ABSENT, internalName: name, title, type };
  const own = fields.filter(isOwn).toSorted(byTitle);
  return withHeadings([
    find("ID", "Counter"),
    find("Title", "Text"),
    ...own,
    find("Created", "DateTime"),
    find("Modified", "DateTime"),
    find("Author", "User", "Created By"),
    find("Editor", "User", "Modified By"),
  ]);
}

const ABSENT: Omit<FieldDescription, "internalName" | "title" | "type"> = {
  property: "",
  hidden: false,
  readOnly: false,
  lookupField: "",
  dateOnly: false,
  richText: undefined,
  currencyLocaleId: 0,
};

/** System columns that are in every list. Some of them have a fixed position in the export. */
const NOT_OWN = new Set(
  `ID Title Created Modified Author Editor AppAuthor AppEditor Attachments CheckoutUser ComplianceAssetId ContentType
ContentTypeId DocIcon Edit FileSizeDisplay FolderChildCount ItemChildCount LinkTitle LinkFilename LinkFilenameNoMenu
MediaServiceAutoTags MediaServiceLocation MediaServiceOCR ParentVersionString SharedWithDetails SharedWithUsers GUID
FileRef FileDirRef FileLeafRef FSObjType PermMask UniqueId SyncClientId ProgId ScopeId MetaInfo ItemType
owshiddenversion WorkflowVersion WorkflowInstanceID Order InstanceID ServerRedirectedEmbedUrl
ServerRedirectedEmbedUri TaxCatchAll TaxCatchAllLabel`.split(/\s/),
);
const WITHOUT_TEXT = new Set(["Computed", "Attachments", "File", "ContentTypeId", "Counter", "PageSeparator"]);

/** SharePoint escapes a leading non-Latin letter as `_x65e5_…`; other names with a leading underscore are internal. */
const INTERNAL = /^_(?!x[0-9a-f]{4}_)/i;

function isOwn(field: FieldDescription): boolean {
  if (field.hidden || field.internalName === "" || INTERNAL.test(field.internalName)) return false;
  if (NOT_OWN.has(field.internalName) || WITHOUT_TEXT.has(field.type)) return false;
  return !field.readOnly || field.type === "Calculated";
}

/** Compares without regard to the server's locale, so that the export is the same on every machine. */
function byTitle(a: FieldDescription, b: FieldDescription): number {
  const [left, right] = [a.title.toLowerCase(), b.title.toLowerCase()];
  if (left !== right) return left < right ? -1 : 1;
  return a.internalName < b.internalName ? -1 : 1;
}

/** Makes titles unique: the fixed column keeps a title, else the first; others get their internal name appended. */
function withHeadings(fields: readonly FieldDescription[]): Column[] {
  const isFixed = (at: number): boolean => at < OWN_FROM || at >= fields.length - TAIL;
  const order = [...fields.keys()].toSorted((a, b) => Number(isFixed(b)) - Number(isFixed(a)) || a - b);
  const taken = new Set<string>();
  const headings = new Map<number, string>();
  for (const at of order) {
    const field = fields[at];
    if (!field) continue;
    let title = oneLine(field.title) || field.internalName;
    const tell = (name: string): string => (isFixed(at) ? name : withUnit(name, field));
    while (taken.has(tell(title).toLowerCase())) title += ` (${field.internalName})`;
    headings.set(at, tell(title));
    taken.add(tell(title).toLowerCase());
  }
  return fields.map((field, at) => ({ ...field, heading: headings.get(at) ?? field.internalName }));
}

/** Appends the unit. A day has no time zone: it is the same everywhere. */
function withUnit(title: string, field: FieldDescription): string {
  if (field.type === "DateTime" && !field.dateOnly) return `${title} ${UTC_MARK}`;
  return field.type === "Currency" ? currencyTitle(title, field.currencyLocaleId) : title;
}

/** Currencies by the locale of a SharePoint column. */
const CURRENCIES: Readonly<Record<string, string>> = {
  AUD: "3081",
  BRL: "1046",
  CAD: "4105 3084",
  CHF: "2055 4108 2064",
  CNY: "2052",
  CZK: "1029",
  DKK: "1030",
  EUR: "1031 1036 1040 1034 3082 1043 2067 2060 3079 2070 1032 1035 2077 6153 1051 1060 1061 1062 1063 4103 5132",
  GBP: "2057",
  HKD: "3076",
  HUF: "1038",
  ILS: "1037",
  INR: "1081 16393",
  JPY: "1041",
  KRW: "1042",
  MXN: "2058",
  NOK: "1044 2068",
  NZD: "5129",
  PLN: "1045",
  RON: "1048",
  SEK: "1053",
  SGD: "4100",
  THB: "1054",
  TRY: "1055",
  TWD: "1028",
  UAH: "1058",
  USD: "1033",
  ZAR: "7177",
};

let known: ReadonlyMap<string, string> | undefined;

/** Returns currency signs by locale id. Created on first use, because Intl is slow. */
function signs(): ReadonlyMap<string, string> {
  known ??= new Map(
    Object.entries(CURRENCIES).flatMap(([currency, locales]) => locales.split(" ").map((id) => [id, signOf(currency)])),
  );
  return known;
}

/** Returns an unambiguous sign: `$` is the US dollar, others are `CA$` or `A$`. */
function signOf(currency: string): string {
  const parts = new Intl.NumberFormat("en-US", { style: "currency", currency }).formatToParts(1);
  return parts.find((part) => part.type === "currency")?.value ?? currency;
}

/** Returns the title of a currency column in the export: `Budget [€]`; for an unknown locale the title alone. */
function currencyTitle(title: string, localeId: number): string {
  const sign = signs().get(String(localeId));
  return sign === undefined ? title : `${title} [${sign}]`;
}

/** Splits such a title. A column that its owner named `Price [$]` is split, too, which is intended. */
export function splitCurrencyTitle(title: string): { readonly label: string; readonly sign: string } {
  const match = /^(.*\S) \[([^[\]]{1,5})\]$/s.exec(title);
  const [, label = "", sign = ""] = match ?? [];
  return sign !== "" && [...signs().values()].includes(sign) ? { label, sign } : { label: title, sign: "" };
}

/** All characters that may end a line. */
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be kept out.
const CONTROL = /[\u0000-\u0008\u000e-\u001f\u007f\u0080-\u0084\u0086-\u009f\ufeff]/g;

/** Returns the trimmed lines of a text, without blank lines and control characters. */
export function cleanLines(text: string): string[] {
  return text
    .toWellFormed()
    .replaceAll(CONTROL, "")
    .split(LINE_END)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

export function oneLine(text: string): string {
  return cleanLines(text).join(" ").replaceAll(/\s+/g, " ");
}
