/** Made-up text in which, as in any language, the second word is half as frequent as the first, the third a third … */
export interface ZipfText {
  /** Words, most frequent first. */
  readonly vocabulary: readonly string[];
  words(count: number): string[];
  /** 0 to 1, the same ones in every run. */
  random(): number;
}

const SYLLABLES = "ka lo mi ter nus gra vel pon shi dar qui fen bol zar tu mek ori las wen dop".split(" ");

export function zipfText(size: number, seed: number): ZipfText {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const vocabulary = Array.from({ length: size }, (_, rank) => wordOf(rank));
  const sums = new Float64Array(size);
  let sum = 0;
  for (let rank = 0; rank < size; rank++) {
    sum += 1 / (rank + 2.7);
    sums[rank] = sum;
  }
  const draw = (): string => {
    const wanted = random() * sum;
    let low = 0;
    let high = size - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return vocabulary[low] ?? "";
  };
  return { vocabulary, random, words: (count) => Array.from({ length: count }, draw) };
}

/** Frequent words are short. */
function wordOf(rank: number): string {
  let word = "";
  for (let rest = rank + 1; rest > 0; rest = Math.floor((rest - 1) / SYLLABLES.length)) {
    word += SYLLABLES[(rest - 1) % SYLLABLES.length];
  }
  return word;
}

/** Two to five words as they come, none of the fifty most frequent, which would be stop words. */
export function questionOf(text: ZipfText): string {
  const frequent = new Set(text.vocabulary.slice(0, 50));
  const count = 2 + Math.floor(text.random() * 4);
  const words: string[] = [];
  while (words.length < count) words.push(...text.words(1).filter((word) => !frequent.has(word)));
  return words.join(" ");
}
