// The words of a question are marked in a passage.
import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenize } from "../../src/index/analyzer.ts";
import { parseQuery } from "../../src/index/search/parse-query.ts";
import { highlight } from "../../src/index/search/search-store.ts";

/** The text with what is marked in brackets. */
function marked(text: string, question: string): string {
  const { quoted, phrases } = parseQuery(question);
  let shown = "";
  let last = 0;
  for (const { start, end } of highlight(tokenize(text), [...quoted, ...phrases])) {
    shown += `${text.slice(last, start)}[${text.slice(start, end)}]`;
    last = end;
  }
  return shown + text.slice(last);
}

const TABLE: readonly (readonly [question: string, text: string, shown: string])[] = [
  ["hotel costs", "Hotels cost a lot; a hotel is costly.", "[Hotels] [cost] a lot; a [hotel] is costly."],
  ["the hotel", "The hotel", "The [hotel]"],
  ['"cost a lot"', "They cost a lot of money, a lot.", "They [cost a lot] of money, a [lot]."],
  ["ERR_404", "See ERR_404, not ERR_500.", "See [ERR_404], not [ERR_500]."],
  ["日本語", "これは日本語の文書", "これは[日本語]の文書"],
  ["都", "東京都に住む", "東京[都]に住む"],
  ["uberstunden", "Die Überstunden", "Die [Überstunden]"],
  ["nothing", "Here is none of it.", "Here is none of it."],
];

for (const [question, text, shown] of TABLE) {
  test(`'${question}' in '${text}'`, () => assert.equal(marked(text, question), shown));
}
