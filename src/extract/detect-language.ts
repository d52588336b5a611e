import { FUNCTION_WORDS } from "./function-words.ts";

/** From the beginning, where titles and prose are; more would not change the answer. */
const SAMPLE_LENGTH = 6000;
const SCANNED_LENGTH = 4 * SAMPLE_LENGTH;
const MIN_LETTERS = 40;
const MIN_WORDS = 10;
/** Share of all words; prose has four to six times as many, lists of names and numbers have fewer. */
const MIN_SHARE = 0.06;
/** How far the best must be ahead of the next; two languages in one text come closer. */
const MIN_LEAD = 1.4;
/** Languages that share many of their words; hardly anybody mixes them. */
const RELATIVES = ["no da sv", "cs sk", "es pt ca", "ru uk bg sr"];
const MIN_LEAD_OF_RELATIVE = 1.05;

/** Scripts that one language in practice has to itself. */
const SCRIPTS: readonly [language: string, letters: RegExp][] = [
  ["ko", /\p{Script=Hangul}/gu],
  ["el", /\p{Script=Greek}/gu],
  ["he", /\p{Script=Hebrew}/gu],
  ["th", /\p{Script=Thai}/gu],
  ["hi", /\p{Script=Devanagari}/gu],
  ["bn", /\p{Script=Bengali}/gu],
  ["ta", /\p{Script=Tamil}/gu],
  ["ka", /\p{Script=Georgian}/gu],
  ["hy", /\p{Script=Armenian}/gu],
];

/** Nothing in it counts for a script below. */
const IS_LATIN = /^[\p{ASCII}\u0080-\u024f\u1e00-\u1eff\u2000-\u206f]*$/u;

/** ISO 639-1, "" when the text is too short, is no prose, or is written in several languages. */
export function detectLanguage(markdown: string): string {
  const text = proseIn(markdown.slice(0, SCANNED_LENGTH)).slice(0, SAMPLE_LENGTH);
  // Most texts; counting takes as long as all the rest.
  if (IS_LATIN.test(text)) return hasEnoughLetters(text) ? byWords(text) : "";
  const letters = count(text, /\p{L}/gu);
  const kana = count(text, /[\p{Script=Hiragana}\p{Script=Katakana}]/gu);
  const han = count(text, /\p{Script=Han}/gu);
  // A Chinese character says as much as a word.
  if ((kana + han) * 2 >= letters && kana + han >= MIN_LETTERS / 4) return kana * 10 > han ? "ja" : "zh";
  if (letters < MIN_LETTERS) return "";
  const script = SCRIPTS.find(([, pattern]) => count(text, pattern) * 10 > letters * 6)?.[0];
  if (script) return script;
  const arabic = count(text, /\p{Script=Arabic}/gu);
  if (arabic * 10 > letters * 6) return /[پچژگ]/.test(text) ? "fa" : "ar";
  return byWords(text);
}

function hasEnoughLetters(text: string): boolean {
  const letter = /\p{L}/gu;
  for (let found = 0; found < MIN_LETTERS; found++) if (!letter.test(text)) return false;
  return true;
}

function byWords(text: string): string {
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  if (words.length < MIN_WORDS) return "";
  const [best, next] = scoreLanguages(words);
  if (!best || best[1] < words.length * MIN_SHARE || best[1] < 2) return "";
  const [language, score] = best;
  const isRelative = RELATIVES.some((family) => family.includes(language) && next && family.includes(next[0]));
  return score >= (next?.[1] ?? 0) * (isRelative ? MIN_LEAD_OF_RELATIVE : MIN_LEAD) ? language : "";
}

/** Without code, addresses and marks: their words are of no language. */
function proseIn(markdown: string): string {
  return withoutCode(markdown)
    .replaceAll(/<!--[^>]{0,200}-->/g, " ")
    .replaceAll(/\]\([^)\s]{0,2000}\)/g, "]")
    .replaceAll(/https?:\/\/\S+/g, " ");
}

/** Without the lines of fenced code. */
export function withoutCode(markdown: string): string {
  let fence = "";
  const lines = markdown.split("\n").filter((line) => {
    const marks = /^[ \t]{0,12}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (fence === "" && marks === "") return true;
    if (fence === "") fence = marks;
    else if (marks.startsWith(fence)) fence = "";
    return false;
  });
  return lines.join("\n");
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

/** Languages by word. */
const LANGUAGES_OF = new Map<string, readonly string[]>();

for (const [language, words] of Object.entries(FUNCTION_WORDS)) {
  for (const word of new Set(words.split(" "))) LANGUAGES_OF.set(word, [...(LANGUAGES_OF.get(word) ?? []), language]);
}

/** Points by language, the best first: a word counts in full for the only language that has it, less for each of several. */
function scoreLanguages(words: readonly string[]): [language: string, score: number][] {
  const scores = new Map<string, number>();
  for (const word of words) {
    const languages = LANGUAGES_OF.get(word) ?? [];
    for (const language of languages) scores.set(language, (scores.get(language) ?? 0) + 1 / languages.length);
  }
  return [...scores].toSorted((a, b) => b[1] - a[1]);
}
