import type { Pause } from "./markdown-lines.ts";

export type Grain = "sentences" | "lines" | "words" | "characters";

/** Each grain cuts what is still too long after the one before it. */
export const FINER: Readonly<Record<Grain, Grain | undefined>> = {
  sentences: "lines",
  lines: "words",
  words: "characters",
  characters: undefined,
};

/** In Latin, Arabic, Urdu, Hindi, Armenian, Burmese, Ethiopic and Khmer text. */
const ENDS_SENTENCE = new Set([".", "!", "?", "…", "؟", "۔", "।", "॥", "։", "။", "።", "។"]);
const ENDS_WIDE_SENTENCE = new Set(["。", "！", "？", "｡"]);
const CLOSES = new Set(['"', "'", ")", "]", "»", "”", "’", "」", "』", "）", "〉", "》", "*", "_"]);
const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });
/** On either side of a cut; characters made of more than this are rare. */
const GRAPHEME_WINDOW = 32;
/** Characters that are looked at between two pauses. */
const WINDOW = 16_384;

/**
 * Consecutive parts that make up the whole text, each with the white space that follows it.
 * `run` is how many characters go together at the finest grain.
 */
export function* segments(text: string, grain: Grain, run = 1): Generator<string> {
  for (const segment of segmentSteps(text, grain, run)) if (segment !== undefined) yield segment;
}

/** The same with pauses. */
export function* segmentSteps(text: string, grain: Grain, run: number): Generator<string | Pause> {
  for (let start = 0; start < text.length; ) {
    let stop = start + WINDOW;
    let cut = cutAfter(text, start, stop, grain, run);
    for (; cut === undefined; stop += WINDOW) {
      yield;
      cut = cutAfter(text, stop, stop + WINDOW, grain, run);
    }
    const end = Math.max(start + 1, skipSpace(text, cut));
    yield text.slice(start, end);
    start = end;
  }
}

/** undefined: not before `stop`. */
function cutAfter(text: string, start: number, stop: number, grain: Grain, run: number): number | undefined {
  if (grain === "sentences") return sentenceEnd(text, start, stop);
  if (grain === "lines") {
    const at = text.indexOf("\n", start);
    return at === -1 ? text.length : at;
  }
  if (grain === "words") return wordEnd(text, start, stop);
  return characterEnd(text, start, run);
}

/** At most `run` characters, so that none is cut apart that people see as one, unless it alone is longer. */
function characterEnd(text: string, start: number, run: number): number {
  const end = start + run;
  if (end >= text.length) return text.length;
  if (text.charCodeAt(end - 1) < 0x80 && text.charCodeAt(end) < 0x80) return end;
  const from = Math.max(start, end - GRAPHEME_WINDOW);
  const found = graphemes.segment(text.slice(from, end + GRAPHEME_WINDOW)).containing(end - from);
  const first = from + (found?.index ?? end - from);
  if (first > start) return first;
  return splitsPair(text, end) ? end + 1 : end;
}

/** After `.`, `!`, `?` only when white space follows and no lower-case letter after that: "e.g. this" is one sentence. */
function sentenceEnd(text: string, start: number, stop: number): number | undefined {
  const last = Math.min(stop, text.length);
  for (let at = start; at < last; at += 1) {
    const character = text[at] ?? "";
    const wide = ENDS_WIDE_SENTENCE.has(character);
    if (!wide && !ENDS_SENTENCE.has(character)) continue;
    let end = at + 1;
    while (CLOSES.has(text[end] ?? "")) end += 1;
    if (wide) return end;
    const next = skipSpace(text, end);
    if (next > end && !/^\p{Ll}/u.test(text.slice(next, next + 2))) return end;
    at = end - 1;
  }
  return stop < text.length ? undefined : text.length;
}

function wordEnd(text: string, start: number, stop: number): number | undefined {
  const last = Math.min(stop, text.length);
  for (let at = start; at < last; at += 1) if (isSpace(text.charCodeAt(at))) return at;
  return stop < text.length ? undefined : text.length;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0 || code === 0x3000 || code === 0x2028;
}

function splitsPair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  return at < text.length && before >= 0xd800 && before <= 0xdbff;
}
