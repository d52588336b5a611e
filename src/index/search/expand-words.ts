import type { Sql } from "../../lib/sql/sql.ts";
import type { TextIndex } from "../storage/store.ts";
import { editDistance } from "./edit-distance.ts";

/** Words of the store that stand for words of the question. */
export interface Expansion {
  /** Other forms of rare words; for words that occur nowhere what was meant, or what they are part of, or made of. */
  readonly instead: readonly string[];
  /** For words that hardly occur: longer ones that contain them. They count less than the word itself. */
  readonly besides: readonly string[];
  /** How many words of the question occur nowhere as they are. */
  readonly absent: number;
}

/** A word with fewer passages than this is looked for in other forms, too. */
const RARE = 3;
const CANDIDATES = 60;
const MAX_EXPANDED = 8;
const MAX_CONTAINING = 20;
const MAX_ALIKE = 5;
/** Shorter ones are in too many words by chance. */
const MIN_PART = 4;
/** `Rechnungen`, `Rechnungs`: endings that the stemmer does not know. */
const MAX_ENDING = 3;

export async function expandWords(sql: Sql, texts: TextIndex, words: readonly string[]): Promise<Expansion> {
  const counts = await texts.countWords(sql, words);
  const rare = words.filter((word) => (counts.get(word) ?? 0) < RARE);
  const instead = new Set<string>();
  const besides = new Set<string>();
  for (const word of rare.slice(0, MAX_EXPANDED)) {
    const similar = await texts.similarWords(sql, word, CANDIDATES);
    const containing = similar.filter((other) => other.includes(word)).slice(0, MAX_CONTAINING);
    const forms = containing.filter((other) => other.startsWith(word) && other.length <= word.length + MAX_ENDING);
    // A form of the word is the word; what merely contains it steps back behind that.
    const isThere = counts.has(word) || forms.length > 0;
    for (const other of forms) instead.add(other);
    for (const other of containing) (isThere ? besides : instead).add(other);
    if (!isThere) for (const other of insteadOf(word, similar)) instead.add(other);
  }
  const absent = words.filter((word) => !counts.has(word)).length;
  return { instead: [...instead], besides: [...besides].filter((word) => !instead.has(word)), absent };
}

/** The most alike; where nothing is, the parts that a compound begins and ends with. */
function insteadOf(word: string, similar: readonly string[]): string[] {
  const max = word.length <= 5 ? 1 : 2;
  const distances = similar.map((other) => ({ other, distance: editDistance(word, other, max) }));
  const least = Math.min(...distances.map(({ distance }) => distance));
  if (least <= max) {
    const alike = distances.filter(({ distance }) => distance === least).map(({ other }) => other);
    return alike.slice(0, MAX_ALIKE);
  }
  const parts = similar.filter((other) => other.length >= MIN_PART && (word.startsWith(other) || word.endsWith(other)));
  return parts.slice(0, MAX_ALIKE);
}
