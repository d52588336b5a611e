import { fastHash, mixBits } from "../../lib/hash.ts";

const SHINGLE_WORDS = 5;
/** A text with more distinct words than this is no match for one of fewer than five. */
const MAX_WORDS = 16;
const MAX_SHINGLES = 32_768;

/** A text as sets of hashes, in bounded memory however long it is. */
export interface TextSketch {
  readonly wordCount: number;
  /** Distinct words; no more than MAX_WORDS + 1 of them. */
  readonly words: ReadonlySet<number>;
  /** Distinct runs of five words; of a long text a sample, the same for every text: see `level`. */
  readonly shingles: ReadonlySet<number>;
  /** Only shingles whose hash ends in so many zero bits are in the sample. */
  readonly level: number;
}

/** Words; where they are written without blanks between them, characters. */
const UNSPACED = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
const WORD = new RegExp(String.raw`[${UNSPACED}]\p{M}*|[[\p{L}\p{N}\p{M}_]--[${UNSPACED}]]+`, "gv");

/** For comparing one text with several. Letter case, normal form, punctuation and white space do not count. */
export function sketchText(text: string): TextSketch {
  const words = new Set<number>();
  let shingles = new Set<number>();
  let level = 0;
  let wordCount = 0;
  const last: number[] = [];
  for (const [word] of text.normalize("NFC").toLowerCase().matchAll(WORD)) {
    const hash = mixBits(fastHash(word));
    wordCount += 1;
    if (words.size <= MAX_WORDS) words.add(hash);
    last.push(hash);
    if (last.length < SHINGLE_WORDS) continue;
    const shingle = last.reduce((sum, each) => mixBits(Math.imul(sum, 31) + each));
    last.shift();
    if (isSampled(shingle, level)) shingles.add(shingle);
    while (shingles.size > MAX_SHINGLES) shingles = sample(shingles, ++level);
  }
  return { wordCount, words, shingles, level };
}

/** Jaccard similarity of their five-word shingles, 0 to 1; 0 when one of them has no word at all. */
export function similarityOf(a: TextSketch, b: TextSketch): number {
  if (a.wordCount === 0 || b.wordCount === 0) return 0;
  if (a.wordCount >= SHINGLE_WORDS && b.wordCount >= SHINGLE_WORDS) {
    const level = Math.max(a.level, b.level);
    return jaccard(sample(a.shingles, level), sample(b.shingles, level));
  }
  const isLong = (sketch: TextSketch): boolean => sketch.words.size > MAX_WORDS;
  return isLong(a) || isLong(b) ? 0 : jaccard(a.words, b.words);
}

function jaccard(a: ReadonlySet<number>, b: ReadonlySet<number>): number {
  let both = 0;
  for (const each of a) if (b.has(each)) both += 1;
  const either = a.size + b.size - both;
  return either === 0 ? 0 : both / either;
}

function sample(shingles: ReadonlySet<number>, level: number): Set<number> {
  return new Set([...shingles].filter((shingle) => isSampled(shingle, level)));
}

function isSampled(hash: number, level: number): boolean {
  return (hash & ((1 << level) - 1)) === 0;
}
