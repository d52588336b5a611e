import type { Phrase } from "../storage/store.ts";
import type { PlacedWord } from "../text/analyze.ts";

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where a text, given as its words, has these phrases, in whatever form of the words, in order, not overlapping. */
export function highlight(placed: readonly PlacedWord[], phrases: readonly Phrase[]): Span[] {
  const byFirst = new Map<string, Phrase[]>();
  const beginnings: string[] = [];
  for (const phrase of phrases) {
    const [first] = phrase.words;
    if (first === undefined) continue;
    if (phrase.beginning && phrase.words.length === 1) beginnings.push(first);
    const known = byFirst.get(first);
    if (known) known.push(phrase);
    else byFirst.set(first, [phrase]);
  }
  const spans: Span[] = [];
  for (const [at, { word, start }] of placed.entries()) {
    for (const { words, beginning } of byFirst.get(word) ?? []) {
      const last = matchFrom(placed, at, words, beginning);
      if (last) spans.push({ start, end: last.end });
    }
    for (const begin of beginnings) if (word.startsWith(begin)) spans.push({ start, end: start + begin.length });
  }
  return merge(spans);
}

function matchFrom(
  placed: readonly PlacedWord[],
  at: number,
  words: readonly string[],
  beginning: boolean,
): PlacedWord | undefined {
  for (const [i, wanted] of words.entries()) {
    const word = placed[at + i]?.word;
    const goesOn = beginning && i === words.length - 1 && word?.startsWith(wanted);
    if (word !== wanted && !goesOn) return undefined;
  }
  return placed[at + words.length - 1];
}

function merge(spans: Span[]): Span[] {
  spans.sort((a, b) => a.start - b.start || b.end - a.end);
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (!last || span.start > last.end) merged.push(span);
    else if (span.end > last.end) merged[merged.length - 1] = { start: last.start, end: span.end };
  }
  return merged;
}
