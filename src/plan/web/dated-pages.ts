/** A URL that contains a date. */
export interface DatedAddress {
  /** The URL with `*` for all parts of the date: the same for all that differ only in it. */
  readonly family: string;
  /** The years, months, weeks and days in it. */
  readonly numbers: readonly number[];
  /** The date is a timestamp in seconds or milliseconds, which makes a URL different each time. */
  readonly isStamp: boolean;
}

const DAY_MS = 86_400_000;
const MONTH =
  /^(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)$|^(?:january|february|march|april|june|july|august|september|october|november|december)$/i;
const YEAR = /^(?:19|20|21)\d\d$/;
const COMPACT = /^((?:19|20|21)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])?$/;
const WEEK_OF_YEAR = /^((?:19|20|21)\d\d)?w(\d\d?)$/i;
const SMALL = /^\d\d?$/;
const MAX_SMALL = 53;
/** Seconds from 1990 to 2100, or milliseconds. */
const STAMP = /^(?:[6-9]\d{8}|[1-4]\d{9})(?:000|\d{3})?$/;
const LATEST_STAMP_SECONDS = 4_102_444_800;

/** undefined: it contains no year or time. If it does, small numbers are taken as months, weeks and days. */
export function readDatedAddress(url: string): DatedAddress | undefined {
  const end = url.indexOf("/", "https://".length);
  if (end < 0 || !/\d{4}/.test(url)) return undefined;
  const address = url
    .slice(end)
    .replace(/#.*$/, "")
    .replaceAll(/(\d)T\d\d(?::|%3A)?\d\d[^&/]*/gi, "$1");
  const words = address.match(/[a-z\d]+/gi) ?? [];
  const isStamp = words.some(isTime);
  if (!isStamp && !words.some((word) => YEAR.test(word) || COMPACT.test(word) || /^\d{4}w\d/i.test(word)))
    return undefined;
  const numbers: number[] = [];
  const family = address.replaceAll(/%[\da-f]{2}|[a-z\d]+/gi, (word) => {
    const parts = partsOf(word);
    if (!parts) return word;
    numbers.push(...parts);
    return "*";
  });
  return { family: url.slice(0, end) + family, numbers: [...numbers, ...weekOf(numbers)], isStamp };
}

/** undefined: not part of a date. */
function partsOf(word: string): readonly number[] | undefined {
  if (YEAR.test(word)) return [Number(word)];
  if (SMALL.test(word)) return Number(word) <= MAX_SMALL ? [Number(word)] : undefined;
  const compact = COMPACT.exec(word) ?? WEEK_OF_YEAR.exec(word);
  if (compact) return compact.slice(1).flatMap((part) => (part === undefined ? [] : [Number(part)]));
  if (MONTH.test(word)) return [];
  return isTime(word) ? dayOf(new Date(Number(word) * (word.length > 10 ? 1 : 1000))) : undefined;
}

function isTime(word: string): boolean {
  return STAMP.test(word) && Number(word.slice(0, 10)) < LATEST_STAMP_SECONDS;
}

function dayOf(date: Date): readonly number[] {
  return [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
}

/** A year and one number may be a week: returns its days. */
function weekOf(numbers: readonly number[]): readonly number[] {
  const [year = 0, week = 0] = numbers;
  if (numbers.length !== 2 || year < 1900 || week <= 12) return [];
  const fourth = new Date(Date.UTC(year, 0, 4));
  const monday = fourth.getTime() + ((week - 1) * 7 - ((fourth.getUTCDay() + 6) % 7)) * DAY_MS;
  return Array.from({ length: 7 }, (_, day) => dayOf(new Date(monday + day * DAY_MS))).flat();
}

/** Lower case, by language. */
const names = new Map<string, ReadonlySet<string>>();
const MAX_LANGUAGES = 100;
/** So many consecutive numbers are taken as days or weeks. */
const DAYS_IN_A_ROW = 3;
const SHORTEST_MONTH = 28;
const WEEK = 7;
const MAX_DAY = 31;
export const LINK_TARGETS = /\]\([^()\s]{0,4096}/g;
const WORDS = /[a-z]{3,}\d[a-z\d]*|[\p{L}\p{M}]+|\d+(?:[.,:/-]\d+)*|(?![\0-\x7f])\p{S}/gu;

interface Word {
  readonly text: string;
  /** undefined: not an integer. */
  readonly number: number | undefined;
  /** A number of the date or adjacent to one, or beside a month or weekday. */
  readonly isOfDate: boolean;
}

/**
 * Returns the text of a page without its date: without names of months and weekdays, the date's numbers and adjacent
 * ones, and the days of a month in a calendar with identical weeks. Pages that differ only in the date give the same
 * text.
 */
export function undatedText(markdown: string, language: string, dateNumbers: readonly number[]): string {
  const near = new Set(dateNumbers.flatMap(neighbours));
  const isName = (text: string): boolean => namesOf("en").has(text) || namesOf(language).has(text);
  const shown = markdown.replaceAll(LINK_TARGETS, "] ").toLowerCase();
  const all = [...shown.matchAll(WORDS)].map(([text]) => text);
  const words = all.map((text, at): Word => {
    const number = /^\d{1,4}$/.test(text) ? Number(text) : undefined;
    const beside = [all[at - 2], all[at - 1], all[at + 1], all[at + 2]];
    const isDay = number !== undefined && number <= MAX_DAY && beside.some((each) => each && isName(each));
    return { text, number, isOfDate: isDay || (number !== undefined && near.has(number)) };
  });
  const unnamed = words.filter(({ text }) => !isName(text) && !isDate(text, near));
  const kept = withoutDays(unnamed).filter(({ isOfDate }) => !isOfDate);
  return kept.map(({ text }) => text).join(" ");
}

function neighbours(number: number): readonly number[] {
  const around = [number - 1, number, number + 1];
  // The last and the first month, week or day are adjacent.
  if (number === 1) return [...around, 12, 28, 29, 30, 31, 52, 53];
  return number === 12 || (number >= SHORTEST_MONTH && number <= 53) ? [...around, 1] : around;
}

/** `17.11.2026`, or `16.11` where that is near. */
function isDate(text: string, near: ReadonlySet<number>): boolean {
  if (!/^(?:\d\d?|\d{4})(?:[./-](?:\d\d?|\d{4})){1,2}$/.test(text)) return false;
  const parts = text.split(/[./-]/).map(Number);
  const years = parts.filter((part) => part >= 1900 && part < 2200).length;
  return (
    parts.every((part) => near.has(part)) ||
    (years === 1 && parts.every((part) => part >= 1 && (part <= MAX_DAY || part >= 1900)))
  );
}

function namesOf(language: string): ReadonlySet<string> {
  const known = names.get(language);
  if (known) return known;
  const found = new Set<string>();
  if (names.size < MAX_LANGUAGES) names.set(language, found);
  for (const style of ["long", "short"] as const) {
    for (const options of [{ month: style }, { month: style, day: "numeric" }, { weekday: style }] as const) {
      for (const name of inAYear(language, options))
        for (const [word] of name.matchAll(/[\p{L}\p{M}]+/gu)) found.add(word);
    }
  }
  return found;
}

function inAYear(language: string, options: Intl.DateTimeFormatOptions): string[] {
  try {
    const format = new Intl.DateTimeFormat(language || "en", { ...options, timeZone: "UTC", calendar: "gregory" });
    const days = Array.from({ length: 12 }, (_, month) => new Date(Date.UTC(2026, month, month + 1)));
    const parts = days.flatMap((day) => format.formatToParts(day));
    return parts.filter(({ type }) => type === "month" || type === "weekday").map(({ value }) => value.toLowerCase());
  } catch {
    // No language.
    return [];
  }
}

/** Finds runs of consecutive numbers (days of a month, or weeks), with any text between; returns their positions. */
function rows(words: readonly Word[]): number[][] {
  const open: { readonly positions: number[]; last: number }[] = [];
  for (const [at, { number }] of words.entries()) {
    if (number === undefined || number < 1 || number > 53) continue;
    const continued = open.findLast(({ last }) => number === last + 1 || (number === 1 && last >= SHORTEST_MONTH));
    if (continued) {
      continued.positions.push(at);
      continued.last = number;
      open.push(...open.splice(open.indexOf(continued), 1));
    } else {
      open.push({ positions: [at], last: number });
      if (open.length > 60) open.shift();
    }
  }
  return open.map(({ positions }) => positions).filter((positions) => positions.length >= DAYS_IN_A_ROW);
}

/** Leaves out the days of a calendar if all weeks are alike: then they only show which month it is. */
function withoutDays(words: readonly Word[]): readonly Word[] {
  const counted = rows(words);
  if (counted.length === 0) return words;
  const numbers = new Set(counted.flat());
  const positions = counted.reduce((longest, row) => (row.length > longest.length ? row : longest));
  const cells = positions.slice(0, -1).map((start, day) => {
    const between = words.slice(start + 1, positions[day + 1]).filter((_, i) => !numbers.has(start + 1 + i));
    return between.map(({ text }) => text).join(" ");
  });
  const period = cells.length < 2 * WEEK ? 1 : WEEK;
  if (cells.some((cell, day) => day > 0 && day + period < cells.length && cell !== cells[day + period])) return words;
  const [first = 0, last = 0] = [positions[0], positions.at(-1)];
  const outside = (at: number): boolean => (at < first || at > last) && !numbers.has(at);
  const same = [...new Set(cells)].sort().map((text) => ({ text, number: undefined, isOfDate: false }));
  return [
    ...words.filter((_, at) => at < first && outside(at)),
    ...same,
    ...words.filter((_, at) => at > last && outside(at)),
  ];
}
