import { cjkTerms, isCjk, unify } from "./cut-cjk.ts";
import { fold, STOP_WORDS } from "./stop-words.ts";

/** A question as full-text expressions. Only letters and digits of the question get in, always inside quotes. */
export interface ParsedQuery {
  /** Every term is optional, more of them rank higher; "" when the question has no word. */
  readonly any: string;
  /** As `any`, but what the question puts in quotes must occur; "" when nothing is in quotes. */
  readonly quoted: string;
  /** Every word must occur. For names: few words, which may well all be there. */
  readonly all: string;
  /** Words that begin like the longer ones of the question: `reisekosten` in `reisekostenabrechnung`. */
  readonly beginnings: string;
}

/** A pasted page would make a search as slow as it is long; the first terms say what it is about. */
const MAX_TERMS = 128;

export function parseQuery(text: string): ParsedQuery {
  const phrases: string[] = [];
  const rest = text.replaceAll(/["“„]([^"“”]+)["”“]/gu, (_all, phrase: string) => {
    const terms = termsOf(phrase);
    if (terms.length > 0) phrases.push(asPhrase(terms));
    return ` ${phrase} `;
  });
  const terms = optionalTerms(rest);
  const any = [...new Set([...phrases, ...terms])].slice(0, MAX_TERMS).join(" OR ");
  const all = [...new Set([...phrases, ...terms])].slice(0, MAX_TERMS).join(" AND ");
  const words = [...new Set(termsOf(rest).map(fold))].filter((word) => word.length >= 4 && !STOP_WORDS.has(word));
  const beginnings = words
    .slice(0, MAX_TERMS)
    .map((word) => `"${word}" *`)
    .join(" OR ");
  if (phrases.length === 0) return { any, all, beginnings, quoted: "" };
  const required = phrases.join(" AND ");
  return { any, all, beginnings, quoted: `(${required}) OR (${required} AND (${any}))` };
}

/**
 * `ERR_404` is a phrase and its parts, since the tokenizer cuts it at the underscore: text that has it as written comes
 * first, text with only a part of it is still found.
 */
function optionalTerms(text: string): string[] {
  const found = new Set<string>();
  const weak = new Set<string>();
  for (const word of text.split(/\s+/u)) {
    const terms = termsOf(word);
    if (terms.length > 1) found.add(asPhrase(terms));
    for (const term of terms) (STOP_WORDS.has(fold(term)) ? weak : found).add(asTerm(term));
  }
  return [...(found.size > 0 ? found : weak)].slice(0, MAX_TERMS);
}

/** The words of the text as the index has them. */
function termsOf(text: string): string[] {
  const terms: string[] = [];
  for (const [run] of unify(text).matchAll(/[\p{L}\p{N}\p{M}\p{Co}]+/gu)) {
    for (const part of run.split(
      /((?:[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々〆])+)/u,
    )) {
      if (part === "") continue;
      if (!isCjk(part)) terms.push(part);
      // The last character stands alone only at the end of a run in the text, so it is no condition.
      else terms.push(...([...part].length > 1 ? cjkTerms(part).slice(0, -1) : [part]));
    }
  }
  return terms;
}

function asPhrase(terms: readonly string[]): string {
  return terms.length === 1 ? asTerm(terms[0] ?? "") : `"${terms.join(" ")}"`;
}

/** A single CJK character also begins a pair. */
function asTerm(term: string): string {
  return isCjk(term) && [...term].length === 1 ? `"${term}" *` : `"${term}"`;
}
