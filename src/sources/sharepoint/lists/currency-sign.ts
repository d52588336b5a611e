/** Currencies by the locale a SharePoint column is set to. */
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

/** By locale id. Made when first needed: asking Intl for them all takes as long as loading half the product. */
function signs(): ReadonlyMap<string, string> {
  known ??= new Map(
    Object.entries(CURRENCIES).flatMap(([currency, locales]) => locales.split(" ").map((id) => [id, signOf(currency)])),
  );
  return known;
}

/** Signs that mean one currency only: `$` is the US dollar, others are `CA$` or `A$`. */
function signOf(currency: string): string {
  const parts = new Intl.NumberFormat("en-US", { style: "currency", currency }).formatToParts(1);
  return parts.find((part) => part.type === "currency")?.value ?? currency;
}

/** The title of a currency column in the export: `Budget [€]`. Of an unknown locale nothing is said rather than a guess. */
export function currencyTitle(title: string, localeId: number): string {
  const sign = signs().get(String(localeId));
  return sign === undefined ? title : `${title} [${sign}]`;
}

/** The other way round. A column that its owner called `Price [$]` is told the same way, and rightly so. */
export function splitCurrencyTitle(title: string): { readonly label: string; readonly sign: string } {
  const match = /^(.*\S) \[([^[\]]{1,5})\]$/s.exec(title);
  const [, label = "", sign = ""] = match ?? [];
  return sign !== "" && [...signs().values()].includes(sign) ? { label, sign } : { label: title, sign: "" };
}
