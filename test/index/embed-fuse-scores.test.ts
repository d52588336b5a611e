// Scores of words and vectors are fused so that what is good in both comes first.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Candidate, fuseScores } from "../../src/index/search/fuse-scores.ts";

function candidate(documentId: number, parts: Partial<Candidate>): Candidate {
  return { documentId, chunkId: documentId * 10, text: 0, label: 0, similarity: 0, ...parts };
}

function order(candidates: readonly Candidate[]): number[] {
  return fuseScores(candidates, 0).map(({ documentId }) => documentId);
}

test("both count: what is good in words and in meaning comes before what is best in one", () => {
  const both = candidate(1, { text: 0.9, similarity: 0.7 });
  const words = candidate(2, { text: 1, similarity: 0 });
  const meaning = candidate(3, { text: 0, similarity: 0.8 });
  assert.deepEqual(order([words, meaning, both]), [1, 2, 3]);
});

test("a document named like the question comes before one that only talks about it", () => {
  assert.deepEqual(order([candidate(1, { text: 1 }), candidate(2, { text: 0.6, label: 1 })]), [2, 1]);
});

test("it does not matter how large the cosines of a model are, only how they differ", () => {
  const wide = [candidate(1, { text: 1, similarity: 0.1 }), candidate(2, { text: 0.7, similarity: 0.9 })];
  const narrow = [candidate(1, { text: 1, similarity: 0.7 }), candidate(2, { text: 0.7, similarity: 0.9 })];
  assert.deepEqual(order(wide), order(narrow));
  const nothing = [candidate(1, { text: 1, similarity: 0.79 }), candidate(2, { text: 0.9, similarity: 0.8 })];
  assert.deepEqual(order(nothing), [1, 2], "a hair's breadth is not made much of");
});

test("scores are 0 to 1 and tell their parts, whatever the search went by", () => {
  const [best] = fuseScores([candidate(1, { text: 1, similarity: 0.6, label: 1 })], 0);
  assert.equal(best?.score, 1);
  assert.deepEqual(best?.parts, { text: 1, vector: 1, label: 1 });
  assert.equal(fuseScores([candidate(1, { text: 1 })], 0)[0]?.score, 1, "by words alone");
  assert.equal(fuseScores([candidate(1, { similarity: 0.6 })], 0)[0]?.score, 1, "by vectors alone");
  assert.equal(fuseScores([candidate(1, { label: 1 })], 0)[0]?.score, 1, "by names alone");
});

test("hits below the threshold are left out", () => {
  const found = fuseScores([candidate(1, { text: 1 }), candidate(2, { text: 0.4 })], 0.5);
  assert.deepEqual(
    found.map(({ documentId }) => documentId),
    [1],
  );
});

test("further passages of a document step back behind those of others, and the fourth is left out", () => {
  const passages = [0, 1, 2, 3].map((at) => ({ ...candidate(1, { text: 1 - at / 100 }), chunkId: at }));
  const found = fuseScores([...passages, candidate(2, { text: 0.9 })], 0);
  assert.deepEqual(
    found.map(({ documentId }) => documentId),
    [1, 2, 1, 1],
  );
});

test("equal scores keep one order", () => {
  assert.deepEqual(order([candidate(3, { text: 1 }), candidate(1, { text: 1 }), candidate(2, { text: 1 })]), [1, 2, 3]);
});
