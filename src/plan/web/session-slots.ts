/** An address without something that may be a session. */
export interface WithoutSlots {
  readonly url: string;
  /** What was removed: `?sid`, `;jsessionid`, `(S)`. */
  readonly names: string;
  readonly values: string;
}

interface Slot {
  /** `?` for a parameter without a value. */
  readonly name: string;
  readonly value: string;
  /** Between which characters of the path it is; undefined: a parameter of the query. */
  readonly at?: readonly [from: number, to: number];
}

/** `/(S(x))/` and `/(X(1)S(x)F(y))/`, as ASP.NET writes them without cookies. Escaped in Markdown. */
const COOKIELESS = /\/(?:\(|%28)(?:[A-Z](?:\(|%28)[\w-]+(?:\)|%29))+(?:\)|%29)(?=\/|$)/g;
const PATH_PARAMETER = /;([\w.-]{1,40})=([^;/?#]*)/g;

/**
 * Returns the address without what may be a session in it: all of it, then each alone. Whether it is one, the content
 * decides: what looks like a session may be the number of an article.
 */
export function withoutSlots(url: string): readonly WithoutSlots[] {
  if (!/[?;]|\/(?:\(|%28)[A-Z]/.test(url)) return [];
  const parsed = URL.parse(url);
  if (!parsed) return [];
  const slots = [...slotsOfPath(parsed.pathname), ...slotsOfQuery(parsed.searchParams)];
  if (slots.length === 0) return [];
  const choices = slots.length === 1 ? [slots] : [slots, ...slots.map((slot) => [slot])];
  return choices.map((chosen) => ({
    url: without(parsed, chosen),
    names: chosen.map(({ name }) => name).join(" "),
    values: chosen.map(({ value }) => value).join(" "),
  }));
}

/** The text with everything removed that may be a session in an address. Only to compare texts. */
export function withoutSessions(text: string): string {
  const mask = (whole: string, _name: string, value: string): string =>
    looksLikeSession(value) ? (whole[0] ?? "") : whole;
  return text
    .replaceAll(/\\(?=[^\s\w])/g, "")
    .replaceAll(/\/(?:\(|%28)(?:[A-Z](?:\(|%28)[\w-]+(?:\)|%29))+(?:\)|%29)(?=\/)/g, "")
    .replaceAll(/;([\w.-]{1,40})=([\w.!~%:,+=$@/{}-]+)/g, mask)
    .replaceAll(/[?&](?:([\w.%-]{1,40})=)?([\w.!~%:,+=$@/{}-]+)/g, mask);
}

function slotsOfPath(path: string): Slot[] {
  const folders = [...path.matchAll(COOKIELESS)].map((found) => slotAt(found, "(S)", found[0]));
  const parameters = [...path.matchAll(PATH_PARAMETER)].flatMap((found) => {
    const [, name = "", value = ""] = found;
    return looksLikeSession(value) ? [slotAt(found, `;${name}`, value)] : [];
  });
  return [...folders, ...parameters];
}

function slotAt({ index, 0: whole }: RegExpExecArray, name: string, value: string): Slot {
  return { name, value, at: [index, index + whole.length] };
}

function slotsOfQuery(parameters: URLSearchParams): Slot[] {
  return [...parameters].flatMap(([name, value]) => {
    if (value === "") return looksLikeSession(name) ? [{ name: "?", value: name }] : [];
    return looksLikeSession(value) ? [{ name: `?${name}`, value }] : [];
  });
}

function without(url: URL, slots: readonly Slot[]): string {
  const shorter = new URL(url);
  const pieces = slots.flatMap(({ at }) => (at ? [at] : [])).sort(([a], [b]) => b - a);
  shorter.pathname = pieces.reduce((path, [from, to]) => path.slice(0, from) + path.slice(to), url.pathname);
  for (const { name, value, at } of slots) if (!at) shorter.searchParams.delete(name === "?" ? value : name.slice(1));
  return shorter.href;
}

const MIN_CHARACTERS = 6;
/** Fewer digits alone are the number of something. */
const MIN_DIGITS = 8;
/** Longer than words are. */
const LONGER_THAN_WORDS = 20;
const DATE = /^(?:19|20)\d\d-?[01]\d-?[0-3]\d/;

/** A value that looks generated: with digits or longer than words are, and no date. */
function looksLikeSession(value: string): boolean {
  if (value.length < MIN_CHARACTERS || !/^[\w.!~%:,+=$@/{} -]+$/.test(value) || DATE.test(value)) return false;
  if (/^\d+$/.test(value)) return value.length >= MIN_DIGITS;
  return /\d/.test(value) || (value.length >= LONGER_THAN_WORDS && /^[A-Za-z:,+=$@/{}]+$/.test(value));
}
