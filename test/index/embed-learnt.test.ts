// Vectors learnt from a store's own passages bring related words together.
import assert from "node:assert/strict";
import { test } from "node:test";
import { analyze } from "../../src/index/analyzer.ts";
import { Corpus, learnVectors, principalDirections } from "../../src/index/embedding/learn-vectors.ts";
import { lastChunkOf, packLearnt, unpackLearnt } from "../../src/index/embedding/learnt-codec.ts";
import { createLearntEmbedder, createLearntModel } from "../../src/index/embedding/learnt-model.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { embedFixture, wordEmbedder } from "./embed-fixture.ts";

const TOPICS = [
  ["engine", "wheel", "brake", "motor", "garage", "tyre"],
  ["river", "fish", "swim", "otter", "shore", "water"],
  ["ledger", "invoice", "tax", "account", "audit", "budget"],
  ["violin", "concert", "melody", "rhythm", "choir", "tune"],
];

/** Passages about four topics. Every second one about motors says "automobile", the others "sedan", never both. */
function passage(at: number): string {
  const topic = TOPICS[at % 4] ?? [];
  const words = Array.from({ length: 12 }, (_, i) => topic[(at * 7 + i * (1 + (at % 5))) % topic.length]);
  const name = at % 4 === 0 ? (at % 8 === 0 ? "automobile" : "sedan") : "";
  return `Note ${at}: ${words.join(" ")} ${name}.`;
}

const PASSAGES = Array.from({ length: 200 }, (_, at) => passage(at));
/** No more directions than topics, so that there is no room for the differences between two words of one topic. */
const LIMITS = { maxWords: 1000, dimensions: 4 };
function corpusOf(passages: readonly string[]): Corpus {
  const corpus = new Corpus();
  for (const passage of passages) corpus.add(analyze(passage));
  return corpus;
}

const learnt = learnVectors(corpusOf(PASSAGES), LIMITS);
const embedder = createLearntEmbedder(unpackLearnt(packLearnt(learnt, 0)) ?? assert.fail("not readable"), "1");

function cosine(a: Float32Array | undefined, b: Float32Array | undefined): number {
  return (a ?? new Float32Array()).reduce((sum, value, i) => sum + value * (b?.[i] ?? 0), 0);
}

test("words that keep the same company come out close, though no passage has both", async () => {
  const [automobile, sedan, violin] = await embedder.embed(["automobile", "sedan", "violin"]);
  assert.ok(cosine(automobile, sedan) > 0.8);
  assert.ok(cosine(automobile, violin) < 0.2);
});

test("vectors have length 1, and text without a known word has none", async () => {
  const [known, unknown] = await embedder.embed(["The otter swims.", "Xyzzy!"]);
  assert.ok(Math.abs(Math.hypot(...(known ?? [])) - 1) < 1e-5);
  assert.ok(unknown?.every((value) => value === 0));
});

test("the same passages teach the same", () => {
  assert.deepEqual(packLearnt(learnVectors(corpusOf(PASSAGES), LIMITS), 7), packLearnt(learnt, 7));
});

test("a packed model is the model, up to one step in 127, and remembers how far it had read", () => {
  const packed = packLearnt(learnt, 4711);
  const { words, dimensions, scales, steps } = unpackLearnt(packed) ?? assert.fail("not readable");
  assert.equal(lastChunkOf(packed), 4711);
  assert.deepEqual(words, learnt.words);
  learnt.directions.forEach((value, at) => {
    const scale = scales[Math.floor(at / dimensions)] ?? 0;
    assert.ok(Math.abs((steps[at] ?? 0) * scale - value) <= scale / 2 + 1e-6);
  });
  assert.equal(unpackLearnt(Uint8Array.from([9, 0, 0, 0])), undefined);
});

test("directions are at right angles and of length 1; where there is nothing more to tell, they are zero", () => {
  const rows = [
    [3, 0, 0, 1],
    [0, 2, 0, 0],
    [3, 0, 0, 1],
  ];
  const matrix = {
    rows: 3,
    columnCount: 4,
    starts: Uint32Array.from([0, 4, 8, 12]),
    columns: Uint32Array.from([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]),
    values: Float32Array.from(rows.flat()),
  };
  const basis = principalDirections(matrix, 3);
  const column = (at: number): number[] => [0, 1, 2, 3].map((row) => basis[row * 3 + at] ?? 0);
  const dot = (a: number, b: number): number => column(a).reduce((sum, x, i) => sum + x * (column(b)[i] ?? 0), 0);
  const products = [dot(0, 0), dot(1, 1), dot(2, 2), dot(0, 1), dot(0, 2), dot(1, 2)];
  assert.deepEqual(
    products.map((value) => Math.abs(Math.round(value * 1e4) / 1e4)),
    [1, 1, 0, 0, 0, 0],
  );
});

test("a store learns when it has enough to learn from, and again when it has become another one", async () => {
  const fixture = await embedFixture();
  try {
    const { commit, refresh, found, store } = await fixture.open(createLearntModel());
    const spaceOf = async () => (await store.spaces.active(store.db)).embedder;
    const items = (from: number, to: number): Record<string, string> =>
      Object.fromEntries(PASSAGES.slice(from, to).map((text, at) => [`n${from + at}`, text]));

    await commit(items(0, 50));
    await refresh();
    assert.equal((await spaceOf()).model, "lockstep-ngram", "50 passages are too few");

    await commit(items(50, 120));
    assert.match((await refresh())[0] ?? "", /^Learning vectors from 120 of 120 passages$/);
    const first = await spaceOf();
    assert.equal(first.model, "lockstep-learnt");
    const [name = ""] = await found("automobile", "vectors");
    assert.match(PASSAGES[Number(name.replaceAll(/\D/g, ""))] ?? "", /engine|wheel|brake|motor|garage|tyre/);

    await commit(items(120, 150));
    assert.deepEqual(await refresh(), [], "a quarter more is no other store");
    assert.equal((await spaceOf()).revision, first.revision);

    await commit(items(150, 200));
    await refresh();
    assert.notEqual((await spaceOf()).revision, first.revision);
  } finally {
    await fixture.close();
  }
});

test("what a store learnt goes on answering when the settings name another model", async () => {
  const fixture = await embedFixture();
  try {
    const first = await fixture.open(createLearntModel());
    await first.commit(Object.fromEntries(PASSAGES.map((text, at) => [`n${at}`, text])));
    await first.refresh();
    const second = await fixture.open(createFixedModel(wordEmbedder("other", [["violin"], ["sedan"]])));
    assert.ok((await second.found("automobile", "vectors")).length > 0);
    await second.refresh();
    assert.deepEqual(await second.found("automobile", "vectors"), []);
  } finally {
    await fixture.close();
  }
});

test("learning can be stopped, and the store answers as before", async () => {
  const fixture = await embedFixture();
  try {
    const { commit, index, found, vectors } = await fixture.open(createLearntModel());
    const documents = PASSAGES.map((text, at) => [`n${at}`, text] as const);
    await commit(Object.fromEntries(documents.slice(0, 60)));
    await commit(Object.fromEntries(documents.slice(60)));
    assert.deepEqual(await vectors(), [60], "those that make it large enough to learn from wait for what is learnt");
    const stop = new AbortController();
    const refreshed = index.refreshVectors(() => stop.abort(), stop.signal);
    await assert.rejects(refreshed, { name: "CancelledError" });
    assert.ok((await found("otter")).length > 0);
    assert.deepEqual(await vectors(), [60]);
  } finally {
    await fixture.close();
  }
});
