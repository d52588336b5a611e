// Edited files pair with the most similar one of before.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { candidateFinder, pairBest } from "../../../src/plan/lineage/pair-similar.ts";
import { similarityOf, sketchText } from "../../../src/plan/lineage/text-similarity.ts";

function similarity(a: string, b: string): number {
  return similarityOf(sketchText(a), sketchText(b));
}

function words(count: number, change: (at: number) => string = (at) => `w${at}`): string {
  return Array.from({ length: count }, (_, at) => change(at)).join(" ");
}

const TEXTS: readonly (readonly [string, a: string, b: string, expected: number])[] = [
  ["the same", words(50), words(50), 1],
  ["one word of a hundred changed", words(100), words(100, (at) => (at === 50 ? "other" : `w${at}`)), 91 / 101],
  ["the second half added", words(50), words(96), 46 / 92],
  ["nothing in common", words(50), words(50, (at) => `v${at}`), 0],
  ["the same words in another order", words(30), words(30, (at) => `w${29 - at}`), 0],
  ["case, white space, punctuation, normal form", "Über  den\nWölfen, da!", "u\u0308ber DEN wo\u0308lfen da", 1],
  ["short texts, by words", "red green blue", "blue green yellow", 0.5],
  ["a short and a longer one", "red green blue", "red green blue black white grey", 0.5],
  ["a short and a long one", "red", words(500, () => "red blue"), 0.5],
  ["a short and one of many words", "w1 w2", words(500), 0],
  ["without blanks, by characters", "一二三四五六七八九十", "一二三四五六七八九百", 5 / 7],
  ["without blanks, among Latin words", "abc一二三四 def", "abc 一 二 三 四def", 1],
  ["no word", "", "", 0],
  ["no word against some", "--- ***", words(10), 0],
];
for (const [name, a, b, expected] of TEXTS) {
  test(`similarity: ${name}`, () => {
    assert.equal(similarity(a, b).toFixed(6), expected.toFixed(6));
    assert.equal(similarity(b, a).toFixed(6), expected.toFixed(6));
  });
}

test("a long text is compared by a fair sample", () => {
  const [long, changed] = [words(120_000), words(120_000, (at) => (at < 40_000 ? `v${at}` : `w${at}`))];
  assert.ok(sketchText(long).shingles.size <= 32_768);
  assert.ok(Math.abs(similarity(long, changed) - 0.5) < 0.02, String(similarity(long, changed)));
  assert.ok(Math.abs(similarity(words(30_000), words(60_000)) - 0.5) < 0.02, "one whole, one by a sample");
  assert.equal(similarity(long, long), 1);
});

test("similarity is between 0 and 1, the same both ways, and 1 with itself", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", "d", "e", "f"), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(text, text, (some, others) => {
      const [a, b] = [some.join(" "), others.join(" ")];
      const score = similarity(a, b);
      assert.ok(score >= 0 && score <= 1);
      assert.equal(similarity(b, a), score);
      assert.equal(similarity(a, a), 1);
    }),
  );
});

test("candidates: the same name, then the same folder, then the nearest size", () => {
  const vanished = [
    { path: "x/far.md", size: 1000 },
    { path: "x/farther.md", size: 1400 },
    { path: "d/other.md", size: 2000 },
    { path: "x/plan.md", size: 3000 },
    { path: "d/plan.txt", size: 1000 },
    { path: "d/huge.md", size: 1_000_000 },
  ];
  const find = candidateFinder(vanished);
  assert.deepEqual(
    find({ path: "d/plan.md", size: 1100 }).map(({ path }) => path),
    ["x/plan.md", "d/other.md", "x/far.md", "x/farther.md"],
  );
  assert.deepEqual(find({ path: "d/plan.pdf", size: 1100 }), []);
});

test("candidates: few of many, and the right one when name or size tell", () => {
  const vanished = Array.from({ length: 20_000 }, (_, at) => ({ path: `old/${at}/index.html`, size: 1000 + at * 3 }));
  const find = candidateFinder(vanished);
  for (const at of [0, 9_999, 19_999]) {
    const found = find({ path: `new/${at}/index.html`, size: 1001 + at * 3 });
    assert.equal(found.length, 5);
    assert.equal(found[0]?.path, `old/${at}/index.html`);
  }
});

test("pairs: the most similar first, each at most once, the same name when they are even", () => {
  const [a, b, c] = ["d/a.md", "d/b.md", "d/c.md"].map((path) => ({ path, size: 1 })) as [One, One, One];
  const [x, y, z] = ["e/x.md", "e/a.md", "e/z.md"].map((path) => ({ path, size: 1 })) as [One, One, One];
  const compared = [
    { appeared: a, vanished: x, score: 0.8 },
    { appeared: a, vanished: y, score: 0.8 },
    { appeared: b, vanished: x, score: 0.7 },
    { appeared: b, vanished: z, score: 0.9 },
    { appeared: c, vanished: z, score: 0.95 },
    { appeared: c, vanished: x, score: 0.49 },
  ];
  const expected = [
    { appeared: c, vanished: z, score: 0.95 },
    { appeared: a, vanished: y, score: 0.8 },
    { appeared: b, vanished: x, score: 0.7 },
  ];
  assert.deepEqual(pairBest(compared), expected);
  assert.deepEqual(pairBest(compared.toReversed()), expected);
  assert.deepEqual(pairBest([{ appeared: a, vanished: x, score: 0.499 }]), []);
});

type One = { readonly path: string; readonly size: number };
