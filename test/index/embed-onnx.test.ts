// A local ONNX model embeds texts by its own rules.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { createOnnxModel, openOnnxEmbedder } from "../../src/index/embedding/onnx-embedder.ts";
import { embedFixture } from "./embed-fixture.ts";
import { makeLookupModel } from "./make-onnx.ts";

const VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "otter", "seal", "fox", "runs"];
/** Otters and seals are alike; padding would pull everything away if it counted. */
const TABLE = [
  [9, 9, 9],
  [0, 0, 0],
  [0, 0, 1],
  [0, 0, 0],
  [1, 0, 0],
  [1, 0.1, 0],
  [0, 1, 0],
  [0, 0.5, 0],
];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "onnx-"));
  await writeFile(join(folder, "model.onnx"), makeLookupModel(TABLE));
  await writeFile(join(folder, "tokenizer.json"), JSON.stringify(tokenizer()));
  await writeFile(join(folder, "tokenizer_config.json"), JSON.stringify({ model_max_length: 5 }));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function tokenizer(): object {
  return {
    version: "1.0",
    added_tokens: [0, 1, 2, 3].map((id) => ({ id, content: VOCABULARY[id], special: true })),
    normalizer: { type: "BertNormalizer", lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [
        { SpecialToken: { id: "[CLS]", type_id: 0 } },
        { Sequence: { id: "A", type_id: 0 } },
        { SpecialToken: { id: "[SEP]", type_id: 0 } },
      ],
      pair: [],
      special_tokens: {
        "[CLS]": { id: "[CLS]", ids: [2], tokens: ["[CLS]"] },
        "[SEP]": { id: "[SEP]", ids: [3], tokens: ["[SEP]"] },
      },
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(VOCABULARY.map((word, id) => [word, id])),
    },
  };
}

function isNear(vector: Float32Array | undefined, expected: readonly number[]): void {
  const length = Math.hypot(...expected);
  assert.deepEqual(
    [...(vector ?? [])].map(round),
    expected.map((value) => round(value / length)),
  );
}

function round(value: number): number {
  return Math.round(value * 1e5) / 1e5;
}

test("the mean of the tokens, of length 1, whatever stands beside them in the batch", async () => {
  const embedder = await openOnnxEmbedder(folder);
  assert.equal(embedder.dimensions, 3);
  const [short, long] = await embedder.embed(["Otter", "fox runs runs"]);
  isNear(short, [1, 0, 1]);
  isNear(long, [0, 2, 1]);
});

test("a text is cut to the model's window", async () => {
  const embedder = await openOnnxEmbedder(folder);
  const [cut] = await embedder.embed(["otter otter otter fox fox fox fox"]);
  isNear(cut, [3, 0, 1]);
});

test("the model says how its tokens are put together, and another way is another revision", async () => {
  const mean = await openOnnxEmbedder(folder);
  await mkdir(join(folder, "1_Pooling"));
  await writeFile(join(folder, "1_Pooling/config.json"), JSON.stringify({ pooling_mode_cls_token: true }));
  const cls = await openOnnxEmbedder(folder);
  isNear((await cls.embed(["fox runs"]))[0], [0, 0, 1]);
  assert.equal(cls.model, mean.model);
  assert.notEqual(cls.revision, mean.revision);
});

test("a store finds by what the model knows", async () => {
  const fixture = await embedFixture();
  try {
    const { commit, found } = await fixture.open(createOnnxModel(folder));
    await commit({ water: "Otter otter otter", land: "Fox runs" });
    assert.equal((await found("seal seal seal"))[0], "water.md");
  } finally {
    await fixture.close();
  }
});

test("a file that is no model is refused with a sentence", async () => {
  await writeFile(join(folder, "model.onnx"), "<html>Not found</html>");
  await assert.rejects(openOnnxEmbedder(folder), {
    name: "BadInputError",
    message: `load model ${folder}: its weights or its tokenizer cannot be used`,
  });
});

const BROKEN: readonly (readonly [what: string, file: string, message: RegExp])[] = [
  ["without weights", "model.onnx", /it has neither model\.onnx nor onnx\/model\.onnx$/],
  ["without a tokenizer", "tokenizer.json", /tokenizer\.json is missing$/],
];
for (const [what, file, message] of BROKEN) {
  test(`a folder ${what} is refused with a sentence`, async () => {
    await rm(join(folder, file));
    await assert.rejects(openOnnxEmbedder(folder), { name: "BadInputError", message });
  });
}
