import { html } from "hono/html";
import type { Html } from "./layout.ts";

const EXCERPT_CHARS = 420;
const LEAD_CHARS = 90;
const WITHOUT_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

export interface Excerpt {
  readonly text: string;
  readonly cut: boolean;
}

/** The stretch of a passage where the query's words begin, cut at spaces. */
export function excerptAround(passage: string, query: string): Excerpt {
  const text = passage.trim();
  if (text.length <= EXCERPT_CHARS) return { text, cut: false };
  const pattern = wordPattern(query);
  const found = pattern ? text.search(pattern) : 0;
  const from = startOfWord(text, Math.min(Math.max(0, found - LEAD_CHARS), text.length - EXCERPT_CHARS));
  const piece = text.slice(from, from + EXCERPT_CHARS).replace(/\s+\S*$/, "");
  const lead = from > 0 ? "… " : "";
  return { text: `${lead}${piece}${from + piece.length < text.length ? " …" : ""}`, cut: true };
}

/** The text with the words of the query marked. Both are hostile: everything goes through the escaping template. */
export function markWords(text: string, query: string): Html {
  const pattern = wordPattern(query);
  if (!pattern) return html`${text}`;
  const pieces: Html[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    pieces.push(html`${text.slice(at, match.index)}<mark>${match[0]}</mark>`);
    at = match.index + match[0].length;
  }
  return html`${pieces}${text.slice(at)}`;
}

function wordPattern(query: string): RegExp | undefined {
  const words = [...new Set(query.match(/[\p{L}\p{N}]+/gu) ?? [])].slice(0, 32);
  const telling = words.filter(isTelling);
  const parts = (telling.length > 0 ? telling : words).map((word) =>
    WITHOUT_SPACES.test(word) ? word : `(?<![\\p{L}\\p{N}])${stem(word.toLowerCase())}[\\p{L}\\p{N}]*`,
  );
  return parts.length > 0 ? new RegExp(parts.join("|"), "giu") : undefined;
}

/** Short words are mostly grammar in any language, unless they are written as an abbreviation or hold a number. */
function isTelling(word: string): boolean {
  return (
    word.length > 3 || WITHOUT_SPACES.test(word) || /\d/.test(word) || (word.length > 1 && word === word.toUpperCase())
  );
}

/** Crude on purpose: it decides what is coloured, not what is found. */
function stem(word: string): string {
  const short = word.replace(/(?:ings?|ies|es|ed|en|s)$/, "");
  return short.length >= 4 ? short : word;
}

function startOfWord(text: string, at: number): number {
  if (at <= 0) return 0;
  const space = text.slice(at, at + LEAD_CHARS).search(/\s/);
  return space < 0 ? at : at + space + 1;
}
