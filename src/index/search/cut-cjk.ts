const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々〆]/u;
const CJK_RUN = new RegExp(`${CJK.source}+`, "gu");

/** Compatibility forms unified, and ß written out, as the tokenizer would not: done to texts and to questions alike. */
export function unify(text: string): string {
  return text.normalize("NFKC").replaceAll("ß", "ss").replaceAll("ẞ", "SS");
}

/**
 * Text as the full-text index gets it: unified, and runs of CJK characters as overlapping pairs and the last character
 * alone, since the tokenizer would take a whole run as one word: `日本語` becomes ` 日本 本語 語 `.
 */
export function cutCjk(text: string): string {
  const unified = unify(text);
  if (!CJK.test(unified)) return unified;
  return unified.replaceAll(CJK_RUN, (run) => ` ${cjkTerms(run).join(" ")} `);
}

/** The indexed terms of one run of CJK characters. */
export function cjkTerms(run: string): string[] {
  const characters = [...run];
  return characters.map((character, at) => character + (characters[at + 1] ?? ""));
}

export function isCjk(text: string): boolean {
  return CJK.test(text);
}
