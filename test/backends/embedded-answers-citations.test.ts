// Citation markers in a text become citations, however the stream is cut.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AnswerPart, Passage } from "../../src/backends/embedded/answers/answerer.ts";
import { createCitationReader } from "../../src/backends/embedded/answers/model-answerer.ts";
import type { FileId } from "../../src/contracts/ids.ts";

const PASSAGES: readonly Passage[] = ["a", "b", "a"].map((name) => ({
  fileId: `file-${name}` as FileId,
  filename: `${name}.md`,
  text: "",
  score: 1,
}));

/** As one text, with `<file>` where a citation stands. */
function read(...pieces: readonly string[]): string {
  const reader = createCitationReader(PASSAGES);
  const parts: AnswerPart[] = [];
  for (const piece of pieces) parts.push(...reader.read(piece));
  parts.push(...reader.end());
  return parts.map(({ text, from }) => text + (from ? `<${from.filename}>` : "")).join("");
}

const CASES: readonly (readonly [given: string, expected: string])[] = [
  ["190 euros 【1】.", "190 euros<a.md>."],
  ["190 euros【2】 and more", "190 euros<b.md> and more"],
  ["both 【1, 2】", "both<a.md><b.md>"],
  ["one file once 【1;3】", "one file once<a.md>"],
  ["as learnt 【2†source】 and 【1:0†Travel.md】", "as learnt<b.md> and<a.md>"],
  ["made up 【9】 and 【0】", "made up and"],
  ["a title 【draft】 stays", "a title 【draft】 stays"],
  ["never closed 【1", "never closed 【1"],
  [`long 【${"1".repeat(80)}】`, `long 【${"1".repeat(80)}】`],
  ["【【1】", "【【1】"],
  ["blanks at the end   ", "blanks at the end   "],
  ["plain [1] brackets", "plain [1] brackets"],
];
for (const [given, expected] of CASES) {
  test(`markers become citations: ${given.slice(0, 30)}`, () => {
    assert.equal(read(given), expected);
    assert.equal(read(...given), expected, "token by token");
  });
}

test("what cannot be a marker is not held back", () => {
  const reader = createCitationReader(PASSAGES);
  assert.deepEqual([...reader.read("Hotels cost")], [{ text: "Hotels cost" }]);
  assert.deepEqual([...reader.read(" 190 【")], [{ text: " 190" }]);
  assert.deepEqual([...reader.read("1】")], [{ text: "", from: PASSAGES[0] }]);
});

test("property: it makes no difference how a text is cut", () => {
  const pieces = fc.array(fc.constantFrom("【", "】", "1", "2", ",", " ", "a", "†", "\n", "【1】", " 【2】"), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(pieces, (given) => {
      assert.equal(read(...given), read(given.join("")));
    }),
  );
});
