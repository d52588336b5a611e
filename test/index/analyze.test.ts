// Text becomes words in every script, in time proportional to its length.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { analyze, tokenize } from "../../src/index/analyzer.ts";

const TABLE: readonly (readonly [text: string, words: string, why: string])[] = [
  ["Hotels, costing the EARTH!", "hotel cost the earth", "case, punctuation, endings"],
  ["ERR_404 means gone", "err_404 err 404 mean gone", "an identifier whole and in parts"],
  ["AB-1234/5", "ab_1234_5 ab 1234 5", "a part number"],
  ["max_retry_count", "max_retry_count max retri count", "snake case"],
  ["getUserName XMLHttpRequest", "getusernam get user name xmlhttprequest xml http request", "camel case"],
  ["PDFs iPhone H2O 1990s", "pdf iphon h2o 1990s", "no parts where none is longer than a letter"],
  ["RTX4090", "rtx4090 rtx 4090", "letters and digits"],
  ["1,234,567 3.14 10:30", "1234567 1 234 567 3_14 3 14 10_30 10 30", "numbers with separators"],
  ["2024-01-15 v2.3.1", "2024_01_15 2024 01 15 v2_3_1 v2 3 1", "dates and versions"],
  ["U.S.A.", "usa u s a", "initials"],
  ["the company's plan. Next", "the compani plan next", "possessive, end of sentence"],
  ["well-known and/or", "well known and or", "hyphens and slashes between plain words"],
  ["GRÖSSE Größe Maße", "gross gross mass", "sharp s and umlauts"],
  ["café cafe\u0301 naïve Łódź", "cafe cafe naiv lodz", "accents, composed or not"],
  ["Reise\u00adkosten", "reisekosten", "soft hyphens"],
  ["Ｆｕｌｌ ﬁne 𝐇𝐞𝐥𝐥𝐨", "full fine hello", "compatibility forms"],
  ["İstanbul ILIK", "istanbul ilik", "Turkish letters"],
  ["jusqu'à l'eau", "jusqu a l eau", "apostrophes"],
  ["日本語の文書。東京", "日本 本語 語の の文 文書 書 東京 京", "Japanese in pairs"],
  ["東京tower2020年", "東京 京 tower2020 tower 2020 年", "scripts mixed"],
  ["ｶﾞｷﾞ", "ガギ ギ", "half-width kana"],
  ["한국어 문서", "한국 국어 어 문서 서", "Korean"],
  ["ไทย", "ไท ทย ย", "Thai"],
  ["документами документы", "документ документ", "Russian endings"],
  ["हिन्दी किताब", "हिन्दी किताब", "vowel signs of Hindi stay"],
  ["x".repeat(100), "x".repeat(64), "an endless word"],
  [" \u0000\t -- ... ' _ ", "", "nothing"],
];

describe("text becomes words", () => {
  for (const [text, words, why] of TABLE) {
    test(`${why}: ${text.slice(0, 40)}`, () => assert.equal(analyze(text).join(" "), words));
  }

  test("whatever the text, words are letters, digits and underscores, and have their places in order", () => {
    const unit = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("_", "-", "ﾞ", "\u0301", "語", "A1", "'s"));
    fc.assert(
      fc.property(fc.array(unit), (parts) => {
        const text = parts.join("");
        const placed = tokenize(text);
        assert.deepEqual(
          placed.map(({ word }) => word),
          analyze(text),
        );
        let last = 0;
        for (const { word, start, end } of placed) {
          assert.match(word, /^[\p{L}\p{N}\p{M}\p{Co}_]+$/u);
          assert.ok(start >= last && end > start && end <= text.length);
          last = start;
        }
      }),
      { numRuns: 500 },
    );
  });

  test("a line of many megabytes takes no more than its length", () => {
    assert.equal(analyze("a-".repeat(2_000_000)).length, 2_000_000);
    assert.equal(analyze("b".repeat(4_000_000)).length, 1);
  });
});
