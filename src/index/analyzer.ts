import { createRequire } from "node:module";
import { stemmer } from "stemmer";

/** Changes whenever some text gives other words; text tables of another revision are rebuilt. */
export const ANALYZER_REVISION = "words-2";

/** A word with its offsets. The parts of an identifier all have the offsets of the whole. */
export interface Token {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the words of a text for the full-text tables: folded, stemmed, in reading order, made of letters, digits and underscores.
 * Questions use the same function, so both agree.
 */
export function analyze(text: string): string[] {
  const words: string[] = [];
  scanRuns(text, (start, end, unspaced) => {
    const run = text.slice(start, end);
    for (const word of unspaced ? unspacedWords(run) : wordsOfRun(run)) words.push(word);
  });
  return words;
}

/** Returns the same words with their offsets, for highlighting. */
export function tokenize(text: string): Token[] {
  const words: Token[] = [];
  scanRuns(text, (start, end, unspaced) => {
    const run = text.slice(start, end);
    if (!unspaced) {
      for (const word of wordsOfRun(run)) words.push({ word, start, end });
      return;
    }
    const characters = charactersOf(run, start);
    for (const [at, first] of characters.entries()) {
      const second = characters[at + 1];
      words.push({ word: first.text + (second?.text ?? ""), start: first.start, end: (second ?? first).end });
    }
  });
  return words;
}

/**
 * Cache of analysed runs: nearly every run of a text was seen before. Two maps, of which the older is dropped when the newer is
 * full, so that frequent words stay cached.
 */
let known = new Map<string, readonly string[]>();
let knownBefore = new Map<string, readonly string[]>();
const MAX_KNOWN = 60_000;
const MAX_CACHED_LENGTH = 40;
/** Longer words are not searched for, and databases have limits. */
const MAX_WORD = 64;

const PLAIN_WORD = /^[a-z]+$/;
const BREAKS = /[^\p{L}\p{N}\p{M}\p{Co}\u00ad\u200b-\u200d\u2060\ufeff]+/u;
const THOUSANDS = /^\d{1,3}(?:[.,'’]\d{3})+$/u;
const INITIALS = /^\p{L}(?:\.\p{L})+$/u;
const POSSESSIVE = /['’]s$/iu;
/** `camelCase`, `XMLHttp`; but not between the letters of `PDFs`. */
const HUMPS = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u;
const HAS_HUMPS = /\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll}{2}|\p{L}\p{N}|\p{N}\p{L}/u;

/**
 * The words of one run of letters, digits and connectors. An identifier is one word as a whole, with underscores for its
 * connectors, followed by its parts: `AB-1234/5` gives `ab_1234_5 ab 1234 5`.
 */
function wordsOfRun(run: string): readonly string[] {
  const words = known.get(run);
  return words ?? remember(run, knownBefore.get(run) ?? (PLAIN_WORD.test(run) ? [cut(stem(run))] : wordsOfParts(run)));
}

function remember(run: string, words: readonly string[]): readonly string[] {
  if (run.length > MAX_CACHED_LENGTH) return words;
  if (known.size >= MAX_KNOWN) [knownBefore, known] = [known, new Map()];
  known.set(run, words);
  return words;
}

function wordsOfParts(run: string): string[] {
  const parts = run.replace(POSSESSIVE, "").split(BREAKS).filter(Boolean);
  const words: string[] = [];
  if (parts.length > 1) {
    const whole = wholeOf(run, parts);
    if (whole) words.push(cut(whole));
  }
  for (const part of parts) addPart(part, words);
  return words;
}

function wholeOf(run: string, parts: readonly string[]): string | undefined {
  if (THOUSANDS.test(run)) return parts.join("");
  if (INITIALS.test(run)) return stem(fold(parts.join("")));
  return /[_\p{N}]/u.test(run) ? parts.map(fold).join("_") : undefined;
}

function addPart(part: string, words: string[]): void {
  const folded = fold(part);
  if (folded === "") return;
  words.push(cut(stem(folded)));
  if (!HAS_HUMPS.test(part)) return;
  const humps = part.split(HUMPS).filter((hump) => hump.length > 1);
  if (humps.length > 1) for (const hump of humps) words.push(cut(stem(fold(hump))));
}

function cut(word: string): string {
  return word.length > MAX_WORD ? [...word].slice(0, MAX_WORD).join("") : word;
}

interface Snowball {
  newStemmer(language: string): { stem(word: string): string };
}

const LATIN = /^[a-z]{3,}$/;
const CYRILLIC = /^[\u0400-\u04ff]{4,}$/;
// The package has no typings.
const snowball: Snowball = createRequire(import.meta.url)("snowball-stemmers");
const russian = snowball.newStemmer("russian");

/**
 * A folded word without its ending. Which stemmer is decided by the script alone, because a question is too short to tell
 * its language, and the words of texts and questions must come out the same: Porter for Latin letters, whose rules
 * hardly touch words of other languages except for a plural s, and Snowball's Russian for Cyrillic ones.
 */
function stem(word: string): string {
  if (LATIN.test(word)) return stemmer(word);
  return CYRILLIC.test(word) ? russian.stem(word) : word;
}

/** The searchable metadata of a document. */
interface LabelText {
  readonly name: string;
  readonly path: string;
  /** The title in its text; "" if it has none. */
  readonly title: string;
}

/** Raise ANALYZER_REVISION when the words of some label come out differently. */
export function labelWords({ name, path, title }: LabelText): { [Field in keyof LabelText]: string[] } {
  return { name: analyze(apart(name)), path: analyze(apart(path)), title: analyze(title) };
}

/** `INV-2026-0123.txt` is looked for as `INV-2026-0123`: neither folders nor the extension belong to the identifier. */
function apart(path: string): string {
  return path.replaceAll(/[\\/]+/g, " ").replace(/\.([\p{L}\p{N}]{1,8})$/u, " $1");
}

/** Letters that Unicode does not take apart into a plain letter and a mark. */
const PLAIN: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  ł: "l",
  ı: "i",
  þ: "th",
  ς: "σ",
};
const SPECIAL = /[ßæœøđðłıþς]/g;
/**
 * Accents of Latin and Greek, points of Hebrew and Arabic, and invisible characters. Not the vowel signs of Indian
 * scripts, without which words become others, nor the breve of й, without which Russian endings are not recognised.
 */
const MARKS =
  /[\u0300-\u0305\u0307-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0655\u0670\u00ad\u200b-\u200d\u2060\ufeff]|(?<!и)\u0306/g;
/** What some letters and numbers consist of besides letters and digits: `½` is written 1⁄2. */
const INNER_SIGNS = /[^\p{L}\p{N}\p{M}\p{Co}_]+/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is plain ASCII, the common case that needs no folding.
const ASCII = /^[\x00-\x7f]*$/;

/** The form in which words are compared: lower-case, compatibility forms unified, accents taken off, ß written out. For words, not texts. */
export function fold(text: string): string {
  const lower = text.toLowerCase();
  if (ASCII.test(lower)) return lower;
  return lower
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(MARKS, "")
    .replaceAll(SPECIAL, (letter) => PLAIN[letter] ?? letter)
    .replaceAll(INNER_SIGNS, "_")
    .normalize("NFC");
}

/** A stretch of text that becomes words: `end` is exclusive. `unspaced`: of a script that is written without blanks. */
type TakeRun = (start: number, end: number, unspaced: boolean) => void;

const UNKNOWN = 0;
const GAP = 1;
const WORD = 2;
const UNSPACED = 3;
/** Accents, vowel signs and invisible characters: part of whatever run they stand in. */
const ATTACHED = 4;

/** Inside a character class of a regular expression: the scripts that are written without blanks. */
export const UNSPACED_SCRIPTS = `${["Han", "Hiragana", "Katakana", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{Script=${script}}`)
  .join("")}ー々〆ﾞﾟ`;
const IS_UNSPACED = new RegExp(`[${UNSPACED_SCRIPTS}]`, "u");
const IS_ATTACHED = /[\p{M}\u00ad\u200b-\u200d\u2060\ufeff]/u;
const IS_WORD = /[\p{L}\p{N}\p{Co}_]/u;

/** `a-b-c-…` without an end must not become one word. */
const MAX_CONNECTED = 12;

/** By UTF-16 code unit, filled as characters are met: asking a regular expression each time is what would take the time. */
const KINDS = new Uint8Array(0x10000);

/**
 * Runs of letters and digits, in order. Parts of identifiers stay together (`AB-1234/5`, `it's`, `3.14`): only a
 * connector between two word characters joins, so a full stop ends the run before it.
 */
