import { analyze, fold, type Token, tokenize, UNSPACED_SCRIPTS } from "../analyzer.ts";
import type { Phrase } from "../store.ts";
import { stopWordsOf } from "./stop-words.ts";

/** A question, parsed into words. */
export interface ParsedQuery {
  /** Quoted phrases. */
  readonly quoted: readonly Phrase[];
  /** Optional phrases: words, identifiers whole and in parts, runs of unspaced scripts. */
  readonly phrases: readonly Phrase[];
  /** Single words of letters, which may be misspelt. */
  readonly words: readonly string[];
}

/** Limits the cost of a pasted page; its first words say what it is about. */
const MAX_PHRASES = 64;
const MAX_LENGTH = 4000;
/** In longer questions, quotes are taken for part of a pasted text. */
const MAX_QUOTING = 24;
const QUOTED = /["“„«]([^"“”„«»]+)["”“»]/gu;
const SPELT = /^\p{L}{4,}$/u;
const UNSPACED = new RegExp(`^[${UNSPACED_SCRIPTS}\\p{M}]+$`, "u");

export function parseQuery(text: string): ParsedQuery {
  const asked = text.slice(0, MAX_LENGTH);
  const quoted: Phrase[] = [];
  const plain = asked.replaceAll(QUOTED, (_all, phrase: string) => {
    const words = phraseWords(analyze(phrase));
    if (words.length > 0) quoted.push(asPhrase(words));
    return ` ${phrase} `;
  });
  const phrases = optionalPhrases(plain);
  const spelt = phrases.flatMap(({ words: [first = "", ...more] }) =>
    more.length === 0 && SPELT.test(first) && !UNSPACED.test(first) ? [first] : [],
  );
  const words = [...new Set(spelt)];
  const required = quoted.slice(0, MAX_PHRASES);
  if (phrases.length <= MAX_QUOTING) return { quoted: required, phrases, words };
  return { quoted: [], phrases: [...required, ...phrases], words };
}

/**
 * Drops stop words, unless there is nothing else: "the who" must find something. Repeated words are kept, and count twice.
 */
function optionalPhrases(text: string): Phrase[] {
  const runs = [...runsOf(text)];
  const stopWords = stopWordsOf(runs.map(({ raw }) => raw));
  const strong = runs.filter(({ raw }) => !stopWords.has(raw));
  const known = new Set<string>();
  const found: Phrase[] = [];
  for (const { words } of strong.length > 0 ? strong : runs) {
    for (const phrase of phrasesOfRun(words)) {
      const name = phrase.words.join(" ");
      if (known.size >= MAX_PHRASES && !known.has(name)) continue;
      known.add(name);
      found.push(phrase);
    }
  }
  return found;
}

interface Run {
  /** Folded, as written. */
  readonly raw: string;
  readonly words: string[];
}

/** Groups tokens that overlap: they come from one run. */
function* runsOf(text: string): Generator<Run> {
  let run: Token[] = [];
  const finish = (): Run => {
    const [first, last] = [run[0], run.at(-1)];
    return { raw: fold(text.slice(first?.start, last?.end)), words: run.map(({ word }) => word) };
  };
  for (const tokens of tokenize(text)) {
    const last = run.at(-1);
    if (last && tokens.start >= last.end) {
      yield finish();
      run = [];
    }
    run.push(tokens);
  }
  if (run.length > 0) yield finish();
}

/** For an unspaced script: the whole run and each of its pairs. For an identifier: the whole and its parts. */
function phrasesOfRun(words: readonly string[]): Phrase[] {
  const [first = ""] = words;
  if (!UNSPACED.test(first)) return words.map((word) => asPhrase([word]));
  const pairs = phraseWords(words);
  const whole = pairs.length > 1 ? [asPhrase(pairs)] : [];
  return [...whole, ...pairs.map((pair) => asPhrase([pair]))];
}

/** Drops the last single character of an unspaced run: it is a word of its own only at the end of a run. */
function phraseWords(words: readonly string[]): string[] {
  return words.filter((word, at) => {
    const before = words[at - 1];
    return !(isSingle(word) && before !== undefined && UNSPACED.test(before) && before.endsWith(word));
  });
}

/** A single character of an unspaced script also matches as the beginning of a pair. */
function asPhrase(words: readonly string[]): Phrase {
  return { words, beginning: isSingle(words.at(-1) ?? "") };
}

function isSingle(word: string): boolean {
  return UNSPACED.test(word) && [...word.replaceAll(/\p{M}/gu, "")].length === 1;
}
