/** Codes of the numbers that stand for a format in a workbook without being written out there. */
const BUILT_IN: Readonly<Record<number, string>> = {
  0: "General",
  1: "0",
  2: "0.00",
  3: "#,##0",
  4: "#,##0.00",
  9: "0%",
  10: "0.00%",
  11: "0.00E+00",
  18: "h:mm",
  19: "h:mm:ss",
  20: "h:mm",
  21: "h:mm:ss",
  22: "yyyy-mm-dd h:mm",
  37: "#,##0",
  38: "#,##0",
  39: "#,##0.00",
  40: "#,##0.00",
  45: "mm:ss",
  46: "[h]:mm:ss",
  47: "mm:ss",
  48: "0.0E+0",
  49: "@",
};

const DAY_MS = 86_400_000;
/** 31 December 9999: beyond it a number is no date, whatever its format says. */
const LAST_DAY = 2_958_465;
const DAYS_BEFORE_1904 = 1462;

export function builtInFormat(id: number): string {
  const isDate = (id >= 14 && id <= 17) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58);
  return isDate ? "yyyy-mm-dd" : (BUILT_IN[id] ?? "General");
}

/**
 * A number as the sheet shows it, as far as that does not depend on the reader's language: decimals, thousands, percent,
 * currency signs and units. Dates and times are written the ISO way, which every reader and every search understands.
 */
export function formatNumber(value: number, code: string, since1904: boolean): string {
  if (code === "General" || code === "@" || code === "") return plain(value);
  const section = chooseSection(code, value);
  const bare = section.replaceAll(/"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, "");
  if (/[ydhs]/i.test(bare) || /^[^0#?]*m[^0#?]*$/i.test(bare)) return formatDate(value, bare, since1904);
  return formatDigits(value, section, bare);
}

/** `positive;negative;zero;text`; a section for negative numbers brings its own sign. */
function chooseSection(code: string, value: number): string {
  const sections = code.split(/;(?=(?:[^"]*"[^"]*")*[^"]*$)/);
  if (value < 0 && sections[1]) return /[-(]/.test(sections[1]) ? sections[1] : `-${sections[1]}`;
  if (value === 0 && sections[2]) return sections[2];
  return value < 0 ? `-${sections[0] ?? ""}` : (sections[0] ?? "");
}

function formatDigits(value: number, section: string, bare: string): string {
  const digits = /[0#?][0#?,.]*/.exec(bare)?.[0];
  if (digits === undefined) return literal(section) || plain(value);
  // Groups with signs between them, as in telephone numbers, say nothing a plain number does not.
  if (/[0#?][^0#?,.]+[0#?]/.test(bare.replace(/E[+-]/i, ""))) return plain(value);
  if (/E[+-]/i.test(bare)) return value.toExponential(decimalsIn(digits));
  const percent = (bare.match(/%/g) ?? []).length;
  const scaled = Math.abs(value) * 100 ** percent * 0.001 ** (/,+$/.exec(digits)?.[0].length ?? 0);
  const optional = (/\.[0?]*(#+)/.exec(digits)?.[1] ?? "").length;
  let text = scaled.toFixed(Math.min(20, decimalsIn(digits)));
  if (optional > 0) text = text.replace(new RegExp(`\\.?0{1,${optional}}$`), "");
  const whole = (/^[#?,]*([0?,]*)/.exec(digits)?.[1] ?? "").replaceAll(",", "").length;
  text = text.replace(/^\d+/, (number) => number.padStart(whole, "0"));
  if (/[0#?],[0#?]/.test(digits)) text = text.replace(/\d+/, (number) => number.replaceAll(/\B(?=(\d{3})+$)/g, ","));
  const [before = "", after = ""] = aroundDigits(section);
  return `${literal(before)}${text}${literal(after)}`.trim();
}

function decimalsIn(digits: string): number {
  return (/\.([0#?]*)/.exec(digits)?.[1] ?? "").length;
}

/** What stands before and behind the digits. Quoted text may hold digits of its own. */
function aroundDigits(section: string): [string, string] {
  const masked = section.replaceAll(/"[^"]*"|\\.|\[[^\]]*\]/g, (text) => "x".repeat(text.length));
  const digits = /[0#?][0#?,. ]*/.exec(masked);
  if (!digits) return [section, ""];
  return [section.slice(0, digits.index), section.slice(digits.index + digits[0].trimEnd().length)];
}

/** Text of a format without its marks: quotes, colours, and widths. `[$€-407]` is the sign of a currency. */
function literal(code: string): string {
  return code
    .replaceAll(/\[\$([^\]-]*)(?:-[^\]]*)?\]/g, "$1")
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/_./g, " ")
    .replaceAll(/\*./g, "")
    .replaceAll(/[\\"?#]/g, "");
}

function formatDate(value: number, bare: string, since1904: boolean): string {
  const days = since1904 ? value + DAYS_BEFORE_1904 : value;
  if (!(days >= 0) || days > LAST_DAY) return plain(value);
  if (/\[h+\]/i.test(bare)) return duration(value, bare);
  const hasTime = /[hs]/i.test(bare);
  const hasDate = /[yd]/i.test(bare) || (!hasTime && /m/i.test(bare));
  // The calendar of the format has a 29 February 1900, which the world had not.
  const moment = new Date(Math.round((days < 60 ? days + 1 : days) * DAY_MS) + Date.UTC(1899, 11, 30));
  const iso = new Date(Math.round(moment.getTime() / 1000) * 1000).toISOString();
  const time = /s/i.test(bare) ? iso.slice(11, 19) : iso.slice(11, 16);
  if (!hasDate) return time;
  const day = /d/i.test(bare) ? iso.slice(0, 10) : iso.slice(0, 7);
  return hasTime ? `${day} ${time}` : day;
}

function duration(value: number, bare: string): string {
  const seconds = Math.round(value * 86_400);
  const two = (number: number): string => String(number).padStart(2, "0");
  const minutes = `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}`;
  return /s/i.test(bare) ? `${minutes}:${two(seconds % 60)}` : minutes;
}

/** As many digits as a cell shows at most: 0.1 + 0.2 is 0.3 there. */
function plain(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(11)));
}
