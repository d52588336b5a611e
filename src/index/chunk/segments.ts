export type Grain = "sentences" | "lines" | "words" | "characters";

/** Each grain cuts what is still too long after the one before it. */
export const FINER: Readonly<Record<Grain, Grain | undefined>> = {
  sentences: "lines",
  lines: "words",
  words: "characters",
  characters: undefined,
};

const ENDS_SENTENCE = new Set([".", "!", "?", "…"]);
const ENDS_WIDE_SENTENCE = new Set(["。", "！", "？"]);
const CLOSES = new Set(['"', "'", ")", "]", "»", "”", "’", "」", "』"]);

/**
 * Consecutive parts that make up the whole text, each with the white space that follows it.
 * `run` is how many characters go together at the finest grain.
 */
export function* segments(text: string, grain: Grain, run = 1): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = Math.max(start + 1, skipSpace(text, cutAfter(text, start, grain, run)));
    yield text.slice(start, end);
    start = end;
  }
}

function cutAfter(text: string, start: number, grain: Grain, run: number): number {
  if (grain === "sentences") return sentenceEnd(text, start);
  if (grain === "lines") {
    const at = text.indexOf("\n", start);
    return at === -1 ? text.length : at;
  }
  if (grain === "words") return wordEnd(text, start);
  const end = Math.min(text.length, start + run);
  return splitsPair(text, end) ? end + 1 : end;
}

/** After `.`, `!`, `?` only when white space follows and no lower-case letter after that: "e.g. this" is one sentence. */
function sentenceEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
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
  return text.length;
}

function wordEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && !isSpace(text.charCodeAt(at))) at += 1;
  return at;
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
