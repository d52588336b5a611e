/** An address in which a date is written. */
export interface DatedAddress {
  /** The address with `*` for all parts of the date: the same for all that differ in nothing else. */
  readonly family: string;
  /** Years, months, weeks and days that it names. */
  readonly numbers: readonly number[];
  /** The date is one of seconds or milliseconds, as those are that make an address another one each time. */
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

/** undefined: nothing in it reads as a year or a time. Where something does, small numbers are its months, weeks and days. */
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

/** undefined: it is no part of a date. */
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

/** A year and one number may be a week: the days it has. */
function weekOf(numbers: readonly number[]): readonly number[] {
  const [year = 0, week = 0] = numbers;
  if (numbers.length !== 2 || year < 1900 || week <= 12) return [];
  const fourth = new Date(Date.UTC(year, 0, 4));
  const monday = fourth.getTime() + ((week - 1) * 7 - ((fourth.getUTCDay() + 6) % 7)) * DAY_MS;
  return Array.from({ length: 7 }, (_, day) => dayOf(new Date(monday + day * DAY_MS))).flat();
}
