import type { Embedder } from "../../contracts/embedder.ts";
import { fastHash, mixBits } from "../../lib/hash.ts";
import { fold, scanRuns, unspacedWords } from "../analyzer.ts";
import { STOP_WORDS } from "../search/stop-words.ts";
import { normalise } from "./vectors.ts";

const DIMENSIONS = 256;
const STOP_WORD_WEIGHT = 0.1;
/** Words recur, so the vector of a word is computed once; beyond this many the cache is cleared. */
const MAX_KNOWN_WORDS = 50_000;

/** What one word adds to a text's vector: a sparse vector of length 1. */
interface WordVector {
  readonly at: Uint8Array;
  readonly weight: Float32Array;
}

/**
 * Words and their character n-grams hashed into a fixed number of dimensions. Texts that share word parts come out close,
 * which forgives typos, inflection and compounds; it knows nothing about meaning.
 */
export function createNgramEmbedder(): Embedder {
  const known = new Map<string, WordVector>();
  const vectorOf = (word: string): WordVector => {
    let vector = known.get(word);
    if (!vector) {
      if (known.size >= MAX_KNOWN_WORDS) known.clear();
      vector = hashWord(word);
      known.set(word, vector);
    }
    return vector;
  };
  return {
    model: "lockstep-ngram",
    revision: "2",
    dimensions: DIMENSIONS,
    embed: async (texts) => texts.map((text) => embedText(text, vectorOf)),
  };
}

function embedText(text: string, vectorOf: (word: string) => WordVector): Float32Array {
  const counts = new Map<string, number>();
  for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const sum = new Float32Array(DIMENSIONS);
  for (const [word, count] of counts) {
    const weight = (1 + Math.log(count)) * (STOP_WORDS.has(word) ? STOP_WORD_WEIGHT : 1);
    const { at, weight: parts } = vectorOf(word);
    for (let i = 0; i < at.length; i++) {
      const slot = at[i] as number;
      sum[slot] = (sum[slot] as number) + weight * (parts[i] as number);
    }
  }
  return normalise(sum);
}

/** Not stemmed: the endings are n-grams like any other. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  scanRuns(text, (start, end, unspaced) => {
    const run = text.slice(start, end);
    words.push(...(unspaced ? unspacedWords(run) : (fold(run).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [])));
  });
  return words;
}

/** The whole word counts as much as all its n-grams together, so an exact match stays ahead of a similar word. */
function hashWord(word: string): WordVector {
  const dense = new Float32Array(DIMENSIONS);
  const padded = `^${word}$`;
  const grams: number[] = [];
  for (let length = 3; length <= 5; length++) {
    for (let at = 0; at + length <= padded.length; at++) grams.push(hash(padded, at, at + length));
  }
  for (const gram of grams) addFeature(dense, gram, 1 / Math.sqrt(grams.length));
  addFeature(dense, hash(word, 0, word.length) ^ 0x5bd1e995, 1);
  normalise(dense);
  const at: number[] = [];
  dense.forEach((value, slot) => {
    if (value !== 0) at.push(slot);
  });
  return { at: Uint8Array.from(at), weight: Float32Array.from(at, (slot) => dense[slot] ?? 0) };
}

/** One bit of the hash gives the sign: features that meet in a slot cancel out on average instead of adding up. */
function addFeature(dense: Float32Array, feature: number, weight: number): void {
  const mixed = mixBits(feature);
  const slot = mixed & (DIMENSIONS - 1);
  dense[slot] = (dense[slot] ?? 0) + (mixed & 0x10000 ? weight : -weight);
}

/** Grams of different lengths begin differently. */
function hash(text: string, from: number, to: number): number {
  return fastHash(text, { from, to, start: 0x811c9dc5 ^ (to - from) });
}
