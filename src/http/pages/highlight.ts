import { html } from "hono/html";
import type { Html } from "./layout.ts";

/** A stretch of a text, as offsets. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A text and what is marked in it: in order, not overlapping. */
export interface Marked {
  readonly text: string;
  readonly marks: readonly Span[];
}

const EXCERPT_CHARS = 420;
const LEAD_CHARS = 90;
const WITHOUT_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Passages are Markdown; the signs of headings and emphasis only disturb when read as plain text. */
export function withoutMarkup({ text, marks }: Marked): Marked {
  const signs = [...signsIn(text)].sort((a, b) => a.start - b.start);
  let plain = "";
  let at = 0;
  const moved = (offset: number): number =>
    offset - signs.reduce((sum, sign) => sum + Math.max(0, Math.min(offset, sign.end) - sign.start), 0);
  for (const sign of signs) {
    plain += text.slice(at, sign.start);
    at = sign.end;
  }
  const kept = marks.map(({ start, end }) => ({ start: moved(start), end: moved(end) }));
  return { text: plain + text.slice(at), marks: kept };
}

/** What is left out; no two of them overlap. */
function* signsIn(text: string): Generator<Span> {
  for (const { index, 0: found } of text.matchAll(/^#{1,6}[ \t]+/gm)) yield { start: index, end: index + found.length };
  for (const { index, 0: found } of text.matchAll(/\*\*\S(?:.*?\S)?\*\*/g)) {
    yield { start: index, end: index + 2 };
    yield { start: index + found.length - 2, end: index + found.length };
  }
  for (const { index, 0: found } of text.matchAll(/\n{3,}/g)) yield { start: index + 2, end: index + found.length };
}

/** The stretch of a passage where its marks begin, cut at spaces. */
export function excerptOf(passage: Marked): Marked & { readonly cut: boolean } {
  const { text, marks } = passage;
  if (text.length <= EXCERPT_CHARS) return { ...passage, cut: false };
  const first = marks[0]?.start ?? 0;
  const from = startOfWord(text, Math.min(Math.max(0, first - LEAD_CHARS), text.length - EXCERPT_CHARS));
  const piece = text.slice(from, from + EXCERPT_CHARS).replace(/\s+\S*$/, "");
  const to = from + piece.length;
  const lead = from > 0 ? "… " : "";
  const shift = lead.length - from;
  return {
    text: `${lead}${piece}${to < text.length ? " …" : ""}`,
    marks: marks
      .filter(({ start, end }) => start >= from && end <= to)
      .map(({ start, end }) => ({ start: start + shift, end: end + shift })),
    cut: true,
  };
}

/** Text and marks may be hostile: everything goes through the escaping template. */
export function showMarked({ text, marks }: Marked): Html {
  const pieces: Html[] = [];
  let at = 0;
  for (const { start, end } of marks) {
    pieces.push(html`${text.slice(at, start)}<mark>${text.slice(start, end)}</mark>`);
    at = end;
  }
  return html`${pieces}${text.slice(at)}`;
}

/** Where the words of a question are, for backends that do not tell. */
export function spansOfWords(text: string, query: string): Span[] {
  const pattern = wordPattern(query);
  if (!pattern) return [];
  return [...text.matchAll(pattern)].map(({ index, 0: found }) => ({ start: index, end: index + found.length }));
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
