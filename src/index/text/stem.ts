import { createRequire } from "node:module";
import { stemmer } from "stemmer";

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
export function stem(word: string): string {
  if (LATIN.test(word)) return stemmer(word);
  return CYRILLIC.test(word) ? russian.stem(word) : word;
}
