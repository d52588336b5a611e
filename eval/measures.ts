import type { Collection } from "./collection.ts";

/** Means over all questions. */
export interface Measures {
  readonly ndcg10: number;
  readonly recall100: number;
  readonly mrr: number;
}

/** The ids of the documents found for a question, best first, at most 100, each once. */
export type Ranking = (question: string) => Promise<readonly string[]>;

export async function measure({ questions, answers }: Collection, rank: Ranking): Promise<Measures> {
  const sum = { ndcg10: 0, recall100: 0, mrr: 0 };
  for (const { id, text } of questions) {
    const relevant = answers.get(id) ?? new Set<string>();
    const ranked = await rank(text);
    sum.ndcg10 += ndcg(ranked, relevant, 10);
    sum.recall100 += ranked.slice(0, 100).filter((found) => relevant.has(found)).length / relevant.size;
    const first = ranked.findIndex((found) => relevant.has(found));
    sum.mrr += first < 0 ? 0 : 1 / (first + 1);
  }
  const count = Math.max(1, questions.length);
  return { ndcg10: sum.ndcg10 / count, recall100: sum.recall100 / count, mrr: sum.mrr / count };
}

/** Normalised discounted cumulative gain, an answer being worth 1. */
function ndcg(ranked: readonly string[], relevant: ReadonlySet<string>, depth: number): number {
  let gain = 0;
  let ideal = 0;
  for (let at = 0; at < depth; at++) {
    const worth = 1 / Math.log2(at + 2);
    if (relevant.has(ranked[at] ?? "")) gain += worth;
    if (at < relevant.size) ideal += worth;
  }
  return ideal > 0 ? gain / ideal : 0;
}