export function scanRuns(text: string, take: TakeRun): void {
  let at = 0;
  while (at < text.length) {
    const kind = kindAt(text, at);
    if (kind === GAP || kind === ATTACHED) {
      at += widthAt(text, at);
      continue;
    }
    const end = kind === UNSPACED ? endOfUnspaced(text, at) : endOfWord(text, at);
    take(at, end, kind === UNSPACED);
    at = end;
  }
}

function endOfUnspaced(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    const kind = kindAt(text, at);
    if (kind !== UNSPACED && kind !== ATTACHED) break;
    at += widthAt(text, at);
  }
  return at;
}

function endOfWord(text: string, start: number): number {
  let at = start;
  let connected = 0;
  while (at < text.length) {
    const kind = kindAt(text, at);
    if (kind === WORD || kind === ATTACHED) at += widthAt(text, at);
    else if (kind === GAP && connected < MAX_CONNECTED && connects(text, at)) {
      connected++;
      at++;
    } else break;
  }
  return at;
}

function connects(text: string, at: number): boolean {
  if (at + 1 >= text.length || kindAt(text, at + 1) !== WORD) return false;
  switch (text.charCodeAt(at)) {
    case 0x2d: // -
    case 0x2e: // .
    case 0x2f: // /
    case 0x27: // '
    case 0x2019: // ’
    case 0x2011: // non-breaking hyphen
      return true;
    case 0x2c: // ,
    case 0x3a: // :
      return isDigit(text.charCodeAt(at - 1)) && isDigit(text.charCodeAt(at + 1));
    default:
      return false;
  }
}

function kindAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  const known = KINDS[unit] as number;
  if (known !== UNKNOWN) return known;
  const isHalf = unit >= 0xd800 && unit <= 0xdfff;
  const kind = kindOf(isHalf ? String.fromCodePoint(text.codePointAt(at) as number) : String.fromCharCode(unit));
  if (!isHalf) KINDS[unit] = kind;
  return kind;
}

function kindOf(character: string): number {
  if (IS_ATTACHED.test(character)) return ATTACHED;
  if (!IS_WORD.test(character)) return GAP;
  return IS_UNSPACED.test(character) ? UNSPACED : WORD;
}

function widthAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdbff && (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** One character with the marks on it. */
interface Character {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const CHARACTERS = /.[\p{M}ﾞﾟ\u200b-\u200d\u2060\ufeff]*/gsu;
/** Characters that are one code unit each and fold to themselves, unless normalisation changes them: nearly all text. */
const SIMPLE = /^[\u3005\u3006\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3]*$/;

function charactersOf(run: string, offset: number): Character[] {
  const characters: Character[] = [];
  for (const match of run.matchAll(CHARACTERS)) {
    const text = fold(match[0]);
    const start = offset + match.index;
    if (text !== "") characters.push({ text, start, end: start + match[0].length });
  }
  return characters;
}

/**
 * Words of a script without blanks: overlapping pairs of characters, and the last one alone. `日本語` gives `日本 本語 語`.
 * Where words end is anybody's guess; pairs agree between text and question without guessing.
 */
export function unspacedWords(run: string): string[] {
  const words: string[] = [];
  if (SIMPLE.test(run)) {
    for (let at = 0; at < run.length; at++) words.push(run.slice(at, at + 2));
    return words;
  }
  const characters = charactersOf(run, 0);
  return characters.map((character, at) => character.text + (characters[at + 1]?.text ?? ""));
}
