import { analyze } from "../analyzer.ts";
import { pageMark } from "../markdown-lines.ts";
import { STOP_WORDS } from "../search/stop-words.ts";
import { cutSentences } from "./statements-of.ts";

/**
 * Returns the page that contains a sentence, in a part of a paged text; undefined if no page contains it as a whole. Of several, the
 * page closest to that of the passage: a passage may span pages, and repeats the end of the previous passage.
 */
export function pageOfSentence(sentence: string, part: string, pageOfPassage: number): number | undefined {
  const wanted = lettersOf(sentence);
  const pages: { page: number; text: string }[] = [{ page: 0, text: "" }];
  for (const line of part.split("\n")) {
    const page = pageMark(line);
    const last = pages.at(-1);
    if (page !== undefined) pages.push({ page, text: "" });
    else if (last) last.text += `${line}\n`;
  }
  const [before, first] = pages;
  // A part begins within the page before its first mark.
  if (before && first) before.page = first.page - 1;
  const distance = (page: number): number => Math.abs(page - pageOfPassage);
  const found = pages.filter(({ page, text }) => page > 0 && lettersOf(text).includes(wanted));
  return found.sort((a, b) => distance(a.page) - distance(b.page))[0]?.page;
}

/** Below this share of its words, a sentence in other words cannot be told from any other. */
const LEAST_SHARED = 0.4;

/** Returns the sentence of a passage that has the most words of one that was written from it; undefined if none has enough. */
export function closestSentence(written: string, passage: string): string | undefined {
  const wanted = tellingWords(written);
  let closest: string | undefined;
  let most = Math.max(1, LEAST_SHARED * wanted.size);
  let fewest = Number.POSITIVE_INFINITY;
  for (const sentence of passage.split("\n\n").flatMap(cutSentences)) {
    const words = tellingWords(sentence);
    const shared = [...words].filter((word) => wanted.has(word)).length;
    if (shared < most || (shared === most && words.size >= fewest)) continue;
    [closest, most, fewest] = [sentence, shared, words.size];
  }
  return closest;
}

function tellingWords(text: string): ReadonlySet<string> {
  return new Set(analyze(text).filter((word) => !STOP_WORDS.has(word)));
}

/** For comparing a statement, which has no Markdown, with its text. */
function lettersOf(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]+/gu, "");
}
