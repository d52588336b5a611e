// The built-in embedder is deterministic and brings similar texts together.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import { packVector, scaleOf, stepsOf } from "../../src/index/embedding/vectors.ts";

const embedder = createNgramEmbedder();
const cosine = async (a: string, b: string): Promise<number> => {
  const [x = new Float32Array(), y = new Float32Array()] = await embedder.embed([a, b]);
  return x.reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0);
};

test("vectors have length 1, and text without words has the zero vector", async () => {
  const [vector, empty] = await embedder.embed(["The hotel costs 120 euros.", " … !"]);
  assert.equal(vector?.length, embedder.dimensions);
  assert.ok(Math.abs(Math.hypot(...(vector ?? [])) - 1) < 1e-5);
  assert.ok(empty?.every((value) => value === 0));
});

test("the same text gives the same vector, also from another instance, whatever came before", async () => {
  const text = "Otters sleep holding hands.";
  const [first] = await embedder.embed([text]);
  const other = createNgramEmbedder();
  await other.embed(["something else entirely"]);
  assert.deepEqual((await other.embed([text]))[0], first);
});

const CLOSER: readonly (readonly [text: string, near: string, far: string, why: string])[] = [
  ["accommodation", "accomodation", "recommendation", "spelling"],
  ["abrechnung", "reisekostenabrechnung", "urlaubsantrag", "compounds"],
  ["organise", "organisation", "operation", "inflection"],
  ["Café", "CAFE", "Cape", "case and accents"],
  ["日本語文書", "日本語", "中国地図", "CJK"],
  ["the cat and the dog", "dog cat", "the and the", "stop words say little"],
];
for (const [text, near, far, why] of CLOSER) {
  test(`'${text}' is closer to '${near}' than to '${far}': ${why}`, async () => {
    assert.ok((await cosine(text, near)) > (await cosine(text, far)) + 0.05);
  });
}

test("a packed vector is the vector, up to one step in 127", async () => {
  const [vector = new Float32Array()] = await embedder.embed(["The hotel costs 120 euros."]);
  const packed = packVector(vector);
  const scale = scaleOf(packed);
  stepsOf(packed).forEach((step, i) => {
    assert.ok(Math.abs(step * scale - (vector[i] ?? 0)) <= scale / 2 + 1e-7);
  });
  assert.equal(scaleOf(packVector(new Float32Array(8))), 0);
});
