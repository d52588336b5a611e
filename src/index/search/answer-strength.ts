import type { Candidates } from "./find-candidates.ts";
import type { Candidate } from "./fuse-scores.ts";
import type { Question } from "./parse-query.ts";
import type { Passages } from "./passages.ts";

/** What even the weakest answer keeps of its score. */
const LEAST = 0.3;

/**
 * How well the best candidate answers at all, 0 to 1. Scores are relative to the best of their search; times this they can
 * be compared between questions, and a question that has next to nothing in common with the store gets low ones.
 */
export async function answerStrength(
  passages: Passages,
  question: Question,
  { all, phrases }: Candidates,
): Promise<number> {
  let closest = 0;
  let wordiest: Candidate | undefined;
  for (const candidate of all) {
    closest = Math.max(closest, candidate.similarity, candidate.label);
    if (candidate.text > (wordiest?.text ?? 0)) wordiest = candidate;
  }
  if (wordiest && closest < 1)
    closest = Math.max(closest, await coverage(passages, question, phrases, wordiest.chunkId));
  return LEAST + (1 - LEAST) * Math.min(1, closest);
}

/** Which share of the words of the question the passage has, in whatever form was looked for. */
async function coverage(
  passages: Passages,
  question: Question,
  phrases: Candidates["phrases"],
  chunkId: number,
): Promise<number> {
  const passage = (await passages.load([chunkId])).get(chunkId);
  const words = new Set(passage ? [...passage.words.headings, ...passage.words.text] : []);
  const isThere = (word = ""): boolean => words.has(word);
  const wanted = question.phrases.filter((phrase) => phrase.words.length === 1).length;
  const found = phrases.filter((phrase) => phrase.words.length === 1 && isThere(phrase.words[0])).length;
  return found / Math.max(1, wanted);
}
