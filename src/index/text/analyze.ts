import { createRequire } from "node:module";
import { stemmer } from "stemmer";
import { fold } from "./fold.ts";
import { scanRuns } from "./scan-runs.ts";
import { charactersOf, unspacedWords } from "./unspaced-words.ts";

/** Changes whenever some text would give other words; text tables that were filled by another one are filled again. */
export const ANALYZER_REVISION = "words-2";

/** A word and where the text has it. The parts of an identifier all have the place of the whole. */
export interface PlacedWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/**
 * The words of a text as the full-text tables have them: folded, stemmed, in reading order, made of letters, digits and
 * underscores only. Questions go through the same function, so whatever it does, both agree.
 */
export function analyze(text: string): string[] {
  const words: string[] = [];
  scanRuns(text, (start, end, unspaced) => {
    const run = text.slice(start, end);
    for (const word of unspaced ? unspacedWords(run) : wordsOfRun(run)) words.push(word);
  });
  return words;
}

/** The same words with their places, for marking them. */
export function placeWords(text: string): PlacedWord[] {
  const words: PlacedWord[] = [];
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
 * Text repeats itself: nearly every run has been met before. Two maps, of which the older one is forgotten when the newer
 * one is full, so that the words of every second sentence are never forgotten.
 */
let known = new Map<string, readonly string[]>();
let knownBefore = new Map<string, readonly string[]>();
const MAX_KNOWN = 60_000;
const MAX_CACHED_LENGTH = 40;
/** Longer ones are no words that anybody would look for, and databases have limits of their own. */
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
