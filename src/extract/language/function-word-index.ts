import { FUNCTION_WORDS } from "./function-words.ts";

/** Languages by word. */
const LANGUAGES_OF = new Map<string, readonly string[]>();

for (const [language, words] of Object.entries(FUNCTION_WORDS)) {
  for (const word of new Set(words.split(" "))) LANGUAGES_OF.set(word, [...(LANGUAGES_OF.get(word) ?? []), language]);
}

/** Points by language, the best first: a word counts in full for the only language that has it, less for each of several. */
export function scoreLanguages(words: readonly string[]): [language: string, score: number][] {
  const scores = new Map<string, number>();
  for (const word of words) {
    const languages = LANGUAGES_OF.get(word) ?? [];
    for (const language of languages) scores.set(language, (scores.get(language) ?? 0) + 1 / languages.length);
  }
  return [...scores].toSorted((a, b) => b[1] - a[1]);
}
