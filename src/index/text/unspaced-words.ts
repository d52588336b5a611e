import { fold } from "./fold.ts";

/** One character with the marks on it. */
export interface Character {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const CHARACTERS = /.[\p{M}ﾞﾟ\u200b-\u200d\u2060\ufeff]*/gsu;
/** Characters that are one code unit each and fold to themselves, unless normalisation changes them: nearly all text. */
const SIMPLE = /^[\u3005\u3006\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3]*$/;

export function charactersOf(run: string, offset: number): Character[] {
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
