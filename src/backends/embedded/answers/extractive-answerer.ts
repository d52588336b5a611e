import { analyze } from "../../../index/analyzer.ts";
import { estimateTokens } from "../../../index/estimate-tokens.ts";
import { isTableRule } from "../../../index/markdown-lines.ts";
import { segments } from "../../../index/segments.ts";
import type { Answer, Answerer, AnswerPart, Passage } from "./answerer.ts";
import { inertMarkdown } from "./inert-markdown.ts";
import { tellingWords } from "./question-in-context.ts";

/** Named so that nobody takes it for a language model. */
export const EXTRACTIVE_MODEL = "lockstep-extractive";

const MAX_QUOTES = 5;
/** Only the best passages are searched for quotes. */
const MAX_PASSAGES = 8;
/** Each further quote must gain at least this share of the first one's gain. */
const ENOUGH = 0.35;
/** Weight factor of a question word that an earlier quote has. */
const AGAIN = 0.25;

const INTRODUCTION = "Quoted from the documents found, not written by a language model:\n\n";
const CLOSEST = "No passage has the words of the question. The closest one that was found begins:\n\n";
export const NOTHING_FOUND = "Nothing was found about this in the documents that were searched.";
const NO_SEARCH =
  "There is no language model here: answers are quoted from documents. " +
  "Give the tool file_search with the ids of vector stores to search.";

/** Answers with the sentences of the passages that match the question best. */
export function createExtractiveAnswerer(): Answerer {
  return {
    answer: async ({ text, earlier, passages, maxTokens }) =>
      fit(earlier ? quoteAnswer([text, ...earlier], passages ?? []) : quote(text, passages), maxTokens),
  };
}

/** At least one part. */
export function quote(question: string, passages: readonly Passage[] | undefined): AnswerPart[] {
  if (!passages) return [{ text: NO_SEARCH }];
  const candidates = passages.slice(0, MAX_PASSAGES).flatMap(quotesOf).map(withWords);
  const chosen = chooseQuotes(question, candidates);
  if (chosen.length > 0) return [{ text: INTRODUCTION }, ...inReadingOrder(chosen).map(toPart)];
  const [first] = candidates;
  return first ? [{ text: CLOSEST }, toPart(first)] : [{ text: NOTHING_FOUND }];
}

/** The quotes must have this share of the words that say what the question is about. */
const ENOUGH_WORDS = 0.4;

/**
 * Quotes for the question, the first of `questions`; where nothing has its words, for it together with those it leans on. Says that
 * nothing was found rather than quote what is merely closest: whoever asks in a chat takes it for the answer.
 */
export function quoteAnswer(questions: readonly string[], passages: readonly Passage[]): AnswerPart[] {
  const candidates = passages.slice(0, MAX_PASSAGES).flatMap(quotesOf).map(withWords);
  for (let count = 1; count <= questions.length; count += 1) {
    const asked = questions.slice(0, count).join("\n");
    const chosen = chooseQuotes(asked, candidates);
    const telling = tellingWords(asked);
    const found = telling.filter((word) => chosen.some(({ words }) => words.has(word)));
    if (chosen.length > 0 && found.length >= telling.length * ENOUGH_WORDS) {
      return [{ text: INTRODUCTION }, ...inReadingOrder(chosen).map(toPart)];
    }
  }
  return [{ text: NOTHING_FOUND }];
}

/** Drops parts beyond the limit. Never cuts one: half a sentence may say the opposite. */
async function* fit(parts: readonly AnswerPart[], maxTokens: number | null): Answer {
  let left = maxTokens ?? Number.POSITIVE_INFINITY;
  for (const part of parts) {
    left -= estimateTokens(part.text);
    if (left < 0) return "length";
    yield part;
  }
  return "stop";
}

interface Candidate extends Quote {
  readonly words: ReadonlySet<string>;
}

function withWords(quote: Quote): Candidate {
  return { ...quote, words: new Set(analyze(quote.text)) };
}

function toPart({ text, passage }: Quote): AnswerPart {
  return { text: `- ${inertMarkdown(text)}\n`, from: passage };
}

