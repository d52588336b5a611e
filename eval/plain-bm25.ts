import { stemmer } from "stemmer";
import type { Collection } from "./collection.ts";
import type { Ranking } from "./measures.ts";

const K1 = 1.2;
const B = 0.75;
const STOP_WORDS = new Set(
  "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with".split(
    " ",
  ),
);

/** What everything is compared with: BM25 over title and text, Porter's stemmer, 33 stop words. Shares no code with the product. */
export function plainBm25({ documents }: Collection): Ranking {
  const texts = documents.map(({ title, text }) => wordsOf(`${title} ${text}`));
  const average = texts.reduce((sum, words) => sum + words.length, 0) / Math.max(1, texts.length);
  const postings = new Map<string, Map<number, number>>();
  for (const [at, words] of texts.entries()) {
    for (const word of words) {
      const posting = postings.get(word) ?? new Map<number, number>();
      postings.set(word, posting.set(at, (posting.get(at) ?? 0) + 1));
    }
  }
  return async (question) => {
    const scores = new Map<number, number>();
    for (const word of wordsOf(question)) {
      const posting = postings.get(word) ?? new Map<number, number>();
      const idf = Math.log(1 + (texts.length - posting.size + 0.5) / (posting.size + 0.5));
      for (const [at, count] of posting) {
        const length = (texts[at]?.length ?? 0) / average;
        const score = (idf * count * (K1 + 1)) / (count + K1 * (1 - B + B * length));
        scores.set(at, (scores.get(at) ?? 0) + score);
      }
    }
    const best = [...scores].sort(([a, x], [b, y]) => y - x || a - b).slice(0, 100);
    return best.map(([at]) => documents[at]?.id ?? "");
  };
}

function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => !STOP_WORDS.has(word)).map(stemmer);
}