/** Greedy selection: each time the sentence that adds most to the earlier ones. */
function chooseQuotes(question: string, candidates: readonly Candidate[]): Candidate[] {
  const weights = weighWords(question, candidates);
  const chosen: Candidate[] = [];
  let enough = 0;
  while (chosen.length < MAX_QUOTES) {
    const left = candidates.filter(({ text }) => !chosen.some((other) => other.text === text));
    const gains = left.map((candidate) => gainOf(candidate, weights));
    const best = gains.reduce((top, gain, at) => (gain > (gains[top] ?? 0) ? at : top), 0);
    const [quote, gain] = [left[best], gains[best] ?? 0];
    if (!quote || gain <= enough) break;
    if (chosen.length === 0) enough = gain * ENOUGH;
    chosen.push(quote);
    for (const word of quote.words) weights.set(word, (weights.get(word) ?? 0) * AGAIN);
  }
  return chosen;
}

/** Weighs question words by rarity: the fewer sentences have one, the more it counts. */
function weighWords(question: string, candidates: readonly Candidate[]): Map<string, number> {
  const asked = [...new Set(analyze(question))];
  const telling = tellingWords(question);
  const weights = new Map<string, number>();
  for (const word of telling.length > 0 ? telling : asked) {
    const having = candidates.filter(({ words }) => words.has(word)).length;
    if (having > 0) weights.set(word, Math.log(1 + candidates.length / having));
  }
  return weights;
}

/** Prefers short sentences, down to a dozen words. */
function gainOf({ words, passage }: Candidate, weights: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const [word, weight] of weights) if (words.has(word)) sum += weight;
  return (sum * (0.5 + passage.score)) / Math.sqrt(Math.max(12, words.size));
}

/** Groups the sentences by passage, in their order; passages in the order in which they were chosen. */
function inReadingOrder(chosen: readonly Candidate[]): Candidate[] {
  const passages = [...new Set(chosen.map(({ passage }) => passage))];
  return passages.flatMap((one) =>
    chosen.filter(({ passage }) => passage === one).sort((a, b) => a.position - b.position),
  );
}

/** A sentence of a passage, readable on its own. */
interface Quote {
  readonly text: string;
  readonly passage: Passage;
  /** Counts from 0 through the passage. */
  readonly position: number;
}

const MAX_LENGTH = 400;
const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^\s{0,3}#{1,6}(?:\s|$)/;
const BEGINS_BLOCK = /^\s*(?:[-*+>]\s|\d{1,9}[.)]\s)/;

/** Returns the sentences, list items and table rows of a passage without Markdown. Headings are left out. */
function quotesOf(passage: Passage): Quote[] {
  return blocksOf(passage.text)
    .flatMap((block) => (block.row ? [block.text] : [...segments(block.text, "sentences")]))
    .map((text) => text.trim())
    .filter((text) => /\p{L}{2}/u.test(text))
    .map((text, position) => ({ text: shortened(text), passage, position }));
}

/** Splits text into paragraphs (joined to one line) and table rows (with the names of their columns). */
function blocksOf(text: string): { text: string; row: boolean }[] {
  const blocks: { text: string; row: boolean }[] = [];
  let columns: readonly string[] | undefined;
  let open = false;
  const lines = text.split("\n");
  for (const [at, line] of lines.entries()) {
    const tabular: boolean = line.includes("|") && (columns !== undefined || isTableRule(lines[at + 1] ?? ""));
    if (tabular) {
      if (columns) blocks.push({ text: namedCells(columns, cellsOf(line)), row: true });
      else columns = cellsOf(line);
    } else columns = undefined;
    const outside = tabular || line.trim() === "" || FENCE.test(line) || HEADING.test(line);
    const last = blocks.at(-1);
    if (!outside && open && last && !BEGINS_BLOCK.test(line)) last.text += ` ${withoutMarks(line)}`;
    else if (!outside) blocks.push({ text: withoutMarks(line), row: false });
    open = !outside;
  }
  return blocks;
}

function cellsOf(line: string): string[] {
  if (isTableRule(line)) return [];
  return line
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split("|")
    .map((cell) => withoutMarks(cell));
}

function namedCells(columns: readonly string[], cells: readonly string[]): string {
  return cells
    .map((cell, at) => (cell && columns[at] ? `${columns[at]}: ${cell}` : cell))
    .filter(Boolean)
    .join("; ");
}

function withoutMarks(line: string): string {
  return line
    .replace(/^\s*(?:(?:[-*+>]|\d{1,9}[.)])\s+)?/, "")
    .replaceAll(/!?\[([^[\]]*)\]\([^()\s]*\)/g, "$1")
    .replaceAll(/\*\*|__|`/g, "")
    .trim();
}

function shortened(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  const blank = text.lastIndexOf(" ", MAX_LENGTH);
  const cut = text.slice(0, blank > MAX_LENGTH / 2 ? blank : MAX_LENGTH);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)} …`;
}
